// Eigenpairs near a target and in an interval: exact spectra with all multiplicities, ties, empty intervals, faults.
#include <blockvec/solvers/interior.hpp>
#include <blockvec/solvers/preconditioners.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <random>
#include <string>
#include <type_traits>
#include <utility>

#include "problems/anderson.hpp"
#include "problems/graphene.hpp"
#include "problems/heisenberg.hpp"
#include "problems/laplacian.hpp"
#include "solvers/spectrum_look.hpp"
#include "tests/solvers/exact.hpp"
#include "tests/solvers/expect_inside.hpp"
#include "tests/solvers/expect_right.hpp"
#include "tests/solvers/linear_elements.hpp"
#include "tests/solvers/mikota.hpp"

namespace blockvec::solvers {
namespace {

using namespace examples;

template <class Scalar, class Layout = RowMajor, class Space = Kokkos::HostSpace>
auto solve(const RowSource<Scalar>& source, const InteriorOptions& options, const Observer& observer = {}) {
  using Vector = BlockVector<Scalar, Layout, Space>;
  const auto context = Context::world(1);
  const auto rows = RowDistribution::uniform(source.size(), context.communicator());
  SparseOperator<Scalar, Space> a(context, rows, source);
  return interior_lanczos<Vector>({a}, options, observer);
}

/// Converged, and right: as many are found as lie in the interval, or the nearest ones.
template <class Vector>
void expect_pairs(const Result<Vector>& result, const InteriorOptions& options, std::vector<double> exact) {
  const double norm = std::max(std::abs(exact.front()), std::abs(exact.back()));
  const double limit = options.tolerance * norm;
  const auto n = static_cast<double>(result.vectors.global_rows());
  const auto& interval = options.interval;
  if (interval) {
    std::erase_if(exact, [&](double x) { return x < interval->from || x > interval->to; });
  } else {
    exact = nearest(exact, options.target, options.wanted);
  }
  expect_inside(result, exact, limit + 8 * n * epsilon<double> * norm,
                [&](double x) { return interval ? x : std::abs(x - options.target); });
  for (const double residual : result.residual_norms) EXPECT_LE(residual, limit);
}

template <class Scalar, class Layout = RowMajor>
void expect_pairs(const RowSource<Scalar>& source, const InteriorOptions& options, const std::vector<double>& exact) {
  SCOPED_TRACE(testing::Message() << source.describe() << ", target " << options.target << ", nev " << options.wanted);
  expect_pairs(solve<Scalar, Layout>(source, options), options, exact);
#if BLOCKVEC_HAVE_CUDA_SPACE
  expect_pairs(solve<Scalar, Layout, Kokkos::CudaSpace>(source, options), options, exact);
#endif
}

InteriorOptions near(double target, std::int64_t wanted) { return {.wanted = wanted, .target = target}; }
InteriorOptions in(double from, double to) { return {.interval = Interval{from, to}}; }

TEST(Interior, FindsTheNearestWithMultiplicities) {
  expect_pairs(Laplacian({9, 9, 9}), near(4.1, 7), exact_laplacian({9, 9, 9}));
  expect_pairs(Laplacian({200}), near(1.7, 5), exact_laplacian({200}));
  expect_pairs(SpinChain(10, 5, true, 1), near(-0.9, 6), spectrum(SpinChain(10, 5, true, 1)));
  const Anderson model({7, 8, 6}, 12, 5);
  expect_pairs(model, near(0.3, 8), spectrum(model));
}

TEST(Interior, FindsAllInAnInterval) {
  expect_pairs(Laplacian({9, 9, 9}), in(3.9, 4.6), exact_laplacian({9, 9, 9}));
  expect_pairs(Laplacian({200}), in(1.7, 1.8), exact_laplacian({200}));
  const Anderson model({7, 8, 6}, 12, 5);
  expect_pairs(model, in(-0.5, 0.7), spectrum(model));
  // At an end of the spectrum, and beyond it.
  expect_pairs(Laplacian({200}), in(-1, 0.02), exact_laplacian({200}));
}

// A search in an interval ends where its pairs have converged, be the basis full or not.
TEST(Interior, AnIntervalTakesNoMoreThanItsToleranceAsks) {
  const Anderson model({7, 8, 6}, 12, 5);
  InteriorOptions loose = in(-0.5, 0.7), strict = loose;
  loose.tolerance = 1e-5;
  strict.tolerance = 1e-11;
  const auto exact = spectrum(model);
  const auto early = solve(model, loose), late = solve(model, strict);
  expect_pairs(early, loose, exact);
  expect_pairs(late, strict, exact);
  EXPECT_LT(early.applications, late.applications);
  // Room for more pairs takes none of them.
  strict.wanted = 2 * std::ssize(late.eigenvalues);
  strict.basis = 8 * strict.wanted;
  EXPECT_LE(solve(model, strict).applications, late.applications);
}

TEST(Interior, BothLayoutsRealAndComplex) {
  const Graphene<Complex<double>> sheet({12, 10}, 1, 6);
  const std::vector<double> exact = spectrum(sheet);
  expect_pairs<Complex<double>, RowMajor>(sheet, near(0.5, 4), exact);
  expect_pairs<Complex<double>, ColumnMajor>(sheet, near(0.5, 4), exact);
  expect_pairs<double, ColumnMajor>(Laplacian({30, 20}), in(3.0, 3.1), exact_laplacian({30, 20}));
}

// Eigenvalues come in pairs on both sides of the target, which the polynomial does not part.
TEST(Interior, PartsEigenvaluesOnBothSides) {
  const Graphene<double> sheet({12, 12});
  const std::vector<double> exact = spectrum(sheet);
  expect_pairs(sheet, near(0, 10), exact);
  expect_pairs(sheet, in(-0.5, 0.5), exact);
}

TEST(Interior, AnIntervalMayBeEmpty) {
  std::vector<double> values(300);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) + (i < 150 ? 0 : 10);
  const auto result = solve(Diagonal(values), in(151, 158));
  EXPECT_TRUE(result.converged()) << result.why;
  EXPECT_TRUE(result.eigenvalues.empty());
  EXPECT_EQ(result.vectors.width(), 0);
}

TEST(Interior, LevelsThatAreCutAreTold) {
  std::vector<double> values(300);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i < 290 ? static_cast<double>(i) : 100;
  std::sort(values.begin(), values.end());
  for (const std::int64_t wanted : {3, 11}) {
    const auto result = solve(Diagonal(values), near(100.2, wanted));
    expect_pairs(result, near(100.2, wanted), values);
    EXPECT_EQ(result.last_level_cut, wanted < 11) << wanted;
  }
}

TEST(Interior, SmallMatrices) {
  for (const std::int64_t n : {1, 2, 3, 5, 8, 13}) {
    expect_pairs(Laplacian({n}), near(2.3, std::min<std::int64_t>(n, 3)), exact_laplacian({n}));
  }
  const std::vector<double> same(20, 3.0);
  expect_pairs(Diagonal(same), near(3.0, 4), same);
  expect_pairs(Diagonal(same), near(1.0, 4), same);
}

// The look at the spectrum has such a level to rounding, and beside it there is nothing that a window could hold.
TEST(Interior, ManyCopiesAtTheEnds) {
  std::vector<double> values(100);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(std::clamp<std::size_t>(i, 20, 79));
  for (const double target : {20., 19.99, 19., 0., 79., 79.01, 80., 200.}) {
    expect_pairs(Diagonal(values), near(target, 3), values);
  }
  expect_pairs(Diagonal(values), in(79.5, 81), values);
  expect_pairs(Diagonal(values), in(-10, 19.5), values);
  auto options = in(78.5, 81);
  options.wanted = 21;
  expect_pairs(Diagonal(values), options, values);
}

TEST(Interior, IntervalsWithOneLevel) {
  for (const std::size_t n : {1, 2, 5, 50, 300}) {
    for (const double level : {0., 2.}) {
      const std::vector<double> values(n, level);
      for (const double from : {-3., -1.}) expect_pairs(Diagonal(values), in(from, 3), values);
      expect_pairs(Diagonal(values), in(5, 6), values);
    }
  }
}

// The interval is narrower than the look at the spectrum tells places apart, and holds a quarter of all eigenvalues.
TEST(Interior, ALevelOfManyCopiesInANarrowInterval) {
  std::vector<double> values(800);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i / 200);
  for (const double level : {0., 1., 2., 3.}) {
    for (const double width : {1e-3, 1e-6}) expect_pairs(Diagonal(values), in(level - width, level + width), values);
  }
}

// The look sees an even density, and nothing of the cluster in it.
TEST(Interior, AnIntervalWithMoreThanExpected) {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back((i + 0.5) / 1000);
  for (int i = 0; i < 60; ++i) values.push_back(0.50001 + 1e-7 * i);
  std::sort(values.begin(), values.end());
  std::vector<std::int64_t> applications;
  const auto result = solve(Diagonal(values), in(0.5, 0.5001), [&](const Step& step) {
    applications.push_back(step.applications);
    return true;
  });
  expect_pairs(result, in(0.5, 0.5001), values);
  EXPECT_TRUE(std::is_sorted(applications.begin(), applications.end()));
  EXPECT_EQ(applications.size(), result.history.size());
  EXPECT_GE(result.applications, applications.back());
  auto options = in(0.5, 0.5001);
  options.basis = 300;  // which is all that there is
  EXPECT_NE(solve(Diagonal(values), options).why.find("room"), std::string::npos);
}

// All eigenvalues are closer than the look at the spectrum tells them.
TEST(Interior, IntervalsThatHoldAll) {
  std::vector<double> values(7);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.28 + 1.5e-8 * static_cast<double>(i);
  for (const std::int64_t block : {1, 2, 4}) {
    auto options = in(0.1, 0.8);
    options.block = block;
    options.wanted = 7;
    expect_pairs(Diagonal(values), options, values);
  }
}

/// Random levels, single or in copies or close together, between -1 and 1.
std::vector<double> random_levels(std::mt19937& random, std::size_t count) {
  std::uniform_real_distribution<double> place(-1, 1);
  const double copies = std::exp(3 * std::abs(place(random))), closeness = std::pow(10, 4 * place(random) - 4);
  std::vector<double> values;
  while (values.size() < count) {
    const double level = std::pow(place(random), random() % 2 == 0 ? 1 : 3);
    const auto in_level = std::min<std::size_t>(random() % 2 == 0 ? 1 : 1 + random() % static_cast<unsigned>(copies),
                                                count - values.size());
    const double spread = random() % 2 == 0 ? 0 : closeness;
    for (std::size_t i = 0; i < in_level; ++i) values.push_back(level + spread * static_cast<double>(i));
  }
  std::sort(values.begin(), values.end());
  return values;
}

/// Clear of all levels.
double random_gap(std::mt19937& random, const std::vector<double>& levels, double clear) {
  std::uniform_real_distribution<double> place(-1.1, 1.1);
  for (;;) {
    const double at = place(random);
    if (std::all_of(levels.begin(), levels.end(), [&](double level) { return std::abs(level - at) > clear; }))
      return at;
  }
}

void expect_random_intervals(unsigned seed, int runs) {
  std::mt19937 random(seed);
  for (int run = 0; run < runs; ++run) {
    const auto levels = random_levels(random, 1 + random() % 250);
    InteriorOptions options;
    options.block = 1 + static_cast<std::int64_t>(random() % 5);
    options.seed = random();
    const double clear = 30 * options.tolerance, from = random_gap(random, levels, clear);
    const double to = random_gap(random, levels, clear);
    if (from == to) continue;
    options.interval = Interval{std::min(from, to), std::max(from, to)};
    options.wanted = std::max<std::int64_t>(1, std::count_if(levels.begin(), levels.end(), [&](double level) {
                                              return level > options.interval->from && level < options.interval->to;
                                            }));
    SCOPED_TRACE(testing::Message() << "run " << run << ", " << levels.size() << " rows from " << levels.front()
                                    << " to " << levels.back() << ", interval " << options.interval->from << " to "
                                    << options.interval->to << ", " << options.wanted << " in it, block "
                                    << options.block);
    expect_pairs(solve(Diagonal(levels), options), options, levels);
  }
}

TEST(Interior, RandomIntervalsMissNothing) {
  expect_random_intervals(1, 300);
  expect_random_intervals(22, 80);  // the last one leaves few rows beside the wanted pairs
}

TEST(Interior, RandomTargetsMissNothing) {
  std::mt19937 random(2);
  for (int run = 0; run < 200; ++run) {
    const auto levels = random_levels(random, 1 + random() % 250);
    InteriorOptions options;
    options.block = 1 + static_cast<std::int64_t>(random() % 5);
    options.seed = random();
    options.target = random_gap(random, levels, 1e-3 / static_cast<double>(levels.size()));
    options.wanted = 1 + static_cast<std::int64_t>(random() % std::min<std::size_t>(levels.size(), 12));
    SCOPED_TRACE(testing::Message() << "run " << run << ", " << levels.size() << " rows from " << levels.front()
                                    << " to " << levels.back() << ", target " << options.target << ", "
                                    << options.wanted << " wanted, block " << options.block);
    expect_pairs(solve(Diagonal(levels), options), options, levels);
  }
}

TEST(Interior, SaysWhereThereIsNoRoom) {
  InteriorOptions options = in(1, 3);
  options.wanted = 4;
  const auto result = solve(Laplacian({200}), options);
  EXPECT_EQ(result.status, Status::exhausted);
  EXPECT_NE(result.why.find("room"), std::string::npos) << result.why;
}

// Of a million eigenvalues between 0 and 1 a polynomial of bounded degree parts none in the middle.
TEST(Interior, SaysWhereEigenvaluesAreTooClose) {
  std::vector<double> values(1000000);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(i) / static_cast<double>(values.size() - 1);
  }
  const auto result = solve(Diagonal(values), near(0.5, 1));
  EXPECT_EQ(result.status, Status::exhausted);
  EXPECT_NE(result.why.find("too close"), std::string::npos) << result.why;
  EXPECT_LT(result.applications, 100);
}

TEST(Interior, RefusesOptionsThatDoNotFit) {
  const auto refuses = [](const InteriorOptions& options) {
    EXPECT_THROW((void)solve(Laplacian({30}), options), InputError);
  };
  refuses(in(2, 2));
  refuses(in(2, std::numeric_limits<double>::quiet_NaN()));
  refuses(near(std::numeric_limits<double>::infinity(), 3));
  refuses(near(1, 31));
  refuses({.wanted = 8, .basis = 9});
  refuses({.block = -1});
  refuses({.tolerance = 0});
}

TEST(Interior, EndsWhereItIsAskedTo) {
  int steps = 0;
  const auto result = solve(Laplacian({9, 9, 9}), near(4.1, 7), [&](const Step&) { return ++steps < 3; });
  EXPECT_EQ(result.status, Status::stopped);
  EXPECT_EQ(steps, 3);
}

/// All in an interval and the nearest to a target, for a pair whose B has eigenvalues between `least_of_b` and 1.
template <class Vector>
void expect_pairs_with_b(const Problem<Vector>& problem, InteriorOptions options, std::vector<double> exact,
                         double norm_a, double least_of_b, double tolerance) {
  options.tolerance = tolerance;
  const auto result = interior_lanczos<Vector>(problem, options);
  const auto& interval = options.interval;
  if (interval) {
    std::erase_if(exact, [&](double x) { return x < interval->from || x > interval->to; });
  } else {
    exact = nearest(exact, options.target, options.wanted);
  }
  const auto n = static_cast<double>(problem.a.rows().global_rows());
  const auto eps = static_cast<double>(epsilon<RealOf<typename Vector::Scalar>>);
  // An eigenvalue is off by at most ||r|| / ||x||, with x^H B x = 1 and ||B|| = 1, times ||B^-1||.
  const double largest = std::abs(exact.empty() ? 0 : exact.back());
  const double limit = (tolerance + 8 * n * eps) * (norm_a + largest) / least_of_b;
  expect_inside(result, exact, limit, [&](double x) { return interval ? x : std::abs(x - options.target); });
  for (const double error : result.backward_errors) EXPECT_LE(error, tolerance);
  EXPECT_GT(result.applications_b, 0);
}

template <class Scalar, class Layout = RowMajor, class Space = Kokkos::HostSpace>
void expect_linear_elements(double tolerance) {
  using Vector = BlockVector<Scalar, Layout, Space>;
  const LinearElements<Scalar> elements{60};
  const auto context = Context::world(1);
  const auto rows = RowDistribution::uniform(elements.n, context.communicator());
  SparseOperator<Scalar, Space> a(context, rows, elements.k()), b(context, rows, elements.m());
  const auto diagonal = inverse_of_diagonal(diagonal_of<Vector>(context, rows, elements.m()));
  const auto expect = [&](const InteriorOptions& options, const auto& inverse) {
    expect_pairs_with_b<Vector>({.a = a, .b = b, .inverse_b = inverse}, options, elements.eigenvalues(), 4,
                                elements.least_of_m, tolerance);
  };
  expect(in(2, 2.4), diagonal);
  if (!std::is_same_v<Vector, BlockVector<double, RowMajor, Kokkos::HostSpace>>) return;
  expect(near(5.5, 3), diagonal);
  expect(in(-1, 0.1), decltype(diagonal){});  // no inverse is improved as a rough one is
}

TEST(Interior, Pairs) {
  expect_linear_elements<double>(1e-10);
  expect_linear_elements<double, ColumnMajor>(1e-8);
  expect_linear_elements<Complex<double>>(1e-10);
  expect_linear_elements<float>(100 * static_cast<double>(epsilon<float>));
#if BLOCKVEC_HAVE_CUDA_SPACE
  expect_linear_elements<double, RowMajor, Kokkos::CudaSpace>(1e-10);
#endif
}

// With an exact inverse of B, which has a condition of 150, and copies of all eigenvalues.
TEST(Interior, PairsWithMultiplicities) {
  using Vector = BlockVector<double, RowMajor, Kokkos::HostSpace>;
  const Mikota pair{150};
  const auto twice = [](const RowFunction<double>& source) {
    return RowFunction<double>(2 * source.size(), [source](std::int64_t row, RowEntries<double>& entries) {
      RowEntries<double> one;
      source.append_row(row / 2, one);
      for (std::size_t i = 0; i < one.columns.size(); ++i) entries.add(2 * one.columns[i] + row % 2, one.values[i]);
    });
  };
  const auto k = twice(pair.k()), m = twice(pair.m());
  const auto context = Context::world(1);
  const auto rows = RowDistribution::uniform(k.size(), context.communicator());
  SparseOperator<double, Kokkos::HostSpace> a(context, rows, k), b(context, rows, m);
  const Problem<Vector> problem{
      .a = a, .b = b, .inverse_b = inverse_of_diagonal(diagonal_of<Vector>(context, rows, m))};
  std::vector<double> exact;
  for (int j = 1; j <= 150; ++j) {
    for (int copy = 0; copy < 2; ++copy) exact.push_back(j * j);
  }
  for (const auto& options : {in(900.5, 1600.5), near(1000, 7), in(901, 960)})  // nothing lies in the last one
    expect_pairs_with_b(problem, options, exact, 600, 1. / 150, 1e-12);
  // An eigenvalue at an end of the interval belongs to it.
  const auto result = interior_lanczos<Vector>(problem, in(900, 1000));
  EXPECT_TRUE(result.converged()) << result.why;
  EXPECT_EQ(result.eigenvalues.size(), 4U);
  EXPECT_TRUE(result.last_level_cut);
  // What is deflated is not found again.
  const auto rest = interior_lanczos<Vector>(
      {.a = a, .b = b, .inverse_b = problem.inverse_b, .deflation = result.vectors.columns(0, 3)}, in(900, 1000));
  EXPECT_TRUE(rest.converged()) << rest.why;
  EXPECT_EQ(rest.eigenvalues.size(), 1U);
}

TEST(Interior, RefusesBThatIsNotPositiveDefinite) {
  using Vector = BlockVector<double, RowMajor, Kokkos::HostSpace>;
  const auto context = Context::world(1);
  std::vector<double> half(200, 1.0), steep(200);
  for (std::size_t i = 0; i < half.size(); i += 2) half[i] = 0;
  for (std::size_t i = 0; i < steep.size(); ++i) steep[i] = std::pow(10, -static_cast<double>(i) / 20);
  const auto rows = RowDistribution::uniform(200, context.communicator());
  SparseOperator<double, Kokkos::HostSpace> a(context, rows, Laplacian({200}));
  for (const auto& [values, reason] : {std::pair(half, "B is not positive definite"), std::pair(steep, "inverse_b")}) {
    SparseOperator<double, Kokkos::HostSpace> b(context, rows, Diagonal(values));
    std::string message;
    try {
      (void)interior_lanczos<Vector>({.a = a, .b = b}, in(1, 1.1));
    } catch (const std::exception& error) {
      message = error.what();
    }
    EXPECT_NE(message.find(reason), std::string::npos) << message;
  }
}

TEST(Interior, SpectralDensityTellsCounts) {
  const auto context = Context::world(1);
  const Laplacian grid({2000});
  const auto rows = RowDistribution::uniform(grid.size(), context.communicator());
  SparseOperator<double> a(context, rows, grid);
  using Vector = BlockVector<double>;
  const auto look = look_at_spectrum<Vector>(a, 1., Vector(context, rows, 1, "model"), 1);
  EXPECT_LE(look.bottom, exact_laplacian({2000}).front());
  EXPECT_EQ(look.share_below(look.bottom), 0);
  EXPECT_EQ(look.share_below(look.top), 1);
  // As many eigenvalues below 2 as above; a random vector tells them to some 1 / sqrt(n).
  EXPECT_NEAR(look.share_below(2), 0.5, 0.1);
  const double distance = look.distance_of(500, 2, 2000);
  EXPECT_NEAR(look.count_within(distance, 2, 2000), 500, 1);
}

}  // namespace
}  // namespace blockvec::solvers

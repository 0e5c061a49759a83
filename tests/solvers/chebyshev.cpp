// Chebyshev-filtered subspace iteration: exact spectra with all multiplicities, levels wider than the block, faults.
#include <blockvec/solvers/chebyshev.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <limits>
#include <numeric>

#include "problems/anderson.hpp"
#include "problems/graphene.hpp"
#include "problems/heisenberg.hpp"
#include "problems/laplacian.hpp"
#include "solvers/chebyshev/filter.hpp"
#include "solvers/spectrum_look.hpp"
#include "tests/solvers/exact.hpp"
#include "tests/solvers/expect_right.hpp"
#include "tests/solvers/prescribed_spectrum.hpp"

namespace blockvec::solvers {
namespace {

using namespace examples;

template <class Scalar, class Layout = RowMajor, class Space = Kokkos::HostSpace>
auto solve(const RowSource<Scalar>& source, const ChebyshevOptions& options, const Observer& observer = {}) {
  using Vector = BlockVector<Scalar, Layout, Space>;
  const auto context = Context::world(1);
  const auto rows = RowDistribution::uniform(source.size(), context.communicator());
  SparseOperator<Scalar, Space> a(context, rows, source);
  return chebyshev_subspace<Vector>({a}, options, observer);
}

template <class Scalar, class Layout = RowMajor>
void expect_right(const RowSource<Scalar>& source, const ChebyshevOptions& options, const std::vector<double>& exact) {
  SCOPED_TRACE(testing::Message() << source.describe() << ", nev " << options.wanted << ", extra " << options.extra);
  expect_right(solve<Scalar, Layout>(source, options), options, source.size(), exact);
#if BLOCKVEC_HAVE_CUDA_SPACE
  expect_right(solve<Scalar, Layout, Kokkos::CudaSpace>(source, options), options, source.size(), exact);
#endif
}

ChebyshevOptions with(std::int64_t wanted, std::int64_t extra = ChebyshevOptions::automatic_extra) {
  return {.wanted = wanted, .extra = extra};
}

// Multiplicities 1, 3, 3, 3, 1, 6, ...
TEST(Chebyshev, FindsMultiplicities) {
  const std::vector<std::int64_t> cube{9, 9, 9};
  for (const std::int64_t extra : {std::int64_t{0}, std::int64_t{3}, ChebyshevOptions::automatic_extra}) {
    for (const std::int64_t wanted : {1, 4, 11})
      expect_right(Laplacian(cube), with(wanted, extra), exact_laplacian(cube));
  }
  expect_right(Laplacian(cube), with(60), exact_laplacian(cube));
  expect_right(Anderson({8, 8, 8}, 0, 1), with(9), exact_lattice({8, 8, 8}));
  expect_right(Graphene<double>({12, 12}), with(8), exact_graphene(12, 12));
}

TEST(Chebyshev, BothEndsBothLayoutsRealAndComplex) {
  for (const auto which : {Which::smallest, Which::largest}) {
    ChebyshevOptions options = with(6);
    options.which = which;
    expect_right<double, RowMajor>(Laplacian({30, 20}), options, exact_laplacian({30, 20}));
    expect_right<double, ColumnMajor>(Laplacian({30, 20}), options, exact_laplacian({30, 20}));
    const Graphene<Complex<double>> sheet({12, 10}, 1, 6);
    const std::vector<double> exact = spectrum(sheet);
    expect_right<Complex<double>, RowMajor>(sheet, options, exact);
    expect_right<Complex<double>, ColumnMajor>(sheet, options, exact);
  }
}

TEST(Chebyshev, SpinChainsAndDisorder) {
  expect_right(SpinChain(12, 6, true, 0), with(8), exact_xx(12, 6, true));
  const SpinChain ring(10, 5, true, 1);
  expect_right(ring, with(8), spectrum(ring));
  const Anderson model({7, 8, 6}, 12, 5);
  expect_right(model, with(5), spectrum(model));
}

// Of 8192 states, 256 lie within 3e-11 at the lower end.
TEST(Chebyshev, TakesLevelsThatAreWiderThanTheBlock) {
  const Graphene<Complex<double>> sheet({64, 64}, 1, 16);
  const auto result = solve(sheet, with(16));
  expect_right(result, with(16), sheet.size(), exact_graphene(64, 64, 1, 16));
  EXPECT_TRUE(result.last_level_cut);
}

TEST(Chebyshev, SmallMatricesEndInTheirWholeSpace) {
  for (const std::int64_t n : {1, 2, 3, 5, 8, 13, 30}) {
    for (const std::int64_t wanted :
         {std::int64_t{1}, (n + 1) / 2, std::min(n, n / 2 + 1), std::max<std::int64_t>(1, n - 1), n})
      expect_right(Laplacian({n}), with(wanted), exact_laplacian({n}));
  }
  expect_right(Laplacian({3, 3, 3}), with(27), exact_laplacian({3, 3, 3}));
  expect_right(SpinChain(5, 0, true, 1), with(1), {1.25});
  const std::vector<double> same(20, 3.0), zeros(20, 0.0);
  expect_right(Diagonal(same), with(7), same);
  const auto result = solve(Diagonal(zeros), with(3));
  EXPECT_TRUE(result.converged()) << result.why;
  for (const double value : result.eigenvalues) EXPECT_EQ(value, 0);
}

TEST(Chebyshev, LevelsFarCloserThanTheRest) {
  std::vector<double> values(300);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i < 8 ? 1e-10 * static_cast<double>(i) : 1 + static_cast<double>(i) / 100;
  }
  ChebyshevOptions options = with(8);
  options.tolerance = 1e-12;
  expect_right(Diagonal(values), options, values);
}

TEST(Chebyshev, SaysWhereTheLastLevelIsCut) {
  std::vector<double> values(300, 0.0);
  for (std::size_t i = 8; i < values.size(); ++i) values[i] = 1 + static_cast<double>(i) / 100;
  for (const std::int64_t wanted : {1, 3, 5, 7, 8, 9}) {
    const auto result = solve(Diagonal(values), with(wanted));
    ASSERT_TRUE(result.converged()) << result.why;
    EXPECT_EQ(result.last_level_cut, wanted < 8) << wanted;
  }
}

TEST(Chebyshev, SinglePrecision) {
  ChebyshevOptions options = with(5);
  options.tolerance = 100 * epsilon<float>;
  const auto exact = exact_laplacian({12, 12});
  const RowFunction<float> grid(144, [](std::int64_t row, RowEntries<float>& entries) {
    entries.add(row, 4);
    if (row % 12 > 0) entries.add(row - 1, -1);
    if (row % 12 < 11) entries.add(row + 1, -1);
    if (row >= 12) entries.add(row - 12, -1);
    if (row < 132) entries.add(row + 12, -1);
  });
  const auto result = solve<float>(grid, options);
  ASSERT_TRUE(result.converged()) << result.why;
  for (std::size_t i = 0; i < result.eigenvalues.size(); ++i) {
    EXPECT_NEAR(result.eigenvalues[i], exact[i], 2 * options.tolerance * exact.back());
  }
}

using Host = BlockVector<double, RowMajor, Kokkos::HostSpace>;

class ChebyshevOnHost : public testing::Test {
 protected:
  const Laplacian grid_{{20, 21}};
  const std::vector<double> exact_ = exact_laplacian({20, 21});
  const Context context_ = Context::world(1);
  const RowDistribution rows_ = RowDistribution::uniform(grid_.size(), context_.communicator());
  SparseOperator<double, Kokkos::HostSpace> a_{context_, rows_, grid_};

  SparseOperator<double, Kokkos::HostSpace> diagonal(const std::vector<double>& values) const {
    return {context_, rows_, Diagonal(values)};
  }
  template <class Body>
  std::string message_of(Body&& body) const {
    try {
      body();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "no error";
  }
};

TEST_F(ChebyshevOnHost, RefusesPairs) {
  auto b = diagonal(std::vector<double>(static_cast<std::size_t>(grid_.size()), 2.0));
  EXPECT_THROW((void)chebyshev_subspace<Host>({.a = a_, .b = b}, with(4)), InputError);
}

TEST_F(ChebyshevOnHost, StaysOrthogonalToDeflatedVectors) {
  const auto lowest = chebyshev_subspace<Host>({a_}, with(3));
  ASSERT_TRUE(lowest.converged());
  const auto result = chebyshev_subspace<Host>({.a = a_, .deflation = lowest.vectors}, with(4));
  ASSERT_TRUE(result.converged()) << result.why;
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(result.eigenvalues[i], exact_[i + 3], 1e-8 * exact_.back());
  const SmallMatrix<double> c(context_, 3, 4);
  inner_product(lowest.vectors, result.vectors, c);
  EXPECT_LE(orth::dense::max_norm(c), 1e-10);
}

TEST_F(ChebyshevOnHost, GoesOnFromGoodVectors) {
  const auto first = chebyshev_subspace<Host>({a_}, with(5));
  ASSERT_TRUE(first.converged());
  const auto again = chebyshev_subspace<Host>({.a = a_, .initial = first.vectors}, with(5));
  expect_right(again, with(5), grid_.size(), exact_);
  EXPECT_LE(again.iterations, 3);
  // A start of rank 1, and one that is orthogonal to what is wanted.
  const Host same(context_, rows_, 4);
  for (std::int64_t j = 0; j < 4; ++j) copy(first.vectors.column(0), same.column(j));
  expect_right(chebyshev_subspace<Host>({.a = a_, .initial = same}, with(5)), with(5), grid_.size(), exact_);
  ChebyshevOptions other_end = with(5);
  other_end.which = Which::largest;
  const auto highest = chebyshev_subspace<Host>({a_}, other_end);
  expect_right(chebyshev_subspace<Host>({.a = a_, .initial = highest.vectors}, with(5)), with(5), grid_.size(), exact_);
}

TEST_F(ChebyshevOnHost, EndsWhereItIsAskedTo) {
  ChebyshevOptions options = with(5);
  options.max_iterations = 2;
  const auto given_up = chebyshev_subspace<Host>({a_}, options);
  EXPECT_EQ(given_up.status, Status::exhausted);
  EXPECT_EQ(given_up.iterations, 2);
  EXPECT_EQ(given_up.eigenvalues.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_GE(given_up.eigenvalues[i], exact_[i] - 1e-12 * exact_.back());

  options.max_iterations = 0;
  EXPECT_EQ(chebyshev_subspace<Host>({a_}, options).iterations, 0);

  const auto stopped = chebyshev_subspace<Host>({a_}, with(5), [](const Step& step) { return step.restart < 2; });
  EXPECT_EQ(stopped.status, Status::stopped);
  EXPECT_EQ(stopped.why, stopped_by_observer);
  EXPECT_EQ(stopped.iterations, 2);

  const std::string message = message_of([&] {
    (void)chebyshev_subspace<Host>({a_}, with(5), [this](const Step& step) -> bool {
      if (step.restart == 1 && context_.communicator().rank() == context_.communicator().size() - 1)
        throw Error("the observer has seen enough");
      return true;
    });
  });
  EXPECT_EQ(message.find("the observer has seen enough"), 0U) << message;
}

TEST_F(ChebyshevOnHost, ReportsWhatIsNotFinite) {
  for (const int first : {2, 20, 60}) {  // in the first steps of the look at the spectrum, after them, in a filter
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      int products = 0;
      const auto poisoned = FunctionOperator<Host>(context_, rows_, [&](const Host& x, const Host& y) {
        a_.apply(1, 0, x, 0, y);
        if (++products > first && y.local_rows() > 0) y.view()(0, 0) = bad;
      });
      EXPECT_THROW((void)chebyshev_subspace<Host>({poisoned}, with(3)), NotFiniteError) << first;
    }
  }
}

TEST_F(ChebyshevOnHost, RefusesOptionsThatDoNotFit) {
  const auto refusal = [&](const ChebyshevOptions& options) {
    try {
      (void)chebyshev_subspace<Host>({a_}, options);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal(with(0)), "chebyshev: 0 eigenpairs were asked of a matrix with 420 rows");
  EXPECT_EQ(refusal(with(421)), "chebyshev: 421 eigenpairs were asked of a matrix with 420 rows");
  EXPECT_EQ(refusal(with(4, -2)), "chebyshev: there cannot be -2 extra columns");
  EXPECT_EQ(refusal({.tolerance = 0}), "chebyshev: the tolerance must be positive, not 0");
  EXPECT_EQ(refusal({.max_iterations = -1}), "chebyshev: there cannot be at most -1 iterations");
  EXPECT_EQ(refusal({.first_degree = 7}), "chebyshev: the degree of a filter is even and at least 0, not 7");
  EXPECT_EQ(refusal({.most_degree = 0}), "chebyshev: the degree of a filter is even and at least 2, not 0");
  const Context other = Context::self(1);
  const Host elsewhere(other, RowDistribution::uniform(420, other.communicator()), 2);
  EXPECT_THROW((void)chebyshev_subspace<Host>({.a = a_, .initial = elsewhere}, with(3)), ShapeError);
}

TEST_F(ChebyshevOnHost, ScalesOfAnySizeAreTheSameProblem) {
  const auto plain = chebyshev_subspace<Host>({a_}, with(4));
  for (const double scale : {1e-100, 1e100}) {
    const auto scaled =
        FunctionOperator<Host>(context_, rows_, [&](const Host& x, const Host& y) { a_.apply(scale, 0, x, 0, y); });
    const auto result = chebyshev_subspace<Host>({scaled}, with(4));
    ASSERT_TRUE(result.converged()) << scale << ": " << result.why;
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(result.eigenvalues[i] / scale, exact_[i], 1e-8 * exact_.back());
  }
}

TEST_F(ChebyshevOnHost, RepeatsBitForBit) {
  const auto first = chebyshev_subspace<Host>({a_}, with(6)), second = chebyshev_subspace<Host>({a_}, with(6));
  EXPECT_EQ(first.eigenvalues, second.eigenvalues);
  EXPECT_EQ(first.residual_norms, second.residual_norms);
  EXPECT_EQ(first.applications, second.applications);
}

// More than one column at a time, it has an eigenvalue that no look with single columns can see.
TEST_F(ChebyshevOnHost, NoticesEigenvaluesAboveTheAssumedTop) {
  const double hidden = 3 * exact_.back();
  const auto last = grid_.size() - 1;
  std::vector<double> values(exact_), seen(exact_);
  values.back() = hidden;
  auto a = diagonal(values), shown = diagonal(seen);
  const auto hiding = FunctionOperator<Host>(
      context_, rows_, [&](const Host& x, const Host& y) { (x.width() == 1 ? shown : a).apply(1, 0, x, 0, y); });
  const auto result = chebyshev_subspace<Host>({hiding}, with(5));
  ASSERT_TRUE(result.converged()) << result.why;
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(result.eigenvalues[i], exact_[i],
                result.residual_norms[i] + static_cast<double>(last) * 1e-15 * hidden);
  }
}

TEST_F(ChebyshevOnHost, ManyCopiesOfFewValues) {
  std::vector<double> values(static_cast<std::size_t>(grid_.size()), 5.0);
  for (std::size_t i = 0; i < 16; ++i) values[i] = i < 8 ? 0 : 0.1;
  for (std::size_t i = 16; i < 100; ++i) values[i] = 1 + static_cast<double>(i) / 100;
  PrescribedSpectrum<Host> a(context_, values);
  for (const std::int64_t wanted : {5, 8, 16}) {
    const auto result = chebyshev_subspace<Host>({a}, with(wanted));
    expect_right(result, with(wanted), grid_.size(), sorted(values));
    EXPECT_EQ(result.last_level_cut, wanted == 5);
  }
  // Two values are all there is.
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i < 12 ? -1 : 1;
  PrescribedSpectrum<Host> two(context_, values);
  for (const std::int64_t wanted : {3, 12, 20}) {
    expect_right(chebyshev_subspace<Host>({two}, with(wanted)), with(wanted), grid_.size(), values);
  }
}

// Few reductions are what the method is for: four an iteration, and a look at the spectrum.
TEST_F(ChebyshevOnHost, NeedsFewReductions) {
  const auto result = chebyshev_subspace<Host>({a_}, with(8));
  ASSERT_TRUE(result.converged());
  EXPECT_LE(result.reductions, 8 + 5 * result.iterations + 3);
  EXPECT_EQ(result.history.back().applications + 8, result.applications);  // those of the result's residuals
}

TEST_F(ChebyshevOnHost, LookTellsEndsAndCounts) {
  const Host model(context_, rows_, 1);
  const AnyOperator<Host> a(a_);
  const double rounding = 64 * epsilon<double> * exact_.back();
  const auto look = look_at_spectrum(a, 1., model, 1);
  EXPECT_GE(look.values.front(), exact_.front() - rounding);
  EXPECT_LE(look.values.back(), exact_.back() + rounding);
  EXPECT_GE(look.top, look.values.back());
  EXPECT_NEAR(look.top, exact_.back(), 0.02 * exact_.back());
  EXPECT_NEAR(std::accumulate(look.weights.begin(), look.weights.end(), 0.), 1, 1e-6);
  for (const std::int64_t number : {40, 100, 200, 400})
    EXPECT_NEAR(look.place_of(number, grid_.size()), exact_[static_cast<std::size_t>(number)], 0.1 * exact_.back());
  const auto upside_down = look_at_spectrum(a, -1., model, 1);
  EXPECT_NEAR(upside_down.top, -exact_.front(), 0.02 * exact_.back());
}

// A diagonal matrix shows what the polynomial does to every eigenvalue.
TEST_F(ChebyshevOnHost, FilterIsTheScaledPolynomialOfEachColumn) {
  auto a = diagonal(exact_);
  const DampedInterval<double> interval{exact_.front(), exact_[30], exact_.back()};
  const std::vector<int> degrees{12, 8, 8, 2};
  const Host v(context_, rows_, 4), work(context_, rows_, 4);
  fill(v, 1.0);
  EXPECT_EQ(chebyshev_filter(AnyOperator<Host>(a), 1., interval, degrees, v, work, false), 30);
  for (std::size_t i = 0; i < v.view().extent(0); ++i) {
    const double t = interval.place(exact_[static_cast<std::size_t>(rows_.begin()) + i]);
    for (std::size_t j = 0; j < 4; ++j) {
      const double scaled = chebyshev(degrees[j], t) / chebyshev(degrees[j], interval.place(interval.lowest));
      EXPECT_NEAR(v.view()(i, j), scaled, 100 * 12 * epsilon<double>);
    }
  }
}

TEST(DampedInterval, DegreesAreEvenAndAsSmallAsTheGainAllows) {
  const DampedInterval<double> interval{0, 1, 11};
  for (const double gain : {2., 1e3, 1e8}) {
    const int degree = interval.degree_for(0.5, gain, 200);
    EXPECT_EQ(degree % 2, 0);
    EXPECT_GE(chebyshev(degree, interval.place(0.5)), gain);
    if (degree > 2) {
      EXPECT_LT(chebyshev(degree - 2, interval.place(0.5)), gain);
    }
  }
  EXPECT_EQ(interval.degree_for(0.5, 1e300, 40), 40);
  EXPECT_EQ(interval.degree_for(2, 1e300, 40), 40);  // what is damped gains nothing
  EXPECT_EQ(interval.degree_for(0.5, 1, 40), 2);
  // Rounding errors along the lowest eigenvector stay small beside the column.
  const DampedInterval<double> far{-1000, 1, 11};
  const int degree = far.degree_for(0.5, 1e8, 200);
  EXPECT_LE(chebyshev(degree, far.place(-1000)) * 100 * epsilon<double>, chebyshev(degree, far.place(0.5)));
}

TEST(IntervalChoice, CutsAtTheLargestRitzValueButInNoLevel) {
  IntervalChoice<double> choice({0, 4, 11});
  choice.see({0.1, 0.2, 0.9}, {1e-3, 1e-3, 1e-2}, 2, 2);
  EXPECT_EQ(choice.interval().cut, 0.9);
  choice.see({0.1, 0.2, 0.2}, {1e-3, 1e-3, 1e-2}, 2, 2);  // a level that goes on
  EXPECT_EQ(choice.interval().cut, 0.9);
  choice.see({0.1, 0.2, 0.2}, {1e-3, 1e-3, 1e-2}, 2, 0);  // in which nothing happens
  EXPECT_NEAR(choice.interval().cut, 0.2 + 0.7 / 8, 1e-12);
  choice.see({0.1, 0.2, 0.2}, {1e-3, 1e-3, 1e-2}, 2, 0);
  EXPECT_NEAR(choice.interval().cut, 0.2 + 0.7 / 64, 1e-12);
  choice.see({0.1, 0.2, 20}, {1e-3, 1e-3, 1e-2}, 2, 2);
  EXPECT_EQ(choice.interval().top, 20 + 1e-2);
}

}  // namespace
}  // namespace blockvec::solvers

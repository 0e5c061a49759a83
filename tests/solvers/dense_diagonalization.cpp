// Whole spectra of small matrices: both ends, targets and intervals with all multiplicities, pairs, deflated vectors,
// four scalars, observers, and what is refused.
#include <blockvec/solvers/dense_diagonalization.hpp>
#include <blockvec/solvers/lanczos.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "problems/anderson.hpp"
#include "problems/graphene.hpp"
#include "problems/laplacian.hpp"
#include "tests/solvers/exact.hpp"
#include "tests/solvers/expect_inside.hpp"
#include "tests/solvers/linear_elements.hpp"
#include "tests/solvers/mikota.hpp"
#include "tests/solvers/on_grid.hpp"
#include "tests/solvers/prescribed_spectrum.hpp"

namespace blockvec::solvers {
namespace {

using namespace examples;

template <class Scalar, class Layout = RowMajor, class Space = Kokkos::HostSpace>
auto solve(const RowSource<Scalar>& source, const DenseOptions& options) {
  const auto context = Context::world(1);
  const auto rows = RowDistribution::uniform(source.size(), context.communicator());
  SparseOperator<Scalar, Space> a(context, rows, source);
  return dense_diagonalization<BlockVector<Scalar, Layout, Space>>({a}, options);
}

DenseOptions lowest(std::int64_t wanted) { return {.wanted = wanted}; }
DenseOptions highest(std::int64_t wanted) { return {.wanted = wanted, .which = Which::largest}; }
DenseOptions near(double target, std::int64_t wanted) { return {.wanted = wanted, .target = target}; }
DenseOptions in(double from, double to) { return {.interval = Interval{from, to}}; }

/// What the options ask for of these values, which ascend.
std::vector<double> wanted_of(std::vector<double> exact, const DenseOptions& options) {
  if (options.interval) {
    std::erase_if(exact, [&](double x) { return x < options.interval->from || x > options.interval->to; });
    return exact;
  }
  if (options.target) return nearest(exact, *options.target, options.wanted);
  if (options.which == Which::largest) std::reverse(exact.begin(), exact.end());
  exact.resize(static_cast<std::size_t>(options.wanted));
  return exact;
}

/// Converged, and right to rounding errors of LAPACK, whatever the tolerance.
template <class Vector>
void expect_pairs(const Result<Vector>& result, const DenseOptions& options, const std::vector<double>& exact) {
  const auto n = static_cast<double>(exact.size());
  const double norm = std::max(std::abs(exact.front()), std::abs(exact.back()));
  const double rounding = 8 * n * static_cast<double>(epsilon<RealOf<typename Vector::Scalar>>) * norm;
  const auto wanted = wanted_of(exact, options);
  expect_inside(result, wanted, rounding, [&](double x) { return options.target ? std::abs(x - *options.target) : x; });
  for (const double residual : result.residual_norms) EXPECT_LE(residual, rounding);
  EXPECT_EQ(result.residual_estimates.size(), wanted.size());
  EXPECT_LE(std::abs(result.norm_estimate - norm), rounding);
  // One more column tells the units.
  EXPECT_EQ(result.applications, std::ssize(exact) + std::ssize(wanted) + 1);
}

template <class Scalar, class Layout = RowMajor>
void expect_pairs(const RowSource<Scalar>& source, const DenseOptions& options, const std::vector<double>& exact) {
  SCOPED_TRACE(source.describe());
  expect_pairs(solve<Scalar, Layout>(source, options), options, exact);
#if BLOCKVEC_HAVE_CUDA_SPACE
  expect_pairs(solve<Scalar, Layout, Kokkos::CudaSpace>(source, options), options, exact);
#endif
}

TEST(DenseDiagonalization, FindsBothEndsWithMultiplicities) {
  const auto exact = exact_laplacian({5, 5, 5});
  for (const std::int64_t wanted : {1, 7, 125}) {
    expect_pairs(Laplacian({5, 5, 5}), lowest(wanted), exact);
    expect_pairs(Laplacian({5, 5, 5}), highest(wanted), exact);
  }
}

TEST(DenseDiagonalization, FindsTheNearestOnBothSides) {
  expect_pairs(Laplacian({5, 5, 5}), near(4.1, 9), exact_laplacian({5, 5, 5}));
  const Graphene<double> sheet({6, 6});
  expect_pairs(sheet, near(0, 10), spectrum(sheet));
}

TEST(DenseDiagonalization, FindsAllInAnInterval) {
  const auto exact = exact_laplacian({5, 5, 5});
  expect_pairs(Laplacian({5, 5, 5}), in(3.9, 6.2), exact);
  expect_pairs(Laplacian({5, 5, 5}), in(-1, 20), exact);
  const auto none = solve(Laplacian({5, 5, 5}), in(20, 30));
  EXPECT_TRUE(none.converged()) << none.why;
  EXPECT_EQ(none.vectors.width(), 0);
  EXPECT_EQ(none.vectors.global_rows(), 125);
  // An end on a 19-fold level: rounding errors leave nothing out.
  const auto at_end = solve(Laplacian({5, 5, 5}), in(5.9, 6));
  EXPECT_EQ(std::ssize(at_end.eigenvalues),
            std::count_if(exact.begin(), exact.end(), [](double x) { return std::abs(x - 6) < 1e-8; }));
  EXPECT_TRUE(at_end.last_level_cut);
}

TEST(DenseDiagonalization, AnIntervalHandsBackAsManyAsWereAskedFor) {
  DenseOptions few = in(-1, 20);
  few.wanted = 5;
  const auto result = solve(Laplacian({5, 5, 5}), few);
  EXPECT_EQ(result.status, Status::exhausted);
  EXPECT_EQ(result.why, "125 eigenvalues lie there, and 5 were asked for at most");
  EXPECT_EQ(std::ssize(result.eigenvalues), 5);
  few.wanted = 125;
  expect_pairs(Laplacian({5, 5, 5}), few, exact_laplacian({5, 5, 5}));
}

template <class Scalar>
class OfScalar : public testing::Test {};
using Scalars = testing::Types<float, double, Complex<float>, Complex<double>>;
TYPED_TEST_SUITE(OfScalar, Scalars, );

TYPED_TEST(OfScalar, FindsWhatIsPrescribed) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < 90; ++i) values.push_back(i < 6 ? -2 : static_cast<double>(i) / 9);
  const PrescribedMatrix<TypeParam> matrix(values);
  for (DenseOptions options : {lowest(6), highest(4), near(4.95, 5), in(2.05, 4.95)}) {
    if constexpr (std::is_same_v<RealOf<TypeParam>, float>) options.tolerance = 1e-5;
    expect_pairs<TypeParam, RowMajor>(matrix, options, values);
    expect_pairs<TypeParam, ColumnMajor>(matrix, options, values);
  }
}

template <class Scalar, class Space>
void expect_pairs_of_bar() {
  using Vector = BlockVector<Scalar, DefaultLayout<Space>, Space>;
  const LinearElements<Scalar> bar{70};
  const auto context = Context::world(1);
  const auto rows = RowDistribution::uniform(bar.n, context.communicator());
  SparseOperator<Scalar, Space> k(context, rows, bar.k()), m(context, rows, bar.m());
  const double rounding = 8 * static_cast<double>(bar.n) * static_cast<double>(epsilon<RealOf<Scalar>>);
  for (DenseOptions options : {lowest(5), highest(5), near(3, 4), in(1, 2)}) {
    if constexpr (std::is_same_v<RealOf<Scalar>, float>) options.tolerance = 1e-5;
    const auto result = dense_diagonalization<Vector>({.a = k, .b = m}, options);
    // ||K|| <= 4, and 3 is the norm of M^-1.
    expect_inside(result, wanted_of(bar.eigenvalues(), options), rounding * 4 / bar.least_of_m,
                  [&](double x) { return options.target ? std::abs(x - *options.target) : x; });
    EXPECT_EQ(result.applications_b, bar.n + std::ssize(result.eigenvalues));
    for (const double error : result.backward_errors) EXPECT_LE(error, rounding);
  }
  // The lowest ones are left out.
  const auto known = dense_diagonalization<Vector>({.a = k, .b = m}, lowest(3));
  const auto rest = dense_diagonalization<Vector>({.a = k, .b = m, .deflation = known.vectors}, lowest(4));
  const auto exact = bar.eigenvalues();
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(rest.eigenvalues[i], exact[i + 3], rounding * 4 / bar.least_of_m) << i;
}

TYPED_TEST(OfScalar, FindsPairs) {
  expect_pairs_of_bar<TypeParam, Kokkos::HostSpace>();
#if BLOCKVEC_HAVE_CUDA_SPACE
  expect_pairs_of_bar<TypeParam, Kokkos::CudaSpace>();
#endif
}

TEST(DenseDiagonalization, Mikota) {
  const Mikota pair{40};
  MikotaOperators<Kokkos::HostSpace> operators(pair);
  using Vector = BlockVector<double, RowMajor, Kokkos::HostSpace>;
  pair.expect_lowest(dense_diagonalization<Vector>(operators.problem(), lowest(6)));
  pair.expect_highest(dense_diagonalization<Vector>(operators.problem(), highest(6)));
}

TEST(DenseDiagonalization, MatricesOfAFewRows) {
  for (const std::int64_t n : {1, 2, 3, 5}) {
    const auto exact = exact_laplacian({n});
    for (std::int64_t wanted = 1; wanted <= n; ++wanted) {
      expect_pairs(Laplacian({n}), lowest(wanted), exact);
      expect_pairs(Laplacian({n}), near(2.3, wanted), exact);
    }
    EXPECT_EQ(std::ssize(solve(Laplacian({n}), {}).eigenvalues), n);
  }
  EXPECT_EQ(std::ssize(solve(Laplacian({20}), {}).eigenvalues), 8);
  EXPECT_EQ(solve(Diagonal(std::vector<double>(40, 0.0)), lowest(3)).eigenvalues, std::vector<double>(3, 0.0));
}

TEST(DenseDiagonalization, SaysWhichLevelsAreCut) {
  std::vector<double> values(60, 0.0);
  for (std::size_t i = 8; i < values.size(); ++i) values[i] = static_cast<double>(i);
  for (const std::int64_t wanted : {3, 8, 9})
    EXPECT_EQ(solve(Diagonal(values), lowest(wanted)).last_level_cut, wanted == 3) << wanted;
  EXPECT_TRUE(solve(Diagonal(values), near(10.5, 1)).last_level_cut);
  EXPECT_FALSE(solve(Diagonal(values), near(10.5, 2)).last_level_cut);
  EXPECT_FALSE(solve(Diagonal(values), in(9.5, 12.5)).last_level_cut);
  EXPECT_TRUE(solve(Diagonal(values), in(9.5, 12)).last_level_cut);
}

class OfGrid : public OnGrid {
 protected:
  Result<Host> solve(const Problem<Host>& problem, const DenseOptions& options = lowest(4),
                     const Observer& observer = {}) const {
    return dense_diagonalization<Host>(problem, options, observer);
  }
};

// The last vector is one of three copies, of which the others are to be found.
TEST_F(OfGrid, LeavesOutWhatIsDeflated) {
  const Laplacian cube({5, 5, 5});
  const auto rows = RowDistribution::uniform(cube.size(), context_.communicator());
  SparseOperator<double, Kokkos::HostSpace> a(context_, rows, cube);
  std::vector<double> masses(125);
  for (std::size_t i = 0; i < masses.size(); ++i) masses[i] = 1 + static_cast<double>(i % 7) / 4;
  SparseOperator<double, Kokkos::HostSpace> b(context_, rows, Diagonal(masses));
  for (const bool has_b : {false, true}) {
    Problem<Host> problem{.a = a};
    if (has_b) problem.b = b;
    const auto all = solve(problem, lowest(125));
    problem.deflation = all.vectors.columns(0, 2);
    for (DenseOptions options : {lowest(123), highest(5), near(2, 6)}) {
      const auto rest = solve(problem, options);
      const std::vector<double> left(all.eigenvalues.begin() + 2, all.eigenvalues.end());
      const double rounding = 8 * 125 * epsilon<double> * left.back();
      expect_inside(rest, wanted_of(left, options), rounding,
                    [&](double x) { return options.target ? std::abs(x - *options.target) : x; });
      const SmallMatrix<double> c(context_, 2, rest.vectors.width());
      const Host image = rest.vectors.deep_copy();
      if (has_b) b.apply(1, 0, rest.vectors, 0, image);
      inner_product(problem.deflation, image, c);
      EXPECT_LE(orth::dense::max_norm(c), 64 * 125 * epsilon<double>);
    }
    EXPECT_EQ(message_of([&] { (void)solve(problem, lowest(124)); }),
              "dense_diagonalization: 124 eigenpairs were asked of a matrix with 125 rows beside 2 deflated vectors");
  }
}

TEST_F(OfGrid, ShowsStepsAndEndsWhereItIsAskedTo) {
  std::vector<Step> steps;
  const auto result = solve({a_}, lowest(5), [&](const Step& step) {
    steps.push_back(step);
    return true;
  });
  ASSERT_TRUE(result.converged());
  // 420 columns, 64 at a time, and a look at all that is found.
  ASSERT_EQ(steps.size(), 8U);
  EXPECT_EQ(result.history.size(), steps.size());
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(steps[i].converged, 0);
    EXPECT_EQ(steps[i].applications, 1 + std::min<std::int64_t>(420, 64 * static_cast<std::int64_t>(i + 1)));
  }
  EXPECT_EQ(steps.back().converged, 5);
  EXPECT_EQ(steps.back().eigenvalues, result.eigenvalues);
  EXPECT_EQ(steps.back().residual_norms, result.residual_norms);

  const auto stopped = solve({a_}, lowest(5), [](const Step& step) { return step.applications < 200; });
  EXPECT_EQ(stopped.status, Status::stopped);
  EXPECT_EQ(stopped.why, stopped_by_observer);
  EXPECT_EQ(stopped.applications, 1 + 256);
  EXPECT_EQ(stopped.vectors.width(), 0);
  EXPECT_EQ(message_of([&] {
              (void)solve({a_}, lowest(5), [&](const Step&) -> bool {
                if (context_.communicator().rank() + 1 == context_.communicator().size()) throw Error("seen enough");
                return true;
              });
            }).find("seen enough"),
            0U);
}

TEST_F(OfGrid, RefusesMatricesThatAreNotHermitian) {
  const auto shifted = FunctionOperator<Host>(context_, rows_, [&](const Host& x, const Host& y) {
    a_.apply(1, 0, x, 0, y);
    const SmallMatrix<double> sums(context_, 1, x.width());
    const Host ones(context_, rows_, 1), first(context_, rows_, 1);
    fill(ones, 1.0);
    if (rows_.begin() == 0 && rows_.local_rows() > 0) first.view()(0, 0) = 1e-9;
    inner_product(ones, x, sums);
    update(1.0, first, sums, 1.0, y);  // 1e-9 more in the first row
  });
  EXPECT_EQ(message_of([&] { (void)solve({shifted}); }),
            "dense_diagonalization: A is not Hermitian: entry (0, 1) is -0.999999999, but entry (1, 0) is -1");
  EXPECT_EQ(message_of([&] { (void)solve({.a = a_, .b = shifted}); }),
            "dense_diagonalization: B is not Hermitian: entry (0, 1) is -0.999999999, but entry (1, 0) is -1");
  EXPECT_THROW((void)solve({shifted}), InputError);
  // Rounding errors of a product of matrices do not count.
  PrescribedSpectrum<Host> rounded(context_, std::vector<double>(420, 3.0));
  EXPECT_TRUE(solve({rounded}).converged());
}

TEST_F(OfGrid, RefusesBThatIsNotPositiveDefinite) {
  std::vector<double> singular(420, 1.0), indefinite(420, 1.0);
  singular[7] = 0;
  indefinite[5] = -1;
  for (const auto& values : {singular, indefinite}) {
    auto b = diagonal(values);
    const std::string message = message_of([&] { (void)solve({.a = a_, .b = b}); });
    EXPECT_EQ(message.find("dense_diagonalization: B is not positive definite to rounding: a vector x has x^H B x = "),
              0U)
        << message;
  }
}

TEST_F(OfGrid, SaysWhereAProductIsNotFinite) {
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    int products = 0;
    const auto poisoned = FunctionOperator<Host>(context_, rows_, [&](const Host& x, const Host& y) {
      a_.apply(1, 0, x, 0, y);
      if (++products == 3 && y.local_rows() > 0) y.view()(0, 2) = value;
    });
    EXPECT_EQ(message_of([&] { (void)solve({poisoned}); }),
              "dense_diagonalization: A applied to column 66 of the identity is not finite");
    products = 0;
    EXPECT_THROW((void)solve({poisoned}), NotFiniteError);
  }
}

TEST_F(OfGrid, RefusesOptionsThatDoNotFit) {
  const std::string name = "dense_diagonalization: ";
  const auto refusal = [&](const DenseOptions& options) { return message_of([&] { (void)solve({a_}, options); }); };
  EXPECT_EQ(refusal(lowest(0)), name + "0 eigenpairs were asked of a matrix with 420 rows");
  EXPECT_EQ(refusal(lowest(421)), name + "421 eigenpairs were asked of a matrix with 420 rows");
  EXPECT_EQ(refusal({.tolerance = 0}), name + "the tolerance must be positive, not 0");
  EXPECT_EQ(refusal(in(2, 2)), name + "an interval has a lower end and an upper one, not 2 and 2");
  EXPECT_EQ(refusal(near(std::nan(""), 2)), name + "the target must be a number, not nan");
  EXPECT_EQ(refusal({.target = 1, .interval = Interval{0, 1}}), name + "there cannot be both a target and an interval");
  const FunctionOperator<Host> large(context_, RowDistribution::uniform(40000, context_.communicator()),
                                     [](const Host&, const Host&) { FAIL() << "applied"; });
  EXPECT_EQ(message_of([&] { (void)solve({large}); }),
            name + "LAPACK's indices reach 32766 rows, and the matrix has 40000: take an iterative method");
}

TEST_F(OfGrid, ScalesOfAnySizeAreTheSameProblem) {
  for (const double scale : {1e-200, 1e200}) {
    const auto scaled =
        FunctionOperator<Host>(context_, rows_, [&](const Host& x, const Host& y) { a_.apply(scale, 0, x, 0, y); });
    const auto result = solve({scaled}, near(4 * scale, 4));
    ASSERT_TRUE(result.converged()) << scale << ": " << result.why;
    const auto exact = nearest(exact_, 4, 4);
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(std::abs(result.eigenvalues[i] / scale - 4), std::abs(exact[i] - 4), 8 * 420 * epsilon<double> * 8);
  }
}

// A pair of Gram matrices of random vectors: residuals reach what B's condition of 1e12 leaves of them, and no less.
TEST_F(OfGrid, SaysWhereTheConditionOfBLeavesTooFewDigits) {
  std::vector<double> graded;
  for (std::int64_t i = 0; i < 420; ++i) graded.push_back(std::pow(10, -12 * static_cast<double>(i) / 419));
  PrescribedSpectrum<Host> b(context_, graded);
  DenseOptions strict = near(0.5, 4);
  strict.tolerance = 1e-15;
  const auto result = solve({.a = a_, .b = b}, strict);
  EXPECT_EQ(result.status, Status::exhausted);
  EXPECT_EQ(result.why.find("residuals recomputed from A stay above the tolerance: B has a condition of "), 0U)
      << result.why;
  EXPECT_EQ(result.eigenvalues.size(), 4U);
}

TEST_F(OfGrid, EveryRankHasTheSameBits) {
  const auto result = solve({a_}, lowest(420));
  std::vector<double> sums(result.eigenvalues);
  context_.communicator().max(sums);
  EXPECT_EQ(sums, result.eigenvalues);
}

/// A search for the lowest pairs, with the whole spectrum to fall back on.
class SearchOrDiagonalize : public OfGrid {
 protected:
  Result<Host> find(std::int64_t most_applications, std::int64_t max_restarts, const Observer& observer = {}) {
    return search_or_diagonalize<Host>(
        most_applications,
        [&](const Observer& seen) {
          return block_lanczos<Host>({a_}, {.wanted = 4, .max_restarts = max_restarts, .filter_degree = 0}, seen);
        },
        [&](const Observer& seen) {
          ++diagonalizations_;
          return dense_diagonalization<Host>({a_}, lowest(4), seen);
        },
        observer);
  }
  void expect_whole(const Result<Host>& result) {
    expect_inside(result, wanted_of(exact_, lowest(4)), 8 * 420 * epsilon<double> * 12, [](double x) { return x; });
    EXPECT_EQ(diagonalizations_, 1);
    EXPECT_EQ(result.why.find("the whole spectrum was computed, since a search "), 0U) << result.why;
    EXPECT_GT(result.applications, 425);
    ASSERT_GT(result.history.size(), 1U);
    for (std::size_t i = 1; i < result.history.size(); ++i) {
      EXPECT_GE(result.history[i].applications, result.history[i - 1].applications);
      EXPECT_GE(result.history[i].reductions, result.history[i - 1].reductions);
    }
  }
  int diagonalizations_ = 0;
};

constexpr std::int64_t plenty = 1000000;

TEST_F(SearchOrDiagonalize, LeavesAloneWhatASearchFinds) {
  const auto result = find(plenty, 300);
  EXPECT_TRUE(result.converged());
  EXPECT_EQ(result.why, "");
  EXPECT_EQ(diagonalizations_, 0);
}

TEST_F(SearchOrDiagonalize, TakesTheWholeSpectrumWhereASearchFails) {
  const auto failed = find(0, 1);
  EXPECT_EQ(failed.status, Status::exhausted);
  EXPECT_EQ(diagonalizations_, 0);
  const auto result = find(plenty, 1);
  expect_whole(result);
  EXPECT_NE(result.why.find(failed.why), std::string::npos) << result.why;
  EXPECT_EQ(result.applications, failed.applications + 420 + 4 + 1);
}

TEST_F(SearchOrDiagonalize, TakesTheWholeSpectrumWhereASearchIsTooLong) {
  const auto result = find(50, 300);
  expect_whole(result);
  EXPECT_NE(result.why.find("50 products"), std::string::npos) << result.why;
}

// The last rank asks for it, during the search and after it.
TEST_F(SearchOrDiagonalize, EndsWhereItIsAskedTo) {
  const Communicator& ranks = context_.communicator();
  for (const std::int64_t last : {20, 70}) {
    const auto result =
        find(50, 300, [&](const Step& step) { return ranks.rank() + 1 < ranks.size() || step.applications < last; });
    EXPECT_EQ(result.status, Status::stopped);
    EXPECT_EQ(diagonalizations_, last > 50 ? 1 : 0);
  }
}

}  // namespace
}  // namespace blockvec::solvers

// Jacobi-Davidson near a target: exact spectra with all multiplicities, both sides of the target, pairs, and what
// could be missed.
#include <blockvec/solvers/jacobi_davidson.hpp>
#include <blockvec/solvers/preconditioners.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <limits>

#include "problems/anderson.hpp"
#include "problems/graphene.hpp"
#include "problems/heisenberg.hpp"
#include "problems/laplacian.hpp"
#include "tests/solvers/exact.hpp"
#include "tests/solvers/expect_inside.hpp"
#include "tests/solvers/expect_right.hpp"
#include "tests/solvers/linear_elements.hpp"
#include "tests/solvers/on_grid.hpp"
#include "tests/solvers/prescribed_spectrum.hpp"

namespace blockvec::solvers {
namespace {

using namespace examples;

JacobiDavidsonOptions near(double target, std::int64_t wanted, std::int64_t block = 2) {
  return {.wanted = wanted, .block = block, .target = target};
}

/// The nearest ones, each of its own, in the order of their distances.
template <class Vector>
void expect_nearest(const Result<Vector>& result, const JacobiDavidsonOptions& options,
                    const std::vector<double>& exact) {
  const double norm = std::max(std::abs(exact.front()), std::abs(exact.back())), target = *options.target;
  const auto n = static_cast<double>(result.vectors.global_rows());
  const auto eps = static_cast<double>(epsilon<RealOf<typename Vector::Scalar>>);
  expect_inside(result, nearest(exact, target, options.wanted), options.tolerance * norm + 8 * n * eps * norm,
                [&](double x) { return std::abs(x - target); });
  for (const double error : result.backward_errors) EXPECT_LE(error, options.tolerance);
}

template <class Scalar, class Layout = RowMajor, class Space = Kokkos::HostSpace>
auto solve(const RowSource<Scalar>& source, const JacobiDavidsonOptions& options) {
  const auto context = Context::world(1);
  const auto rows = RowDistribution::uniform(source.size(), context.communicator());
  SparseOperator<Scalar, Space> a(context, rows, source);
  return jacobi_davidson<BlockVector<Scalar, Layout, Space>>({a}, options);
}

template <class Scalar, class Layout = RowMajor>
void expect_nearest(const RowSource<Scalar>& source, const JacobiDavidsonOptions& options,
                    const std::vector<double>& exact) {
  SCOPED_TRACE(testing::Message() << source.describe() << ", target " << *options.target << ", nev " << options.wanted
                                  << ", block " << options.block);
  expect_nearest(solve<Scalar, Layout>(source, options), options, exact);
#if BLOCKVEC_HAVE_CUDA_SPACE
  expect_nearest(solve<Scalar, Layout, Kokkos::CudaSpace>(source, options), options, exact);
#endif
}

TEST(Nearest, FindsMultiplicities) {
  for (const std::int64_t block : {1, 2, 4}) {
    expect_nearest(Laplacian({9, 9, 9}), near(4.1, 7, block), exact_laplacian({9, 9, 9}));
    expect_nearest(Laplacian({200}), near(1.7, 5, block), exact_laplacian({200}));
  }
  expect_nearest(SpinChain(10, 5, true, 1), near(-0.9, 6), spectrum(SpinChain(10, 5, true, 1)));
  const Anderson model({7, 8, 6}, 12, 5);
  expect_nearest(model, near(0.3, 8), spectrum(model));
}

// Eigenvalues come in pairs on both sides of the target, equally far: their singular vectors are mixtures.
TEST(Nearest, PartsEigenvaluesOnBothSides) {
  const Graphene<double> sheet({12, 12});
  expect_nearest(sheet, near(0, 10), spectrum(sheet));
  std::vector<double> values;
  for (int i = 1; i <= 150; ++i) {
    values.push_back(i);
    values.push_back(-i);
  }
  expect_nearest(Diagonal(values), near(0, 6), sorted(values));
  // Not quite equally far, down to what the tolerance sees.
  for (const double shift : {1e-3, 1e-6, 1e-9}) expect_nearest(Diagonal(values), near(shift, 6), sorted(values));
}

TEST(Nearest, BothLayoutsRealAndComplex) {
  const Graphene<Complex<double>> sheet({12, 10}, 1, 6);
  const std::vector<double> exact = spectrum(sheet);
  expect_nearest<Complex<double>, RowMajor>(sheet, near(0.5, 4), exact);
  expect_nearest<Complex<double>, ColumnMajor>(sheet, near(0.5, 4), exact);
  expect_nearest<double, ColumnMajor>(Laplacian({30, 20}), near(3.1, 5), exact_laplacian({30, 20}));
}

// Also where the target is no inner one.
TEST(Nearest, AtTheEndsAndBeyondThem) {
  expect_nearest(Laplacian({20, 21}), near(0, 4), exact_laplacian({20, 21}));
  expect_nearest(Laplacian({20, 21}), near(-3, 4), exact_laplacian({20, 21}));
  expect_nearest(Laplacian({20, 21}), near(8.5, 4), exact_laplacian({20, 21}));
}

// The target is an eigenvalue, a multiple one too: A - target is singular.
TEST(Nearest, TheTargetMayBeAnEigenvalue) {
  std::vector<double> values(300);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i < 290 ? static_cast<double>(i) : 100;
  const auto exact = sorted(values);
  for (const std::int64_t wanted : {1, 3, 11, 12, 13}) {
    const auto result = solve(Diagonal(values), near(100, wanted));
    expect_nearest(result, near(100, wanted), exact);
    EXPECT_EQ(result.last_level_cut, wanted < 11 || wanted == 12) << wanted;
  }
}

// A Gram matrix that were not kept graded would lose the distances below the root of eps.
TEST(Nearest, ReachesRoundingErrors) {
  std::vector<double> values(300);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.01 * static_cast<double>(i) - 1;
  values.back() = 1000;
  auto options = near(0.0301, 5);
  options.tolerance = 1e-14;
  expect_nearest(Diagonal(values), options, values);
}

// Vectors that are right, but not nearest, do not hide those that are.
TEST(Nearest, AStartElsewhereMissesNothing) {
  using Vector = BlockVector<double>;
  std::vector<double> values(400);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i < 4 ? 200 : i);
  PrescribedSpectrum<Vector> a(Context::world(1), values);
  const auto exact = sorted(values);
  const auto farther = jacobi_davidson<Vector>({a}, near(230.3, 6));
  expect_nearest(farther, near(230.3, 6), exact);
  const auto options = near(200.1, 6);
  expect_nearest(jacobi_davidson<Vector>({.a = a, .initial = farther.vectors}, options), options, exact);
  // What is deflated stays out.
  const auto rest = jacobi_davidson<Vector>({.a = a, .deflation = farther.vectors}, near(230.3, 3));
  ASSERT_TRUE(rest.converged()) << rest.why;
  for (std::size_t j = 0; j < 3; ++j) EXPECT_GT(std::abs(rest.eigenvalues[j] - 230.3), 2.5);
}

TEST(Nearest, SmallMatrices) {
  for (const std::int64_t n : {1, 2, 3, 5, 8, 13, 40}) {
    for (const std::int64_t wanted : {std::int64_t{1}, std::min<std::int64_t>(n, 3), n})
      expect_nearest(Laplacian({n}), near(2.3, wanted), exact_laplacian({n}));
  }
  const std::vector<double> same(20, 3.0);
  expect_nearest(Diagonal(same), near(3.0, 4), same);
  expect_nearest(Diagonal(same), near(1.0, 4), same);
  const auto result = solve(Diagonal(std::vector<double>(20, 0.)), near(0, 3));
  EXPECT_TRUE(result.converged()) << result.why;
}

template <class Scalar, class Space = Kokkos::HostSpace>
void expect_nearest_of_elements(double tolerance) {
  using Vector = BlockVector<Scalar, RowMajor, Space>;
  const LinearElements<Scalar> elements{200};
  const auto context = Context::world(1);
  const auto rows = RowDistribution::uniform(elements.n, context.communicator());
  SparseOperator<Scalar, Space> a(context, rows, elements.k()), b(context, rows, elements.m());
  for (const double target : {1.2, 5.5}) {
    auto options = near(target, 5);
    options.tolerance = tolerance;
    const auto result = jacobi_davidson<Vector>({.a = a, .b = b}, options);
    const auto n = static_cast<double>(elements.n);
    const double eps = static_cast<double>(epsilon<RealOf<Scalar>>);
    // An eigenvalue is off by at most ||r|| / ||M^1/2 x|| times ||M^-1/2||; the norms are 4 and, of M, 1.
    const double limit = (tolerance + 8 * n * eps) * (4 + 12) / elements.least_of_m;
    expect_inside(result, nearest(elements.eigenvalues(), target, 5), limit,
                  [&](double x) { return std::abs(x - target); });
    for (const double error : result.backward_errors) EXPECT_LE(error, tolerance);
    EXPECT_LE(static_cast<double>(result.applications_b), 1.1 * static_cast<double>(result.applications) + 80);
  }
}

TEST(Nearest, Pairs) {
  expect_nearest_of_elements<double>(1e-10);
  expect_nearest_of_elements<Complex<double>>(1e-10);
#if BLOCKVEC_HAVE_CUDA_SPACE
  expect_nearest_of_elements<double, Kokkos::CudaSpace>(1e-10);
#endif
}

// The preconditioner gets the shifts, and is definite with them.
TEST(Nearest, PreconditionersThatGetTheShift) {
  using Vector = BlockVector<double, RowMajor, Kokkos::HostSpace>;
  const RowFunction<double> source(400, [](std::int64_t row, RowEntries<double>& entries) {
    entries.add(row, static_cast<double>((row * 163) % 400));
    if (row > 0) entries.add(row - 1, -1);
    if (row < 399) entries.add(row + 1, -1);
  });
  const auto exact = spectrum(source);
  const auto context = Context::world(1);
  const auto rows = RowDistribution::uniform(source.size(), context.communicator());
  SparseOperator<double, Kokkos::HostSpace> a(context, rows, source);
  const auto options = near(130.2, 6);
  const auto plain = jacobi_davidson<Vector>({a}, options);
  expect_nearest(plain, options, exact);
  const auto diagonal = diagonal_of<Vector>(context, rows, source);
  for (const auto& m : {jacobi_preconditioner<Vector>(diagonal, {}, std::nullopt),
                        block_jacobi_preconditioner<Vector>(context, rows, source, nullptr, 8, std::nullopt)}) {
    const auto helped = jacobi_davidson<Vector>({.a = a, .precondition = m}, options);
    expect_nearest(helped, options, exact);
    EXPECT_TRUE(helped.why.empty()) << helped.why;
    EXPECT_GT(helped.preconditionings, 0);
    EXPECT_LT(helped.applications, plain.applications);
  }
}

TEST(Nearest, SinglePrecision) {
  expect_nearest_of_elements<float>(200 * static_cast<double>(epsilon<float>));
  const RowFunction<float> chain(
      300, [](std::int64_t row, RowEntries<float>& entries) { entries.add(row, static_cast<float>(row)); });
  std::vector<double> exact(300);
  for (std::size_t i = 0; i < exact.size(); ++i) exact[i] = static_cast<double>(i);
  auto options = near(100.2, 4);
  options.tolerance = 100 * static_cast<double>(epsilon<float>);
  expect_nearest(chain, options, exact);
}

TEST(Nearest, UnitsDoNotCount) {
  std::vector<double> values(300), small;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  for (const double value : values) small.push_back(1e-200 * value);
  const auto one = solve(Diagonal(values), near(100.2, 4)), other = solve(Diagonal(small), near(100.2e-200, 4));
  ASSERT_TRUE(one.converged() && other.converged()) << other.why;
  for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(other.eigenvalues[j] * 1e200, one.eigenvalues[j], 1e-8 * 300);
}

TEST(Nearest, RefusesATargetThatIsNoNumber) {
  for (const double target : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW((void)solve(Laplacian({30}), near(target, 3)), InputError);
}

}  // namespace
}  // namespace blockvec::solvers

// Block Lanczos for A x = theta B x: known spectra, exact inverses of B, rough ones and none, faults. Checkpoints:
// continuation.cpp.
#include <blockvec/solvers/lanczos.hpp>
#include <blockvec/solvers/preconditioners.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/solvers/linear_elements.hpp"
#include "tests/solvers/mikota.hpp"
#include "tests/solvers/on_grid.hpp"
#include "tests/solvers/prescribed_spectrum.hpp"

namespace blockvec::solvers {
namespace {

/// Converged, and right: the first eigenvalues of `exact`, ascending, whose B has no eigenvalue below `least_of_b`.
template <class Vector>
void expect_pairs(const Result<Vector>& result, const LanczosOptions& options, std::vector<double> exact,
                  double least_of_b) {
  if (options.which == Which::largest) std::reverse(exact.begin(), exact.end());
  ASSERT_TRUE(result.converged()) << result.why;
  ASSERT_EQ(std::ssize(result.eigenvalues), options.wanted);
  ASSERT_EQ(result.vectors.width(), options.wanted);
  const auto n = static_cast<double>(exact.size());
  const auto eps = static_cast<double>(epsilon<RealOf<typename Vector::Scalar>>);
  for (std::size_t i = 0; i < result.eigenvalues.size(); ++i) {
    EXPECT_LE(result.backward_errors[i], options.tolerance);
    // |theta - lambda| <= ||r|| ||B^-1||^(1/2) for x with x^H B x = 1.
    const double rounding = 8 * n * eps * (result.norm_estimate / least_of_b + std::abs(exact[i]));
    EXPECT_NEAR(result.eigenvalues[i], exact[i], result.residual_norms[i] / std::sqrt(least_of_b) + rounding) << i;
  }
  const double condition = result.norm_estimate_b / least_of_b;
  EXPECT_LE(result.orthogonality_loss, 64 * static_cast<double>(options.wanted) * std::sqrt(n) * eps * condition);
}

/// A x = theta B x with these eigenvalues, none in a simple basis: A = S D S and B = S^2 with S = 1 + c u u^H.
template <class Vector>
class PrescribedPencil {
 public:
  PrescribedPencil(const std::vector<double>& values, double c)
      : a_(Context::world(1), values, c),
        b_(a_.context(), std::vector<double>(values.size(), 1.0), c),
        inverse_(a_.context(), std::vector<double>(values.size(), 1.0), -c / (1 + c)) {}
  Problem<Vector> problem() {
    return {.a = a_, .b = b_, .inverse_b = [this](const Vector& x, const Vector& y) { inverse_.apply(1, 0, x, 0, y); }};
  }

 private:
  PrescribedSpectrum<Vector> a_, b_, inverse_;
};

/// 1 to `values`, each so often.
std::vector<double> levels(std::int64_t values, std::int64_t copies) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < values * copies; ++i) all.push_back(static_cast<double>(i / copies + 1));
  return all;
}

template <class Scalar, class Layout = RowMajor>
void expect_prescribed(double tolerance, double c) {
  using Vector = BlockVector<Scalar, Layout, Kokkos::HostSpace>;
  const auto exact = levels(80, 5);
  PrescribedPencil<Vector> pencil(exact, c);
  for (const auto which : {Which::smallest, Which::largest}) {
    for (const int filter : {LanczosOptions::automatic_filter, 0}) {
      const LanczosOptions options{.wanted = 7, .tolerance = tolerance, .which = which, .filter_degree = filter};
      SCOPED_TRACE(testing::Message() << "filter " << filter << (which == Which::largest ? ", largest" : ""));
      const auto result = block_lanczos<Vector>(pencil.problem(), options);
      expect_pairs(result, options, exact, 1);
      EXPECT_TRUE(result.last_level_cut);
    }
  }
}

TEST(LanczosPairs, AllScalarsAndLayouts) {
  expect_prescribed<double>(1e-10, 9);
  expect_prescribed<double, ColumnMajor>(1e-10, 9);
  expect_prescribed<Complex<double>>(1e-10, 9);
  expect_prescribed<Complex<double>, ColumnMajor>(1e-10, 9);
  expect_prescribed<float>(1e-4, 2);
  expect_prescribed<float, ColumnMajor>(1e-4, 2);
  expect_prescribed<Complex<float>>(1e-4, 2);
  expect_prescribed<Complex<float>, ColumnMajor>(1e-4, 2);
}

// B has a condition of 10^6, which an exact inverse makes up for.
TEST(LanczosPairs, BadlyConditionedB) { expect_prescribed<double>(1e-8, 999); }

template <class Space>
void expect_mikota() {
  const Mikota pair{150};
  MikotaOperators<Space> operators(pair);
  auto problem = operators.problem();
  const auto inverse = problem.inverse_b;
  for (const auto which : {Which::smallest, Which::largest}) {
    for (const auto& given : {inverse, decltype(inverse){}}) {
      for (const int filter : {LanczosOptions::automatic_filter, 0, 4}) {
        const LanczosOptions options{.wanted = 6, .tolerance = 1e-12, .which = which, .filter_degree = filter};
        SCOPED_TRACE(testing::Message() << "filter " << filter << (which == Which::largest ? ", largest" : "")
                                        << (given ? "" : ", no inverse"));
        problem.inverse_b = given;
        const auto result = block_lanczos(problem, options);
        EXPECT_TRUE(result.converged()) << result.why;
        which == Which::smallest ? pair.expect_lowest(result) : pair.expect_highest(result);
        for (const double error : result.backward_errors) EXPECT_LE(error, 1e-12);
        if (!given) continue;
        // Beside the looks at B, it is applied once for each product with A or less.
        EXPECT_LE(static_cast<double>(result.applications_b), static_cast<double>(result.applications) + 200);
      }
    }
  }
}

TEST(LanczosPairs, DiagonalB) {
  expect_mikota<Kokkos::HostSpace>();
#if BLOCKVEC_HAVE_CUDA_SPACE
  expect_mikota<Kokkos::CudaSpace>();
#endif
}

// The diagonal of a B that is none is improved by products with B, and so is the identity.
TEST(LanczosPairs, RoughInverses) {
  using Vector = BlockVector<double, RowMajor, Kokkos::HostSpace>;
  const LinearElements<double> elements{400};
  const auto context = Context::world(1);
  const auto rows = RowDistribution::uniform(elements.n, context.communicator());
  SparseOperator<double, Kokkos::HostSpace> a(context, rows, elements.k()), b(context, rows, elements.m());
  const auto diagonal = inverse_of_diagonal(diagonal_of<Vector>(context, rows, elements.m()));
  for (const auto& inverse : {diagonal, decltype(diagonal){}}) {
    const LanczosOptions options{.wanted = 5, .tolerance = 1e-10};
    const auto result = block_lanczos<Vector>({.a = a, .b = b, .inverse_b = inverse}, options);
    expect_pairs(result, options, elements.eigenvalues(), LinearElements<double>::least_of_m);
  }
}

// More copies than the block has columns, what is deflated, and vectors to begin with.
TEST(LanczosPairs, CopiesDeflationAndStarts) {
  using Vector = BlockVector<double, RowMajor, Kokkos::HostSpace>;
  const auto exact = levels(60, 6);
  PrescribedPencil<Vector> pencil(exact, 3);
  auto problem = pencil.problem();
  const LanczosOptions options{.wanted = 12, .block = 2, .tolerance = 1e-10};
  const auto result = block_lanczos<Vector>(problem, options);
  expect_pairs(result, options, exact, 1);
  EXPECT_FALSE(result.last_level_cut);
  const auto again = [&] {
    auto begun = problem;
    begun.initial = result.vectors;
    return block_lanczos<Vector>(begun, options);
  }();
  expect_pairs(again, options, exact, 1);
  problem.deflation = result.vectors.columns(0, 8);
  const LanczosOptions rest{.wanted = 5, .tolerance = 1e-10};
  expect_pairs(block_lanczos<Vector>(problem, rest), rest, {exact.begin() + 8, exact.end()}, 1);
}

// However large B is: what counts as one level follows its scale.
TEST(LanczosPairs, ScalesOfB) {
  using Vector = BlockVector<double, RowMajor, Kokkos::HostSpace>;
  const auto exact = levels(60, 6);
  const auto context = Context::world(1);
  const auto rows = RowDistribution::uniform(std::ssize(exact), context.communicator());
  SparseOperator<double, Kokkos::HostSpace> a(context, rows, Diagonal(exact));
  for (const double scale : {1e-9, 1e9}) {
    SparseOperator<double, Kokkos::HostSpace> b(context, rows, Diagonal(std::vector<double>(exact.size(), scale)));
    for (const std::int64_t wanted : {3, 6, 7}) {
      const auto result = block_lanczos<Vector>({.a = a, .b = b}, {.wanted = wanted});
      ASSERT_TRUE(result.converged()) << result.why;
      EXPECT_EQ(result.last_level_cut, wanted != 6) << wanted << ", B = " << scale;
      for (std::size_t j = 0; j < result.eigenvalues.size(); ++j)
        EXPECT_NEAR(result.eigenvalues[j] * scale, exact[j], 1e-8 * exact.back());
    }
  }
}

TEST(LanczosPairs, SmallMatrices) {
  using Vector = BlockVector<double, RowMajor, Kokkos::HostSpace>;
  for (const std::int64_t n : {1, 2, 3, 5, 8, 13}) {
    const LinearElements<double> elements{n};
    const auto context = Context::world(1);
    const auto rows = RowDistribution::uniform(n, context.communicator());
    SparseOperator<double, Kokkos::HostSpace> a(context, rows, elements.k()), b(context, rows, elements.m());
    for (const std::int64_t wanted : {std::int64_t{1}, n}) {
      const LanczosOptions options{.wanted = wanted, .tolerance = 1e-12};
      expect_pairs(block_lanczos<Vector>({.a = a, .b = b}, options), options, elements.eigenvalues(), 1. / 3);
    }
  }
}

class LanczosPairsOnGrid : public OnGrid {};

TEST_F(LanczosPairsOnGrid, RefusesBThatIsNotPositiveDefinite) {
  const auto n = static_cast<std::size_t>(grid_.size());
  std::vector<double> half(n, 1.0), indefinite(n, 1.0), steep(n);
  for (std::size_t i = 0; i < n; i += 2) half[i] = 0;
  indefinite[5] = -1;
  for (std::size_t i = 0; i < n; ++i) steep[i] = std::pow(10, -10 * static_cast<double>(i) / static_cast<double>(n));
  for (const auto& [values, reason] : {std::pair(half, "block_lanczos: B is not positive definite to rounding"),
                                       std::pair(indefinite, "block_lanczos: B is not positive definite to rounding"),
                                       std::pair(steep, "block_lanczos: B is too far from its approximate inverse")}) {
    auto b = diagonal(values);
    const std::string message = message_of([&] { (void)block_lanczos<Host>({.a = a_, .b = b}, {.wanted = 4}); });
    EXPECT_NE(message.find(reason), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace blockvec::solvers

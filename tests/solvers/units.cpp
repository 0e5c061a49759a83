// Matrices whose numbers are so small or so large that squares of residuals leave the range of numbers.
#include <blockvec/solvers/interior.hpp>
#include <blockvec/solvers/lanczos.hpp>
#include <blockvec/solvers/preconditioners.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <type_traits>
#include <vector>

#include "solvers/fitting_units.hpp"
#include "tests/solvers/drivers.hpp"

namespace blockvec::solvers {
namespace {

constexpr std::int64_t size = 300;

/// factor * tridiag(-1, 2, -1).
template <class Scalar>
class InUnits : public ::testing::Test {
 protected:
  using Vector = BlockVector<Scalar, RowMajor, Kokkos::HostSpace>;
  using Real = RealOf<Scalar>;

  static std::vector<double> factors() {
    const int most = std::numeric_limits<Real>::max_exponent;
    const int least = std::numeric_limits<Real>::min_exponent;
    return {1, std::ldexp(1., least + 20), std::ldexp(1., least / 2 - 8),
            std::ldexp(1., most / 4 * 3)};  // A x has room for vectors x of any length that solvers use
  }
  AnyOperator<Vector> a(double factor) const {
    return FunctionOperator<Vector>(context_, rows_, [this, factor](const Vector& x, const Vector& y) {
      // All ranks have all of x: the matrix is small.
      HostMatrix<Scalar> all("all", static_cast<std::size_t>(size), static_cast<std::size_t>(x.width()));
      for (std::int64_t i = 0; i < x.local_rows(); ++i) {
        for (std::int64_t j = 0; j < x.width(); ++j) {
          all(static_cast<std::size_t>(i + rows_.begin()), static_cast<std::size_t>(j)) =
              x.view()(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
        }
      }
      context_.sum(all.data(), size * x.width(), 1);
      for (std::int64_t i = 0; i < y.local_rows(); ++i) {
        for (std::int64_t j = 0; j < y.width(); ++j) {
          const auto row = static_cast<std::size_t>(i + rows_.begin()), column = static_cast<std::size_t>(j);
          Scalar sum = Scalar(2) * all(row, column);
          if (row > 0) sum -= all(row - 1, column);
          if (row + 1 < static_cast<std::size_t>(size)) sum -= all(row + 1, column);
          y.view()(static_cast<std::size_t>(i), column) = Scalar(static_cast<Real>(factor)) * sum;
        }
      }
    });
  }
  static double exact(std::int64_t number) {
    return 2 - 2 * std::cos(std::numbers::pi * static_cast<double>(number) / static_cast<double>(size + 1));
  }
  template <class Result>
  static void expect_right(const Result& result, double factor, std::int64_t first, double tolerance) {
    ASSERT_TRUE(result.converged()) << result.why;
    for (std::size_t i = 0; i < result.eigenvalues.size(); ++i) {
      EXPECT_NEAR(result.eigenvalues[i] / factor, exact(first + static_cast<std::int64_t>(i)), 4 * tolerance);
      EXPECT_GT(result.residual_norms[i], 0);
      EXPECT_LE(result.residual_norms[i] / factor, 4 * tolerance);
    }
    EXPECT_NEAR(result.norm_estimate / factor, 4, 0.5);
    ASSERT_FALSE(result.history.empty());
    for (const double residual : result.history.back().residuals) EXPECT_LE(residual / factor, 4 * tolerance);
  }
  static double tolerance() { return std::is_same_v<Real, float> ? 1e-5 : 1e-8; }

  Context context_ = Context::world(1);
  RowDistribution rows_ = RowDistribution::uniform(size, context_.communicator());
};
using Scalars = ::testing::Types<float, double, Complex<float>, Complex<double>>;
TYPED_TEST_SUITE(InUnits, Scalars);

TYPED_TEST(InUnits, TheUnitIsTheMatrixs) {
  for (const double factor : this->factors()) {
    std::int64_t applications = 0;
    const auto unit = fitting_unit(this->a(factor), 1, applications);
    if (factor == 1) {
      EXPECT_EQ(unit, 1);
      EXPECT_EQ(applications, 1);
    } else {
      EXPECT_LE(std::abs(std::log2(static_cast<double>(unit)) - std::log2(factor)), 24) << factor;
    }
  }
  std::int64_t applications = 0;
  EXPECT_EQ(fitting_unit(this->a(0), 1, applications), 1);
}

TYPED_TEST(InUnits, SolversFindTheSame) {
  for (const double factor : this->factors()) {
    SCOPED_TRACE(factor);
    const auto check = [&](auto driver) {
      using Driver = decltype(driver);
      SCOPED_TRACE(Driver::name);
      auto options = Driver::with(3);
      options.tolerance = this->tolerance();
      options.max_iterations = 5000;
      const auto result = Driver::template solve<typename TestFixture::Vector>({this->a(factor)}, options);
      this->expect_right(result, factor, 1, options.tolerance);
    };
    check(Lobpcg{});
    check(ChebyshevSubspace{});
    check(JacobiDavidson{});
    LanczosOptions options{.wanted = 3, .tolerance = this->tolerance()};
    this->expect_right(block_lanczos<typename TestFixture::Vector>({this->a(factor)}, options), factor, 1,
                       options.tolerance);
  }
}

TYPED_TEST(InUnits, IntervalsAreInUnitsOfA) {
  for (const double factor : this->factors()) {
    SCOPED_TRACE(factor);
    InteriorOptions options{.tolerance = this->tolerance()};
    options.interval = {factor * (this->exact(99) + this->exact(100)) / 2,
                        factor * (this->exact(103) + this->exact(104)) / 2};
    const auto result = interior_lanczos<typename TestFixture::Vector>({this->a(factor)}, options);
    ASSERT_EQ(result.eigenvalues.size(), 4U);
    this->expect_right(result, factor, 100, options.tolerance);
  }
}

TYPED_TEST(InUnits, PreconditionersSeeValuesOfA) {
  using Block = typename TestFixture::Vector;
  for (const double factor : this->factors()) {
    SCOPED_TRACE(factor);
    bool is_seen = false;
    const Preconditioner<Block> scaled = [&](std::span<const double> theta, const Block& r, const Block& w) {
      for (const double value : theta) EXPECT_LE(std::abs(value), 4.1 * factor);
      is_seen = true;
      copy(r, w);
      scale(w, TypeParam(static_cast<RealOf<TypeParam>>(1 / (2 * factor))));
    };
    LobpcgOptions options{.wanted = 2, .tolerance = this->tolerance(), .max_iterations = 5000};
    this->expect_right(lobpcg<Block>({.a = this->a(factor), .precondition = scaled}, options), factor, 1,
                       options.tolerance);
    EXPECT_TRUE(is_seen);
  }
}

}  // namespace
}  // namespace blockvec::solvers

// The look at a spectrum: no eigenvalue is beyond its ends, wherever it hides.
#include "solvers/spectrum_look.hpp"

#include <gtest/gtest.h>

#include <blockvec/solvers/sparse_operator.hpp>
#include <cmath>
#include <random>

#include "tests/solvers/expect_right.hpp"

namespace blockvec::solvers {
namespace {

template <class Real>
class SpectrumLookOf : public testing::Test {
 protected:
  using Vector = BlockVector<Real, RowMajor, Kokkos::HostSpace>;
  using Operator = SparseOperator<Real, Kokkos::HostSpace>;

  static constexpr std::int64_t rows_ = 2000;

  /// One eigenvalue lies beyond those that fill [-1, 1]. M's condition is given, and the random vector weighs that one
  /// least of all.
  SpectrumLook<Real> look(double outlier, double condition, std::uint64_t seed) {
    const Context context = Context::world(1);
    const auto rows = RowDistribution::uniform(rows_, context.communicator());
    std::mt19937_64 engine(seed);
    std::uniform_real_distribution<double> uniform;
    std::vector<Real> a(rows_), m(rows_);
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<Real>(2 * static_cast<double>(i) / static_cast<double>(rows_ - 1) - 1);
      m[i] = static_cast<Real>(std::pow(condition, -uniform(engine)));
    }
    a.back() = static_cast<Real>(outlier);
    m.back() = static_cast<Real>(1 / condition);
    Operator of_a(context, rows, Diagonal(a)), of_m(context, rows, Diagonal(m));
    return look_at_spectrum(AnyOperator<Vector>(of_a), Real(1), Vector(context, rows, 1, "model"), seed,
                            [&](const Vector& x, const Vector& y) { of_m.apply(1, 0, x, 0, y); });
  }
};

using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(SpectrumLookOf, Reals);

TYPED_TEST(SpectrumLookOf, HidesNoEigenvalue) {
  const double worst_condition = 0.1 / epsilon<TypeParam>;
  for (const double condition : {1., 1e2, 1e4, std::sqrt(worst_condition), worst_condition}) {
    for (const double outlier : {1., 1.05, 1.2, 1.5, 3., 30., 1e3, 1e6}) {
      for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE(testing::Message() << "outlier " << outlier << ", condition " << condition << ", seed " << seed);
        const auto look = this->look(outlier, condition, seed);
        const double width = outlier + 1, rounding = 64 * epsilon<TypeParam> * width;
        const double of_values = rounding / SpectrumLook<TypeParam>::least_share() / 64;
        // No polynomial of degree 31 lifts an eigenvalue near the others out of them where it weighs hardly anything.
        EXPECT_GE(look.top, outlier - (condition < worst_condition ? rounding : 0.1 * width));
        EXPECT_LE(look.bottom, -1 + rounding);
        // The bounds are useful, too. The square of a residual has the values' rounding errors.
        EXPECT_LE(look.top, outlier + (0.1 + std::sqrt(of_values / width)) * width);
        EXPECT_GE(look.bottom, -1 - (0.1 + std::sqrt(of_values / width)) * width);
        EXPECT_LE(look.values.back(), outlier + of_values);
        EXPECT_GE(look.values.front(), -1 - of_values);
        EXPECT_EQ(look.values.size(), look.weights.size());
        EXPECT_LE(look.applications, 6 + 5 * 31);
      }
    }
  }
}

// Where the first polynomials show nothing but the eigenvalue that outgrew them, its residual can be zero to rounding.
TYPED_TEST(SpectrumLookOf, SeesWhatAnEigenvalueOvergrew) {
  for (const double outlier : {1.2, 1.5, 2., 3., 10.}) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      SCOPED_TRACE(testing::Message() << "outlier " << outlier << ", seed " << seed);
      const auto look = this->look(outlier, 1, seed);
      EXPECT_LT(look.values.front(), -0.9);
      EXPECT_LE(look.bottom, -1 + 64 * epsilon<TypeParam> * (outlier + 1));
      EXPECT_GE(std::ssize(look.values), 8);
    }
  }
}

}  // namespace
}  // namespace blockvec::solvers

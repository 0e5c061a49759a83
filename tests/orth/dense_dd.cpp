#include <blockvec/operations.hpp>

#include "orth/dense/internal.hpp"
#include "tests/orth/support.hpp"

namespace blockvec::test {
namespace {

namespace dense = orth::dense;

template <class C>
class DenseDd : public ::testing::Test {
 public:
  using Scalar_ = typename C::Scalar;
  using Small = typename C::Small;
  using Pair = DoubleDoubleMatrix<Scalar_>;
  using Columns = HostColumns<Wide<Scalar_>>;
  static constexpr double eps = static_cast<double>(epsilon<Scalar_>) * complex_factor<Scalar_>;

  Pair pair(std::int64_t rows, std::int64_t columns) const {
    return {Small(context, rows, columns), Small(context, rows, columns)};
  }
  /// X^H X in double-double of a block in the case's precision.
  Pair gram_of(const Columns& x) const {
    const typename C::Vector block(context, RowDistribution::uniform(x.rows, context.communicator()), x.columns, "X");
    distribute<Scalar_>(x, block);
    const Pair g = pair(x.columns, x.columns);
    inner_product_dd(block, block, g);
    return g;
  }
  /// X with its columns in another order.
  static Columns in_order(const Columns& x, const std::vector<std::int64_t>& order) {
    Columns y(x.rows, x.columns);
    for (std::size_t k = 0; k < order.size(); ++k) {
      for (std::int64_t i = 0; i < x.rows; ++i) y(i, static_cast<std::int64_t>(k)) = x(i, order[k]);
    }
    return y;
  }
  /// X R^-1 in wide precision.
  static Columns divided(Columns x, const Columns& r) {
    for (std::int64_t j = 0; j < x.columns; ++j) {
      for (std::int64_t l = 0; l < j; ++l) {
        for (std::int64_t i = 0; i < x.rows; ++i) x(i, j) -= x(i, l) * r(l, j);
      }
      for (std::int64_t i = 0; i < x.rows; ++i) x(i, j) /= r(j, j);
    }
    return x;
  }

  Context context = Context::self(1);
  Generator<Scalar_> generator{4};
};
using Scalars = ::testing::Types<testing::Case<float, RowMajor, Kokkos::HostSpace>,
                                 testing::Case<double, RowMajor, Kokkos::HostSpace>,
                                 testing::Case<Complex<float>, RowMajor, Kokkos::HostSpace>,
                                 testing::Case<Complex<double>, RowMajor, Kokkos::HostSpace>>;
TYPED_TEST_SUITE(DenseDd, Scalars, testing::CaseName);

TYPED_TEST(DenseDd, CholeskyReachesConditionsWhoseSquaresAreBeyondWorkingPrecision) {
  using Scalar = typename TypeParam::Scalar;
  for (const double power : {0.0, 0.4, 0.7, 0.95}) {
    const double kappa = std::pow(static_cast<double>(epsilon<Scalar>), -power);
    const auto x = rounded<Scalar>(this->generator.with_condition(40, 7, kappa));
    const auto g = this->gram_of(x);
    const typename TypeParam::Small r(this->context, 7, 7);
    const auto found = dense::cholesky_dd<Scalar>(g, 0, r);
    ASSERT_TRUE(found.finite);
    ASSERT_EQ(found.rank, 7);
    EXPECT_LE(found.condition_estimate, 7 * kappa);
    // R is rounded; that is all that is wrong with it.
    EXPECT_LE(loss_of_orthogonality(this->divided(x, collect(r))), 4 * this->eps * kappa * 7) << "eps^-" << power;
    std::vector<std::int64_t> order(7);
    EXPECT_EQ((dense::cholesky_dd<Scalar>(g, 0, r, nullptr, order.data()).rank), 7);
    EXPECT_LE(loss_of_orthogonality(this->divided(this->in_order(x, order), collect(r))), 4 * this->eps * kappa * 7);
  }
}

TYPED_TEST(DenseDd, PivotsShowTheRank) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  auto x = this->generator.random(50, 6);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    x(i, 1) = Wide<Scalar>(0);
    x(i, 3) = x(i, 0) * 0.5L - x(i, 2) * 0.25L;
    x(i, 4) = x(i, 2) * 1024.0L;
  }
  x = rounded<Scalar>(x);
  const auto g = this->gram_of(x);
  const typename TypeParam::Small r(this->context, 6, 6);
  const typename TypeParam::RealSmall squares(this->context, 1, 6);
  dense::diagonal(g.high, squares);
  const Real tolerance = orth::rank_tolerance<Scalar>(0, 6);
  EXPECT_EQ(dense::cholesky_dd(g, tolerance * tolerance, r, &squares).rank, 1) << "in order: up to the column of zeros";
  std::vector<std::int64_t> order(6);
  const auto found = dense::cholesky_dd(g, tolerance * tolerance, r, &squares, order.data());
  ASSERT_EQ(found.rank, 3);
  // X P = Q R with three orthonormal columns, all of R's columns included.
  const auto permuted = this->in_order(x, order), factor = collect(r);
  const auto q = this->divided(columns_of(permuted, 0, 3), factor);
  EXPECT_LE(loss_of_orthogonality(q), 64 * this->eps);
  HostColumns<Wide<Scalar>> top(3, 6);
  for (std::int64_t j = 0; j < 6; ++j) {
    for (std::int64_t i = 0; i < 3; ++i) top(i, j) = factor(i, j);
    for (std::int64_t i = 3; i < 6; ++i) EXPECT_EQ(factor(i, j), Wide<Scalar>(0));
  }
  EXPECT_LE(relative_residual(permuted, {50, 0}, {0, 6}, q, top), 6 * static_cast<double>(tolerance));
}

TYPED_TEST(DenseDd, NotFiniteIsSaid) {
  using Scalar = typename TypeParam::Scalar;
  const auto g = this->pair(2, 2);
  dense::set_identity(g.high);
  testing::put(g.high, 0, 1, Scalar(std::numeric_limits<RealOf<Scalar>>::infinity()));
  const typename TypeParam::Small r(this->context, 2, 2);
  EXPECT_FALSE((dense::cholesky_dd<Scalar>(g, 0, r).finite));
}

TYPED_TEST(DenseDd, ProductsKeepBothHalves) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  const auto small = static_cast<long double>(epsilon<Scalar>) / 8;
  const auto a = rounded<Scalar>(this->generator.random(5, 4)), b = rounded<Scalar>(this->generator.random(5, 3));
  const auto fill_pair = [&](const auto& values) {  // values and, far below, values again
    const auto p = this->pair(values.rows, values.columns);
    const HostMatrix<Scalar> high("high", static_cast<std::size_t>(values.rows),
                                  static_cast<std::size_t>(values.columns));
    const HostMatrix<Scalar> low("low", high.extent(0), high.extent(1));
    for (std::int64_t j = 0; j < values.columns; ++j) {
      for (std::int64_t i = 0; i < values.rows; ++i) {
        high(i, j) = narrow<Scalar>(values(i, j));
        low(i, j) = narrow<Scalar>(values(i, j) * small);
      }
    }
    p.high.from_host(high);
    p.low.from_host(low);
    return p;
  };
  const auto pa = fill_pair(a), pb = fill_pair(b), pc = fill_pair(gram(a, b));
  dense::multiply_dd<Scalar>(-1, pa, true, pb, 1, pc);
  // C was A^H B (1 + small), rounded in both halves; of that A^H B (1 + small)^2 is taken: -small A^H B remains.
  const auto high = collect(pc.high), low = collect(pc.low), exact = gram(a, b);
  const double u = static_cast<double>(std::is_same_v<Real, double> ? std::numeric_limits<long double>::epsilon()
                                                                    : epsilon<Scalar> * epsilon<Scalar>);
  for (std::int64_t j = 0; j < 3; ++j) {
    for (std::int64_t i = 0; i < 4; ++i) {
      const auto rest = narrow<Scalar>(exact(i, j));  // what rounding the first half of C dropped
      const auto expected = widen<Scalar>(rest) * (1 + small) - exact(i, j) * (1 + small) * (1 + small);
      EXPECT_LE(static_cast<double>(std::abs(high(i, j) + low(i, j) - expected)), 64 * complex_factor<Scalar> * u)
          << i << ", " << j;
    }
  }
  const auto product = this->pair(5, 3), factor = fill_pair(gram(a, b));
  dense::fill(product.high, Scalar(std::numeric_limits<Real>::quiet_NaN()));
  dense::multiply_dd<Scalar>(1, pa, false, factor, 0, product);
  for (const auto& entry : collect(product.high).entries)
    EXPECT_TRUE(std::isfinite(static_cast<double>(std::norm(entry))));
  EXPECT_THROW((dense::multiply_dd<Scalar>(1, pa, false, pb, 0, product)), ShapeError);
}

}  // namespace
}  // namespace blockvec::test

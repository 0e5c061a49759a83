#include <limits>

#include "orth/dense/internal.hpp"
#include "tests/orth/dense_case.hpp"

// What only the methods do with small matrices, which lie on the host.
namespace blockvec::test {
namespace {

template <class C>
class DenseInternal : public DenseTest<C> {};
TYPED_TEST_SUITE(DenseInternal, DenseScalars<Kokkos::HostSpace>, testing::CaseName);

TYPED_TEST(DenseInternal, UpperTriangularProductIgnoresTheOtherTriangle) {
  for (const std::int64_t n : sizes) {
    const auto u = this->upper(n), b = this->random(n, 4);
    auto dirty = u;
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = j + 1; i < n; ++i) dirty(i, j) = std::numeric_limits<long double>::quiet_NaN();
    }
    const auto result = this->small(b);
    dense::multiply_upper(this->small(dirty), result);
    EXPECT_LE(this->difference(collect(result), product(u, b)),
              4 * static_cast<double>(n + 1) * this->eps * norm(u) * norm(b));
  }
}

TYPED_TEST(DenseInternal, AmplificationBoundsTheSpectralNorm) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  EXPECT_EQ(dense::amplification(this->reals({}), this->empty(0, 0)), Real(1));
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{3}, std::int64_t{9}}) {
    // Orthogonal columns: between 1 and 2.
    const typename TypeParam::RealSmall ones(this->context, 1, n);
    dense::fill(ones, Real(1));
    const auto a = dense::amplification(ones, this->small(this->identity(n)));
    EXPECT_GE(a, Real(1));
    EXPECT_LT(a, Real(2));
    for (const double kappa : {3.0, 50.0}) {
      auto x = this->generator.with_condition(20, n, kappa);
      for (std::int64_t j = 0; j < n; ++j) {  // unit columns
        long double square = 0;
        for (std::int64_t i = 0; i < 20; ++i) square += std::norm(x(i, j));
        for (std::int64_t i = 0; i < 20; ++i) x(i, j) /= std::sqrt(square);
      }
      const auto g = this->small(gram(x, x));
      const typename TypeParam::RealSmall values(this->context, 1, n);
      const auto z = this->empty(n, n), r = this->empty(n, n);
      dense::eigendecomposition(g, values, z);
      EXPECT_EQ(dense::cholesky(g, Real(0), r).rank, n);
      dense::triangular_inverse(r, r);
      const double exact = 1 / static_cast<double>(dense::entry(values, 0, 0));
      const double bound = static_cast<double>(dense::amplification(ones, r));
      EXPECT_GE(bound, exact * (1 - 1e3 * this->eps * exact)) << n;
      EXPECT_LE(bound, static_cast<double>(n) * exact * (1 + 1e3 * this->eps * exact) + 1) << n;
    }
  }
}

TYPED_TEST(DenseInternal, SvqbFactorsAreInverseToOneAnother) {
  using Scalar = typename TypeParam::Scalar;
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, std::int64_t{6}}) {
    const auto x = this->generator.with_condition(30, n, 5);
    const auto c = this->small(gram(x, x)), b = this->empty(n, n), r = this->empty(n, n);
    const typename TypeParam::RealSmall reference(this->context, 1, n);
    dense::diagonal(c, reference);
    const auto result = dense::svqb(c, reference, epsilon<Scalar>, b, r);
    EXPECT_EQ(result.rank, n);
    EXPECT_LE(this->difference(product(collect(b), collect(r)), this->identity(n)),
              64 * static_cast<double>(n) * this->eps);
    EXPECT_LE(loss_of_orthogonality(product(x, collect(b))), 25 * 16 * static_cast<double>(n) * this->eps);
  }
  // A block of zeros: everything finite, rank 0.
  const auto zero = this->empty(3, 3), b = this->empty(3, 3), r = this->empty(3, 3);
  EXPECT_EQ(dense::svqb(zero, this->reals({0, 0, 0}), epsilon<Scalar>, b, r).rank, 0);
  EXPECT_EQ(dense::first_non_finite_column(b), -1);
  EXPECT_EQ(dense::first_non_finite_column(r), -1);
}

TYPED_TEST(DenseInternal, NumbersThatDecisionsAreMadeOf) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  typename TestFixture::Columns a(2, 3);
  a(0, 0) = Wide<Scalar>(3);
  a(1, 0) = Wide<Scalar>(4);
  a(1, 1) = Wide<Scalar>(-2);
  const auto squares = this->reals({7, 7, 7});
  dense::column_squares(this->small(a), squares);
  const auto expect_row = [](const typename TypeParam::RealSmall& row, std::initializer_list<double> values) {
    std::int64_t j = 0;
    for (const double value : values) EXPECT_EQ(dense::entry(row, 0, j++), static_cast<Real>(value));
  };
  expect_row(squares, {25, 4, 0});
  EXPECT_TRUE(dense::within(squares, Real(0), Real(25)));
  EXPECT_FALSE(dense::within(squares, Real(1), Real(25)));
  EXPECT_FALSE(dense::within(squares, Real(0), Real(24)));
  EXPECT_FALSE(dense::within(this->reals({std::numeric_limits<double>::quiet_NaN()}), Real(0), Real(1)));

  const auto parts = this->reals({5, 3, 9});  // the third column has no length, and does not count
  EXPECT_EQ(dense::smallest_share(squares, parts), Real(0.25));
  EXPECT_EQ(dense::sum_of_shares(this->reals({8, 4, 0}), this->reals({2, 3, 9})), Real(1));
  EXPECT_EQ(dense::smallest_share(this->reals({}), this->reals({})), Real(1));

  const auto r = this->small(this->identity(3));
  testing::put(r, 0, 0, Scalar(5));
  testing::put(r, 2, 2, Scalar(0));
  const auto quotients = this->reals({7, 7, 7});
  dense::divide_by_rows(squares, r, quotients);
  expect_row(quotients, {1, 4, 0});
  testing::put(r, 0, 1, Scalar(4));
  testing::put(r, 1, 2, Scalar(8));  // of a column without length
  dense::divide_by_rows(squares, r, quotients);
  expect_row(quotients, {0.25, 4, 0});
  dense::diagonal(r, quotients);
  expect_row(quotients, {5, 1, 0});
  const auto factors = this->reals({2, 4, 0.5});
  dense::scale_columns(r, factors, r);
  EXPECT_EQ(dense::real_entry(r, 0, 0), Real(10));
  EXPECT_EQ(dense::real_entry(r, 1, 1), Real(4));
  dense::reciprocals(factors);
  expect_row(factors, {0.5, 0.25, 2});
}

TYPED_TEST(DenseInternal, ColumnsThatAreNotFiniteAreFound) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  for (const Real bad : {std::numeric_limits<Real>::quiet_NaN(), std::numeric_limits<Real>::infinity()}) {
    const auto a = this->small(this->identity(3));
    EXPECT_EQ(dense::first_non_finite_column(a), -1);
    testing::put(a, 1, 2, Scalar(bad));
    EXPECT_EQ(dense::first_non_finite_column(a), 2);
    testing::put(a, 0, 0, Scalar(bad));
    EXPECT_EQ(dense::first_non_finite_column(a), 0);
  }
  try {
    dense::entry(this->empty(2, 3), 2, 0);
    FAIL() << "expected a ShapeError";
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "dense::entry: (2, 0) of a 2 x 3 matrix");
  }
}

TYPED_TEST(DenseInternal, ScalesArePowersOfTwo) {
  using Real = RealOf<typename TypeParam::Scalar>;
  using Safe = dense::SafeNorms<Real>;
  const Real lengths[] = {Real(0),
                          Real(3),
                          std::ldexp(Real(1.5), std::numeric_limits<Real>::max_exponent - 1),
                          std::numeric_limits<Real>::denorm_min(),
                          std::ldexp(Real(1.25), Safe::limit + 1),
                          std::ldexp(Real(1.25), -Safe::limit - 1)};
  const typename TypeParam::RealSmall norms(this->context, 3, 6), factors(this->context, 1, 6);
  for (std::int64_t j = 0; j < 6; ++j) {
    testing::put(norms, 0, j, std::ldexp(lengths[j], Safe::down));
    testing::put(norms, 1, j, lengths[j]);
    testing::put(norms, 2, j, std::ldexp(lengths[j], Safe::up));
  }
  dense::power_of_two_scales(norms, factors);
  for (std::int64_t j = 0; j < 6; ++j) {
    const Real factor = dense::entry(factors, 0, j), scaled = factor * lengths[j];
    EXPECT_EQ(std::ldexp(Real(1), std::ilogb(factor)), factor) << "a power of two";
    EXPECT_TRUE(std::isnormal(1 / factor));
    if (j != 0 && j != 3) {
      EXPECT_GE(scaled, Real(0.5)) << j;
      EXPECT_LE(scaled, Real(16)) << j;  // the largest numbers only as near as the inverse of a normal number allows
    }
    EXPECT_GE(scaled * scaled, j == 0 ? Real(0) : std::numeric_limits<Real>::min()) << j;
  }
}

}  // namespace
}  // namespace blockvec::test

#include <gtest/gtest.h>

#include <blockvec/orth/dense.hpp>
#include <limits>
#include <utility>

#include "tests/orth/matrices.hpp"

namespace blockvec::test {
namespace {

namespace dense = orth::dense;

template <class C>
class Dense : public ::testing::Test {
 public:
  using Scalar_ = typename C::Scalar;
  using Real_ = RealOf<Scalar_>;
  using Small = typename C::Small;
  using RealSmall = typename C::RealSmall;
  using Columns = HostColumns<Wide<Scalar_>>;
  static constexpr double eps =
      static_cast<double>(epsilon<Scalar_>) * (ScalarTraits<Scalar_>::is_complex ? 2.8284271247461903 : 1.0);

  /// A block in the middle of a larger matrix, so that leading dimensions matter.
  Small small(const Columns& a) const {
    const Small parent(context, a.rows + 3, a.columns + 2);
    dense::fill(parent, Scalar_(7));
    const auto block = parent.block(2, 2 + a.rows, 1, 1 + a.columns);
    const HostMatrix<Scalar_> entries("entries", static_cast<std::size_t>(a.rows), static_cast<std::size_t>(a.columns));
    for (std::int64_t j = 0; j < a.columns; ++j) {
      for (std::int64_t i = 0; i < a.rows; ++i) entries(i, j) = narrow<Scalar_>(a(i, j));
    }
    block.from_host(entries);
    return block;
  }
  Small empty(std::int64_t rows, std::int64_t columns) const { return small(Columns(rows, columns)); }
  RealSmall reals(std::initializer_list<double> values) const {
    const RealSmall row(context, 1, static_cast<std::int64_t>(values.size()));
    std::int64_t j = 0;
    for (const double value : values) testing::put(row, 0, j++, static_cast<Real_>(value));
    return row;
  }
  static double difference(const Columns& a, const Columns& b) {
    Columns c = a;
    for (std::size_t i = 0; i < c.entries.size(); ++i) c.entries[i] -= b.entries[i];
    return norm(c);
  }
  static Columns identity(std::int64_t n) {
    Columns a(n, n);
    for (std::int64_t j = 0; j < n; ++j) a(j, j) = Wide<Scalar_>(1);
    return a;
  }
  Columns random(std::int64_t rows, std::int64_t columns) { return rounded<Scalar_>(generator.random(rows, columns)); }
  /// Well-conditioned upper triangular.
  Columns upper(std::int64_t n) {
    Columns a = random(n, n);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i)
        a(i, j) *= Wide<Scalar_>(i > j ? 0.0L : i == j ? 1.0L : 0.25L / static_cast<long double>(n));
      a(j, j) += Wide<Scalar_>(3);
    }
    return rounded<Scalar_>(a);
  }

  Context context = Context::self(1);
  Generator<Scalar_> generator{99};
};
// The layout is that of block vectors: small matrices have one.
template <class Space>
using Scalars =
    ::testing::Types<testing::Case<float, RowMajor, Space>, testing::Case<double, RowMajor, Space>,
                     testing::Case<Complex<float>, RowMajor, Space>, testing::Case<Complex<double>, RowMajor, Space>>;
TYPED_TEST_SUITE(Dense, testing::InEverySpace<Scalars>, testing::CaseName);

constexpr std::int64_t sizes[] = {0, 1, 2, 5, 16, 40};

TYPED_TEST(Dense, ProductsOfEveryForm) {
  using Scalar = typename TypeParam::Scalar;
  for (const std::int64_t m : sizes) {
    for (const std::int64_t n : {std::int64_t{1}, std::int64_t{7}, std::int64_t{40}}) {
      for (const std::int64_t inner : {std::int64_t{0}, std::int64_t{3}, std::int64_t{40}}) {
        const auto a = this->random(m, inner), b = this->random(inner, n), c = this->random(m, n);
        for (const double beta : {0.0, 1.0, -0.5}) {
          auto expected = product(a, b);
          for (std::size_t i = 0; i < expected.entries.size(); ++i) {
            expected.entries[i] = 2.0L * expected.entries[i] + static_cast<long double>(beta) * c.entries[i];
          }
          const double bound = 4 * static_cast<double>(inner + 3) * this->eps * (norm(a) * norm(b) + norm(c)) + 0.0;
          for (const bool conjugate_a : {false, true}) {
            for (const bool conjugate_b : {false, true}) {
              const auto result = this->small(c);
              dense::multiply(Scalar(2), this->small(conjugate_a ? this->generator.adjoint(a) : a), conjugate_a,
                              this->small(conjugate_b ? this->generator.adjoint(b) : b), conjugate_b,
                              Scalar(static_cast<RealOf<Scalar>>(beta)), result);
              EXPECT_LE(this->difference(collect(result), expected), bound) << m << " " << n << " " << inner;
            }
          }
        }
      }
    }
  }
}

TYPED_TEST(Dense, BetaZeroDoesNotReadTheOutput) {
  using Scalar = typename TypeParam::Scalar;
  const auto c = this->empty(3, 3);
  dense::fill(c, Scalar(std::numeric_limits<RealOf<Scalar>>::quiet_NaN()));
  const auto a = this->small(this->identity(3));
  dense::multiply(Scalar(1), a, false, a, false, Scalar(0), c);
  EXPECT_EQ(this->difference(collect(c), this->identity(3)), 0.0);
  dense::fill(c, Scalar(std::numeric_limits<RealOf<Scalar>>::quiet_NaN()));
  dense::axpby(Scalar(2), a, Scalar(0), c);
  EXPECT_EQ(dense::max_norm(c), RealOf<Scalar>(2));
}

TYPED_TEST(Dense, UpperTriangularProductIgnoresTheOtherTriangle) {
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

TYPED_TEST(Dense, CholeskyFactorisesAndBlocksStayApart) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  for (const std::int64_t n : sizes) {
    const auto a = this->random(3 * n + 2, n);
    auto g = rounded<Scalar>(gram(a, a));
    const auto expected = g;
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = j + 1; i < n; ++i) g(i, j) = std::numeric_limits<long double>::quiet_NaN();  // never read
    }
    const auto r = this->small(g);
    const auto result = dense::cholesky(r, Real(0), r);
    EXPECT_TRUE(result.finite);
    EXPECT_EQ(result.rank, n);
    const auto factor = collect(r);
    EXPECT_LE(this->difference(gram(factor, factor), expected),
              4 * static_cast<double>(n + 1) * this->eps * norm(expected));
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = j + 1; i < n; ++i) EXPECT_EQ(factor(i, j), Wide<Scalar>(0));
    }
  }
}

TYPED_TEST(Dense, CholeskySeesRankAndNotScale) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  // Columns e1, e2, e1 + e2, e3, of lengths from huge to tiny: rank 2 before the third, whatever the lengths.
  const double big = std::is_same_v<Real, float> ? 1e12 : 1e100;
  const double lengths[] = {big, 1 / big, 1.0, 1 / big};
  typename TestFixture::Columns a(5, 4);
  a(0, 0) = a(1, 1) = a(0, 2) = a(1, 2) = a(2, 3) = Wide<Scalar>(1);
  for (std::int64_t j = 0; j < 4; ++j) {
    for (std::int64_t i = 0; i < 5; ++i) a(i, j) *= static_cast<long double>(lengths[j]);
  }
  const auto g = this->small(gram(a, a));
  const auto r = this->empty(4, 4);
  EXPECT_EQ(dense::cholesky(g, 4 * epsilon<Scalar>, r).rank, 2);
  const auto pair = g.block(0, 2, 0, 2);
  const auto good = dense::cholesky(pair, 4 * epsilon<Scalar>, r.block(0, 2, 0, 2));
  EXPECT_EQ(good.rank, 2);
  EXPECT_EQ(good.condition_estimate, Real(1));
  // Against the lengths that columns had before a projection, a pivot may be noise although the matrix looks fine.
  const auto reference = this->reals({big * big * 1e20, 1});
  EXPECT_EQ(dense::cholesky(pair, epsilon<Scalar>, r.block(0, 2, 0, 2), &reference).rank, 0);
}

TYPED_TEST(Dense, CholeskyPassesOverColumnsOfZerosIfTold) {
  using Scalar = typename TypeParam::Scalar;
  typename TestFixture::Columns a(4, 3);
  a(0, 0) = a(1, 2) = Wide<Scalar>(2);
  const auto g = this->small(gram(a, a));
  const auto r = this->empty(3, 3);
  const auto reference = this->reals({4, 0, 4});
  EXPECT_EQ(dense::cholesky(g, RealOf<Scalar>(0), r, &reference, false).rank, 1);
  EXPECT_EQ(dense::cholesky(g, RealOf<Scalar>(0), r, &reference, true).rank, 3);
  EXPECT_EQ(dense::entry(r, 1, 1), Scalar(1));
  EXPECT_EQ(dense::entry(r, 2, 2), Scalar(2));
}

TYPED_TEST(Dense, CholeskyReportsWhatIsNotFinite) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  for (const Real bad : {std::numeric_limits<Real>::quiet_NaN(), std::numeric_limits<Real>::infinity()}) {
    const auto g = this->small(this->identity(3));
    testing::put(g, 1, 2, Scalar(bad));
    EXPECT_FALSE(dense::cholesky(g, Real(0), g).finite);
    EXPECT_EQ(dense::first_non_finite_column(g), 2);
    EXPECT_EQ(dense::entry(g, 0, 0), Scalar(1)) << "nothing computed";
  }
}

TYPED_TEST(Dense, TriangularInverse) {
  using Scalar = typename TypeParam::Scalar;
  for (const std::int64_t n : sizes) {
    const auto r = this->upper(n);
    const auto given = this->small(r), apart = this->empty(n, n);
    dense::triangular_inverse(given, apart);
    dense::triangular_inverse(given, given);
    EXPECT_EQ(this->difference(collect(given), collect(apart)), 0.0) << "in place as apart";
    EXPECT_LE(this->difference(product(collect(given), r), this->identity(n)),
              16 * static_cast<double>(n + 1) * this->eps);
  }
  const auto singular = this->small(this->identity(3));
  testing::put(singular, 1, 1, Scalar(0));
  try {
    dense::triangular_inverse(singular, singular);
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "dense::triangular_inverse: the diagonal entry of column 1 of R is zero");
  }
}

TYPED_TEST(Dense, AmplificationBoundsTheSpectralNorm) {
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
      dense::cholesky(g, Real(0), r);
      dense::triangular_inverse(r, r);
      const double exact = 1 / static_cast<double>(dense::entry(values, 0, 0));
      const double bound = static_cast<double>(dense::amplification(ones, r));
      EXPECT_GE(bound, exact * (1 - 1e3 * this->eps * exact)) << n;
      EXPECT_LE(bound, static_cast<double>(n) * exact * (1 + 1e3 * this->eps * exact) + 1) << n;
    }
  }
}

TYPED_TEST(Dense, EigendecompositionOfHermitianMatrices) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  for (const std::int64_t n : sizes) {
    auto a = this->random(n, n);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < j; ++i) a(j, i) = conjugate(a(i, j));
      a(j, j) = Wide<Scalar>(std::real(a(j, j)));
    }
    const auto given = this->small(a), z = this->empty(n, n);
    const typename TypeParam::RealSmall values(this->context, 1, n);
    dense::eigendecomposition(given, values, z);
    auto expected = collect(z);
    const auto vectors = expected;
    for (std::int64_t j = 0; j < n; ++j) {
      if (j > 0) {
        EXPECT_LE(dense::entry(values, 0, j - 1), dense::entry(values, 0, j));
      }
      for (std::int64_t i = 0; i < n; ++i) expected(i, j) *= static_cast<long double>(dense::entry(values, 0, j));
    }
    const double bound = 8 * static_cast<double>(n + 1) * this->eps;
    EXPECT_LE(this->difference(product(a, vectors), expected), bound * norm(a));
    EXPECT_LE(loss_of_orthogonality(vectors), bound);
    dense::eigendecomposition(given, values, given);
    EXPECT_EQ(this->difference(collect(given), vectors), 0.0) << "in place as apart";
  }
  const auto bad = this->small(this->identity(3));
  testing::put(bad, 0, 1, Scalar(std::numeric_limits<Real>::infinity()));
  const typename TypeParam::RealSmall values(this->context, 1, 3);
  try {
    dense::eigendecomposition(bad, values, bad);
    FAIL() << "expected a NotFiniteError";
  } catch (const NotFiniteError& error) {
    EXPECT_STREQ(error.what(), "dense::eigendecomposition: A (3 x 3) holds NaN or Inf in column 1");
  }
}

TYPED_TEST(Dense, SvqbFactorsAreInverseToOneAnother) {
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

TYPED_TEST(Dense, NormsAndScales) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  const Real big = std::sqrt(std::numeric_limits<Real>::max()) * 4;  // its square would overflow
  const auto a = this->empty(2, 2);
  dense::fill(a, Scalar(big));
  EXPECT_EQ(dense::max_norm(a), big);
  EXPECT_NEAR(static_cast<double>(dense::frobenius_norm(a) / big), 2.0, 8 * this->eps);
  EXPECT_EQ(dense::frobenius_norm(this->empty(0, 4)), Real(0));
  testing::put(a, 1, 0, Scalar(std::numeric_limits<Real>::quiet_NaN()));
  EXPECT_TRUE(std::isnan(dense::max_norm(a)));
  EXPECT_TRUE(std::isnan(dense::frobenius_norm(a)));
  EXPECT_EQ(dense::first_non_finite_column(a), 0);

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

TYPED_TEST(Dense, NumbersThatDecisionsAreMadeOf) {
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

TYPED_TEST(Dense, ShapesAreChecked) {
  using Scalar = typename TypeParam::Scalar;
  const auto a = this->empty(2, 3), square = this->empty(3, 3);
  const auto message = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const ShapeError& error) {
      return error.what();
    }
    return "no error";
  };
  const typename TypeParam::RealSmall row(this->context, 1, 2);
  EXPECT_EQ(message([&] { dense::copy(a, square); }), "dense::copy: B is 3 x 3, expected 2 x 3");
  EXPECT_EQ(message([&] { dense::multiply(Scalar(1), a, false, a, false, Scalar(0), a); }),
            "dense::multiply: A is 2 x 3, B is 2 x 3, expected inner extents that agree");
  EXPECT_EQ(message([&] { dense::multiply(Scalar(1), a, false, square, false, Scalar(0), square); }),
            "dense::multiply: C is 3 x 3, expected 2 x 3");
  EXPECT_EQ(message([&] { dense::cholesky(a, RealOf<Scalar>(0), a); }),
            "dense::cholesky: G is 2 x 3, expected a square matrix");
  EXPECT_EQ(message([&] { dense::eigendecomposition(square, row, square); }),
            "dense::eigendecomposition: values is 1 x 2, expected 1 x 3");
  EXPECT_EQ(message([&] { dense::entry(a, 2, 0); }), "dense::entry: (2, 0) of a 2 x 3 matrix");
}

}  // namespace
}  // namespace blockvec::test

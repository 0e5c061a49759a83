#include <algorithm>
#include <blockvec/orth/dense.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "tests/orth/dense_case.hpp"

namespace blockvec::test {
namespace {

template <class C>
class Dense : public DenseTest<C> {};
TYPED_TEST_SUITE(Dense, testing::InEverySpace<DenseScalars>, testing::CaseName);

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
  EXPECT_EQ(this->read(r, 1, 1), Scalar(1));
  EXPECT_EQ(this->read(r, 2, 2), Scalar(2));
}

TYPED_TEST(Dense, CholeskyReportsWhatIsNotFinite) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  for (const Real bad : {std::numeric_limits<Real>::quiet_NaN(), std::numeric_limits<Real>::infinity()}) {
    const auto g = this->small(this->identity(3));
    testing::put(g, 1, 2, Scalar(bad));
    EXPECT_FALSE(dense::cholesky(g, Real(0), g).finite);
    EXPECT_EQ(this->read(g, 0, 0), Scalar(1)) << "nothing computed";
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
        EXPECT_LE(this->read(values, 0, j - 1), this->read(values, 0, j));
      }
      for (std::int64_t i = 0; i < n; ++i) expected(i, j) *= static_cast<long double>(this->read(values, 0, j));
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

constexpr std::int64_t wider_sizes[] = {0, 1, 5, 33, 70};

TYPED_TEST(Dense, TriangularSolvesOnBothSides) {
  using Scalar = typename TypeParam::Scalar;
  using dense::Side;
  using kernels::Triangle;
  for (const std::int64_t n : wider_sizes) {
    for (const Triangle triangle : {Triangle::upper, Triangle::lower}) {
      const auto t = triangle == Triangle::upper ? this->upper(n) : this->generator.adjoint(this->upper(n));
      auto dirty = t;  // the other triangle is not read
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < n; ++i) {
          if (triangle == Triangle::upper ? i > j : i < j) dirty(i, j) = std::numeric_limits<long double>::quiet_NaN();
        }
      }
      const auto given = this->small(dirty);
      for (const bool conjugate : {false, true}) {
        const auto factor = conjugate ? this->generator.adjoint(t) : t;
        for (const Side side : {Side::left, Side::right}) {
          const bool left = side == Side::left;
          const auto b = left ? this->random(n, 4) : this->random(4, n);
          const auto solution = this->small(b);
          dense::triangular_solve(side, triangle, given, conjugate, solution);
          const auto x = collect(solution);
          EXPECT_LE(this->difference(left ? product(factor, x) : product(x, factor), b),
                    4 * static_cast<double>(n + 1) * this->eps * norm(t) * norm(x))
              << n << (left ? ", left" : ", right") << (conjugate ? ", conjugated" : "");
        }
      }
    }
  }
  const auto singular = this->small(this->identity(3)), b = this->empty(3, 2);
  testing::put(singular, 1, 1, Scalar(0));
  try {
    dense::triangular_solve(Side::left, Triangle::lower, singular, false, b);
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "dense::triangular_solve: the diagonal entry of column 1 of T is zero");
  }
}

TYPED_TEST(Dense, GeneralizedEigendecomposition) {
  using Scalar = typename TypeParam::Scalar;
  for (const std::int64_t n : wider_sizes) {
    auto a = this->random(n, n);
    const auto x = this->random(3 * n + 2, n);
    auto b = rounded<Scalar>(gram(x, x));
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < j; ++i) a(j, i) = conjugate(a(i, j));
      a(j, j) = Wide<Scalar>(std::real(a(j, j)));
    }
    auto dirty_a = a, dirty_b = b;  // lower triangles are not read
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = j + 1; i < n; ++i)
        dirty_a(i, j) = dirty_b(i, j) = std::numeric_limits<long double>::quiet_NaN();
    }
    const auto given_a = this->small(dirty_a), given_b = this->small(dirty_b), vectors = this->empty(n, n);
    const typename TypeParam::RealSmall values(this->context, 1, n);
    dense::eigendecomposition(given_b, values, vectors);
    const double kappa = n == 0 ? 1.0 : static_cast<double>(this->read(values, 0, n - 1) / this->read(values, 0, 0));
    const auto estimate = dense::generalized_eigendecomposition(given_a, given_b, values, vectors);
    EXPECT_GE(estimate, RealOf<Scalar>(1));
    EXPECT_LE(static_cast<double>(estimate), static_cast<double>(n + 1) * kappa);
    const auto found = collect(vectors);
    auto scaled = product(b, found);
    for (std::int64_t j = 0; j < n; ++j) {
      if (j > 0) {
        EXPECT_LE(this->read(values, 0, j - 1), this->read(values, 0, j));
      }
      for (std::int64_t i = 0; i < n; ++i) scaled(i, j) *= static_cast<long double>(this->read(values, 0, j));
    }
    const double bound = 8 * static_cast<double>(n + 1) * this->eps * kappa;
    EXPECT_LE(this->difference(product(a, found), scaled), bound * norm(a) * norm(found)) << n;
    EXPECT_LE(this->difference(gram(found, product(b, found)), this->identity(n)), bound) << n;
    dense::generalized_eigendecomposition(given_a, given_b, values, given_b);
    EXPECT_EQ(this->difference(collect(given_b), found), 0.0) << "in place as apart";
  }
}

TYPED_TEST(Dense, GeneralizedEigendecompositionOfBadlyScaledMatrices) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  // D^-1 B D^-1 is the identity, whatever D is.
  const double big = std::is_same_v<Real, float> ? 0x1p30 : 0x1p100;
  typename TestFixture::Columns a(2, 2), b(2, 2);
  b(0, 0) = Wide<Scalar>(big);
  b(1, 1) = Wide<Scalar>(1 / big);
  a(0, 0) = Wide<Scalar>(3 * big);
  a(1, 1) = Wide<Scalar>(2 / big);
  const auto values = this->reals({7, 7});
  const auto x = this->empty(2, 2);
  EXPECT_EQ(dense::generalized_eigendecomposition(this->small(a), this->small(b), values, x), Real(1));
  EXPECT_NEAR(static_cast<double>(this->read(values, 0, 0)), 2.0, 8 * this->eps);
  EXPECT_NEAR(static_cast<double>(this->read(values, 0, 1)), 3.0, 12 * this->eps);
}

TYPED_TEST(Dense, GeneralizedEigendecompositionSaysWhatIsWrongWithB) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  const auto a = this->small(this->identity(3)), x = this->empty(3, 3);
  const auto values = this->reals({7, 7, 7});
  const auto message = [&](const typename TypeParam::Small& b) -> std::string {
    try {
      dense::generalized_eigendecomposition(a, b, values, x);
    } catch (const NotFiniteError& error) {
      return std::string("not finite: ") + error.what();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const auto indefinite = this->small(this->identity(3));
  testing::put(indefinite, 2, 2, Scalar(-1));
  EXPECT_EQ(
      message(indefinite),
      "dense::generalized_eigendecomposition: B (3 x 3) is not positive definite to rounding: its pivot in column "
      "2 is gone");
  typename TestFixture::Columns columns(4, 3);  // the third is the sum of the others
  columns(0, 0) = columns(0, 2) = columns(1, 1) = columns(1, 2) = Wide<Scalar>(1);
  EXPECT_EQ(
      message(this->small(gram(columns, columns))),
      "dense::generalized_eigendecomposition: B (3 x 3) is not positive definite to rounding: its pivot in column "
      "2 is gone");
  EXPECT_EQ(
      message(this->empty(3, 3)),
      "dense::generalized_eigendecomposition: B (3 x 3) is not positive definite to rounding: its pivot in column "
      "0 is gone");
  const auto bad = this->small(this->identity(3));
  testing::put(bad, 0, 1, Scalar(std::numeric_limits<Real>::quiet_NaN()));
  EXPECT_EQ(message(bad), "not finite: dense::generalized_eigendecomposition: B (3 x 3) holds NaN or Inf in column 1");
  EXPECT_EQ(this->difference(collect(x), collect(this->empty(3, 3))), 0.0) << "nothing computed";
}

TYPED_TEST(Dense, GeneralizedEigendecompositionByLapackSaysWhatIsWrongWithB) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  constexpr std::int64_t n = 40, last = n - 1;
  const auto message = [&](Real pivot, Real beside) -> std::string {
    const auto a = this->small(this->identity(n)), b = this->small(this->identity(n)), x = this->empty(n, n);
    testing::put(b, last, last, Scalar(pivot));
    testing::put(b, 0, last, Scalar(beside));
    const typename TypeParam::RealSmall values(this->context, 1, n);
    try {
      dense::generalized_eigendecomposition(a, b, values, x);
    } catch (const Error& error) {
      EXPECT_EQ(this->difference(collect(x), collect(this->empty(n, n))), 0.0) << "nothing computed";
      return error.what();
    }
    return "no error";
  };
  const std::string refused =
      "dense::generalized_eigendecomposition: B (40 x 40) is not positive definite to rounding: its pivot in column 39 "
      "is gone";
  EXPECT_EQ(message(-1, 0), refused);
  EXPECT_EQ(message(0, 0), refused);
  // The pivot is 1 + 16 eps - 1, which LAPACK takes.
  EXPECT_EQ(message(1 + 16 * epsilon<Scalar>, 1), refused);
  EXPECT_EQ(message(2, 1), "no error");
  EXPECT_EQ(message(std::numeric_limits<Real>::quiet_NaN(), 0),
            "dense::generalized_eigendecomposition: B (40 x 40) holds NaN or Inf in column 39");
}

/// A = U diag(s) V^H to rounding, with orthonormal factors and values that descend.
template <class Case, class Fixture>
void expect_svd(Fixture& fixture, const typename Fixture::Columns& a) {
  const std::int64_t m = a.rows, n = a.columns, k = std::min(m, n);
  const auto given = fixture.small(a), u = fixture.empty(m, k), v = fixture.empty(n, k);
  const typename Case::RealSmall values(fixture.context, 1, k);
  dense::svd(given, u, values, v);
  const auto left = collect(u), right = collect(v);
  auto scaled = left;
  for (std::int64_t j = 0; j < k; ++j) {
    const auto value = fixture.read(values, 0, j);
    EXPECT_GE(value, 0);
    if (j > 0) {
      EXPECT_LE(value, fixture.read(values, 0, j - 1));
    }
    for (std::int64_t i = 0; i < m; ++i) scaled(i, j) *= static_cast<long double>(value);
  }
  const double bound = 8 * static_cast<double>(m + n + 1) * fixture.eps;
  EXPECT_LE(fixture.difference(product(scaled, fixture.generator.adjoint(right)), a), bound * norm(a));
  EXPECT_LE(loss_of_orthogonality(left), bound);
  EXPECT_LE(loss_of_orthogonality(right), bound);
  if (m >= n) {
    dense::svd(given, given, values, v);
    EXPECT_EQ(fixture.difference(collect(given), left), 0.0) << "in place as apart";
  }
}

TYPED_TEST(Dense, SingularValueDecomposition) {
  for (const std::int64_t m : wider_sizes) {
    for (const std::int64_t n : wider_sizes) {
      SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n));
      expect_svd<TypeParam>(*this, this->random(m, n));
      expect_svd<TypeParam>(*this, typename TestFixture::Columns(m, n));
    }
  }
}

TYPED_TEST(Dense, SingularValuesAreRight) {
  using Scalar = typename TypeParam::Scalar;
  for (const std::int64_t m : {5, 33, 70}) {
    for (const std::int64_t n : {1, 5, 33, 70}) {
      SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n));
      // Half of the values are zeros; some are equal.
      const std::int64_t k = std::min(m, n), rank = (k + 1) / 2;
      auto left = this->generator.orthonormal(m, rank);
      const auto right = this->generator.orthonormal(n, rank);
      const auto exact = [](std::int64_t j) { return 8.0 / static_cast<double>(1 + j / 2); };
      for (std::int64_t j = 0; j < rank; ++j) {
        for (std::int64_t i = 0; i < m; ++i) left(i, j) *= static_cast<long double>(exact(j));
      }
      const auto a = rounded<Scalar>(product(left, this->generator.adjoint(right)));
      const typename TypeParam::RealSmall values(this->context, 1, k);
      dense::svd(this->small(a), this->empty(m, k), values, this->empty(n, k));
      for (std::int64_t j = 0; j < k; ++j) {
        EXPECT_NEAR(static_cast<double>(this->read(values, 0, j)), j < rank ? exact(j) : 0.0,
                    4 * static_cast<double>(m + n) * this->eps * norm(a));
      }
      expect_svd<TypeParam>(*this, a);
    }
  }
  // Equal columns and columns of zeros.
  auto a = this->random(9, 6);
  for (std::int64_t i = 0; i < 9; ++i) {
    a(i, 2) = a(i, 4) = a(i, 1);
    a(i, 5) = Wide<Scalar>(0);
  }
  expect_svd<TypeParam>(*this, a);
  expect_svd<TypeParam>(*this, this->generator.adjoint(a));
}

TYPED_TEST(Dense, SmallSingularValuesOfGradedColumnsAreRight) {
  using Scalar = typename TypeParam::Scalar;
  const auto step = static_cast<long double>(std::sqrt(epsilon<Scalar>) / 4);  // the last value is far below eps
  for (const bool wide : {false, true}) {
    auto a = this->generator.orthonormal(9, 4);
    for (std::int64_t j = 0; j < 4; ++j) {
      for (std::int64_t i = 0; i < 9; ++i) a(i, j) *= std::pow(step, static_cast<long double>(3 - j));
    }
    a = rounded<Scalar>(wide ? this->generator.adjoint(a) : a);
    const auto values = this->reals({7, 7, 7, 7});
    dense::svd(this->small(a), this->empty(a.rows, 4), values, this->empty(a.columns, 4));
    for (std::int64_t j = 0; j < 4; ++j) {
      EXPECT_NEAR(static_cast<double>(this->read(values, 0, j) / std::pow(step, static_cast<long double>(j))), 1.0,
                  8 * 13 * this->eps);
    }
  }
}

TYPED_TEST(Dense, ColumnsOfVeryDifferentLengthsAreDecomposed) {
  using Scalar = typename TypeParam::Scalar;
  const int step = std::is_same_v<RealOf<Scalar>, float> ? 16 : 150;
  for (const bool rising : {false, true}) {
    auto a = this->random(9, 4);
    for (std::int64_t j = 0; j < 4; ++j) {
      const int exponent = -step * static_cast<int>(rising ? 3 - j : j);
      for (std::int64_t i = 0; i < 9; ++i) a(i, j) *= std::ldexp(1.0L, exponent);
    }
    expect_svd<TypeParam>(*this, a);
    expect_svd<TypeParam>(*this, this->generator.adjoint(a));
  }
}

TYPED_TEST(Dense, SingularValuesFollowScales) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  const int power = std::is_same_v<Real, float> ? 100 : 900;  // squares are out of range
  const auto a = this->random(7, 4);
  const typename TypeParam::RealSmall plain(this->context, 1, 4), scaled(this->context, 1, 4);
  const auto u = this->empty(7, 4), v = this->empty(4, 4);
  dense::svd(this->small(a), u, plain, v);
  const auto left = collect(u);
  for (const int exponent : {power, -power}) {
    auto b = a;
    for (auto& entry : b.entries) entry *= std::ldexp(1.0L, exponent);
    dense::svd(this->small(b), u, scaled, v);
    for (std::int64_t j = 0; j < 4; ++j) {
      EXPECT_EQ(this->read(scaled, 0, j), std::ldexp(this->read(plain, 0, j), exponent));
    }
    EXPECT_EQ(this->difference(collect(u), left), 0.0);
  }
}

TYPED_TEST(Dense, SingularValueDecompositionWantsFiniteNumbers) {
  using Scalar = typename TypeParam::Scalar;
  const auto a = this->empty(2, 3), u = this->empty(2, 2), v = this->empty(3, 2);
  testing::put(a, 1, 2, Scalar(std::numeric_limits<RealOf<Scalar>>::infinity()));
  const auto values = this->reals({7, 7});
  try {
    dense::svd(a, u, values, v);
    FAIL() << "expected a NotFiniteError";
  } catch (const NotFiniteError& error) {
    EXPECT_STREQ(error.what(), "dense::svd: A (2 x 3) holds NaN or Inf in column 2");
  }
}

TYPED_TEST(Dense, Norms) {
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
}

TYPED_TEST(Dense, ColumnsAreMeasuredAndScaled) {
  using Real = RealOf<typename TypeParam::Scalar>;
  typename TestFixture::Columns a(2, 3);
  a(0, 0) = Wide<typename TypeParam::Scalar>(3);
  a(1, 0) = Wide<typename TypeParam::Scalar>(4);
  a(1, 1) = Wide<typename TypeParam::Scalar>(-2);
  const auto squares = this->reals({7, 7, 7});
  const auto expect_squares = [&](std::initializer_list<double> values) {
    std::int64_t j = 0;
    for (const double value : values) EXPECT_EQ(this->read(squares, 0, j++), static_cast<Real>(value));
  };
  const auto given = this->small(a);
  dense::column_squares(given, squares);
  expect_squares({25, 4, 0});
  dense::scale_columns(given, this->reals({2, 0.5, 4}), given);
  dense::column_squares(given, squares);
  expect_squares({100, 1, 0});
}

TYPED_TEST(Dense, ShapesAreChecked) {
  using Scalar = typename TypeParam::Scalar;
  const auto a = this->empty(2, 3), square = this->empty(3, 3);
  const auto message = [](auto&& call) -> std::string {
    try {
      static_cast<void>(call());  // it is to throw
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
  EXPECT_EQ(message([&] { return dense::cholesky(a, RealOf<Scalar>(0), a); }),
            "dense::cholesky: G is 2 x 3, expected a square matrix");
  EXPECT_EQ(message([&] { dense::eigendecomposition(square, row, square); }),
            "dense::eigendecomposition: values is 1 x 2, expected 1 x 3");
  EXPECT_EQ(message([&] { dense::generalized_eigendecomposition(square, a, row, square); }),
            "dense::generalized_eigendecomposition: B is 2 x 3, expected 3 x 3");
  EXPECT_EQ(message([&] { dense::generalized_eigendecomposition(square, square, row, square); }),
            "dense::generalized_eigendecomposition: values is 1 x 2, expected 1 x 3");
  EXPECT_EQ(message([&] { dense::svd(a, square, row, square); }), "dense::svd: U is 3 x 3, expected 2 x 2");
  EXPECT_EQ(message([&] { dense::svd(a, a.block(0, 2, 0, 2), row, square); }),
            "dense::svd: V is 3 x 3, expected 3 x 2");
  using dense::Side;
  using kernels::Triangle;
  EXPECT_EQ(message([&] { dense::triangular_solve(Side::left, Triangle::upper, square, false, a); }),
            "dense::triangular_solve: T is 3 x 3, B is 2 x 3, expected 3 rows");
  EXPECT_EQ(message([&] { dense::triangular_solve(Side::right, Triangle::upper, a, false, a); }),
            "dense::triangular_solve: T is 2 x 3, expected a square matrix");
  EXPECT_EQ(message([&] { dense::triangular_solve(Side::right, Triangle::general, square, false, a); }),
            "dense::triangular_solve: Triangle::general given for T (3 x 3), expected upper or lower");
}

}  // namespace
}  // namespace blockvec::test

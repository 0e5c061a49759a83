// The kernel between the two products of a sweep, against the host's dense functions.
#include "orth/pythagorean_factor.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <blockvec/transfer.hpp>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "orth/dense/internal.hpp"
#include "orth/pythagorean_kernel.hpp"
#include "tests/orth/support.hpp"

namespace blockvec::test {
namespace {

namespace dense = orth::dense;

/// What a sweep came to, in wide precision.
template <class Scalar>
struct Outcome {
  orth::PythagoreanStatus<RealOf<Scalar>> status{};
  HostColumns<Wide<Scalar>> r, c;
};

template <class C>
class PythagoreanFactor : public ::testing::Test {
 public:
  using Scalar_ = typename C::Scalar;
  using Real_ = RealOf<Scalar_>;
  using Space = typename C::Space;
  using Columns_ = HostColumns<Wide<Scalar_>>;
  using Factor_ = orth::PythagoreanFactor<Scalar_, Space>;
  static constexpr double eps = static_cast<double>(epsilon<Scalar_>) * complex_factor<Scalar_>;

  static HostMatrix<Scalar_> entries(const Columns_& a) {
    const HostMatrix<Scalar_> made("entries", static_cast<std::size_t>(a.rows), static_cast<std::size_t>(a.columns));
    for (std::int64_t j = 0; j < a.columns; ++j) {
      for (std::int64_t i = 0; i < a.rows; ++i) made(i, j) = narrow<Scalar_>(a(i, j));
    }
    return made;
  }

  static Factor_ factor_of(WorkspaceScope<Space>& scope, std::int64_t m, std::int64_t b) {
    return Factor_::in(scope.template take<std::byte>(Factor_::whole_bytes(m, b)), scope.context(), m, b);
  }

  static auto fields(const typename Factor_::Status& status) {
    const auto& [certified, changes, continues, projects_next, tidies_next, finishes, tidies, finite, in_range, rank, a,
                 passed_on, condition_estimate] = status;
    return std::tuple(certified, changes, continues, projects_next, tidies_next, finishes, tidies, finite, in_range,
                      rank, a, passed_on, condition_estimate);
  }

  /// What the kernel makes of P, in the case's memory space; twice, with the same bits.
  Outcome<Scalar_> run(const Columns_& p, bool escalates = true) {
    return run(p, orth::pythagorean_limits<Scalar_>(p.rows - p.columns, p.columns, escalates));
  }
  Outcome<Scalar_> run(const Columns_& p, const orth::PythagoreanLimits<Real_>& limits,
                       orth::Another another = orth::Another::none) {
    const std::int64_t b = p.columns, m = p.rows - b;
    WorkspaceScope<Space> scope(context);
    const auto factor = factor_of(scope, m, b);
    factor.p.from_host(entries(p));
    std::vector<std::byte> bits[2];
    Outcome<Scalar_> outcome;
    for (auto& all : bits) {
      orth::factorize_pythagorean(factor, limits, another);
      all.resize(Factor_::bytes(m, b));
      detail::copy_lines<Space>(context, factor.p.data(), all.size(), all.data(), all.size(), all.size(), 1);
      context.template fence<Space>();
      std::memcpy(&outcome.status, all.data() + Factor_::status_at(m, b), sizeof outcome.status);
    }
    if (outcome.status.rank < b) return outcome;
    EXPECT_TRUE(bits[0] == bits[1]);
    outcome.r = collect(factor.r);
    outcome.c = collect(factor.c);
    const auto* const in_place = reinterpret_cast<const Scalar_*>(bits[0].data());
    for (std::int64_t i = 0; i < b * b; ++i) {
      EXPECT_EQ(widen<Scalar_>(in_place[(m + b) * b + i]), outcome.r.entries[static_cast<std::size_t>(i)]);
    }
    return outcome;
  }

  /// What the dense functions make of it on the host.
  Outcome<Scalar_> run_dense(const Columns_& p) {
    const std::int64_t b = p.columns, m = p.rows - b;
    const SmallMatrix<Scalar_> all(context, m + b, b), work(context, b, b), r(context, b, b), c(context, m + b, b);
    const SmallMatrix<Real_> squares(context, 1, b), parts(context, 1, b);
    all.from_host(entries(p));
    const auto s = all.block(0, m, 0, b);
    dense::copy(all.block(m, m + b, 0, b), work);
    dense::diagonal(work, squares);
    if (m > 0) dense::multiply(Scalar_(-1), s, true, s, false, Scalar_(1), work);
    Outcome<Scalar_> outcome;
    const auto found = dense::cholesky(work, epsilon<Scalar_>, r, &squares, false);
    outcome.status.finite = found.finite;
    outcome.status.rank = static_cast<int>(found.rank);
    if (found.rank < b) return outcome;
    const auto x = c.block(m, m + b, 0, b);
    dense::triangular_inverse(r, x);
    if (m > 0) dense::multiply(Scalar_(-1), s, false, x, false, Scalar_(0), c.block(0, m, 0, b));
    dense::column_squares(s, parts);
    outcome.status.a = dense::amplification(squares, x);
    outcome.status.passed_on = dense::sum_of_shares(squares, parts) * outcome.status.a;
    outcome.status.condition_estimate = found.condition_estimate;
    const Real_ a = outcome.status.a;
    const orth::Trust<Real_> sweep{true, a, a, outcome.status.passed_on};
    outcome.status.certified = sweep.certified();
    outcome.r = collect(r);
    outcome.c = collect(c);
    return outcome;
  }

  /// [S; S^H S + X^H X], S being so many times a random matrix of columns of unit length.
  Columns_ products(const Columns_& x, std::int64_t m, double length) {
    const std::int64_t b = x.columns;
    Columns_ s = generator.random(m, b);
    for (auto& entry : s.entries)
      entry *= Wide<Scalar_>(length / std::sqrt(static_cast<double>(std::max<std::int64_t>(m, 1))));
    return stacked(rounded<Scalar_>(s), x);
  }
  static Columns_ stacked(const Columns_& s, const Columns_& x) {
    const std::int64_t m = s.rows, b = x.columns;
    const Columns_ inside = gram(s, s), beside = gram(x, x);
    Columns_ p(m + b, b);
    for (std::int64_t j = 0; j < b; ++j) {
      for (std::int64_t i = 0; i < m; ++i) p(i, j) = s(i, j);
      for (std::int64_t i = 0; i < b; ++i) p(m + i, j) = inside(i, j) + beside(i, j);
    }
    return rounded<Scalar_>(p);
  }

  /// Both agree to what rounding does to G - S^H S, its factor and the inverse, in terms of a = ||D R^-1||_2^2: each
  /// makes errors of (m + b + 5) eps in the entries of D^-1 (G - S^H S) D^-1, twice where S^H S is large.
  static void expect_equal(const Columns_& p, const Outcome<Scalar_>& one, const Outcome<Scalar_>& other) {
    const std::int64_t b = p.columns, m = p.rows - b;
    ASSERT_EQ(one.status.rank, b);
    ASSERT_EQ(other.status.rank, b);
    const auto n = static_cast<double>(b), a = static_cast<double>(other.status.a);
    std::vector<double> lengths;
    for (std::int64_t j = 0; j < b; ++j)
      lengths.push_back(std::sqrt(std::abs(static_cast<double>(std::real(p(m + j, j))))));
    const double in_gram = 4 * n * static_cast<double>(m + b + 5) * eps;
    const double in_r = a * in_gram * std::sqrt(n), in_x = a * (in_r + n * std::sqrt(n) * eps);
    const double in_c = std::sqrt(n) * (in_x + n * std::sqrt(a * n) * eps);
    const auto squared = [](const Wide<Scalar_>& entry) { return static_cast<double>(std::norm(entry)); };
    double r = 0, x = 0, c = 0;
    for (std::int64_t j = 0; j < b; ++j) {
      const double length = lengths[static_cast<std::size_t>(j)];
      for (std::int64_t i = 0; i < b; ++i) {
        r += squared(one.r(i, j) - other.r(i, j)) / (length * length);
        const double row = lengths[static_cast<std::size_t>(i)];
        x += squared(one.c(m + i, j) - other.c(m + i, j)) * row * row;
        if (i <= j) continue;
        EXPECT_TRUE(one.r(i, j) == Wide<Scalar_>(0) && one.c(m + i, j) == Wide<Scalar_>(0));
      }
      for (std::int64_t i = 0; i < m; ++i) c += squared(one.c(i, j) - other.c(i, j));
    }
    EXPECT_LE(std::sqrt(r), in_r);
    EXPECT_LE(std::sqrt(x), in_x);
    EXPECT_LE(std::sqrt(c), in_c);
    const double in_a = (2 * std::sqrt(a + n) + in_x) * in_x + n * n * eps * (a + n);
    const auto near = [](Real_ y, Real_ z, double bound) {
      EXPECT_LE(std::abs(static_cast<double>(y) - static_cast<double>(z)), bound);
    };
    near(one.status.a, other.status.a, in_a);
    const double part = static_cast<double>(other.status.passed_on) / a;
    near(one.status.passed_on, other.status.passed_on, part * (in_a + 2 * static_cast<double>(m + b + 3) * eps * a));
    // A share of R's diagonal is at least a^-1/2, and moves by in_r at most.
    const auto condition = static_cast<double>(other.status.condition_estimate);
    near(one.status.condition_estimate, other.status.condition_estimate, 4 * condition * std::sqrt(a) * (in_r + eps));
    EXPECT_EQ(one.status.certified, other.status.certified);
    EXPECT_TRUE(one.status.finite && one.status.in_range);
  }

  Context context = Context::self(1);
  Generator<Scalar_> generator{5};
};
template <class Space>
using Scalars =
    ::testing::Types<testing::Case<float, RowMajor, Space>, testing::Case<double, RowMajor, Space>,
                     testing::Case<Complex<float>, RowMajor, Space>, testing::Case<Complex<double>, RowMajor, Space>>;
TYPED_TEST_SUITE(PythagoreanFactor, testing::InEverySpace<Scalars>, testing::CaseName);

TYPED_TEST(PythagoreanFactor, OfEveryWidth) {
  for (std::int64_t b = 1; b <= orth::most_pythagorean_columns; ++b) {
    for (const std::int64_t m : {std::int64_t{0}, 37 * b % 301, b % 16 == 0 ? std::int64_t{300} : b}) {
      SCOPED_TRACE("m = " + std::to_string(m) + ", b = " + std::to_string(b));
      const auto x = this->generator.orthonormal(b + 3, b);
      const auto p = this->products(x, m, 0.03 / static_cast<double>(b));
      const auto found = this->run(p);
      EXPECT_TRUE(found.status.certified);
      this->expect_equal(p, found, this->run_dense(p));
      if (this->HasFatalFailure()) return;
    }
  }
}

// Columns of lengths that differ, ill-conditioned ones, and columns that lie in V for the most part.
TYPED_TEST(PythagoreanFactor, OfOtherBlocks) {
  using Scalar = typename TypeParam::Scalar;
  for (const std::int64_t b : {2, 5, 8, 16, 33, 64}) {
    for (const std::int64_t m : {3, 56, 240}) {
      for (const double kappa : {1.0, 10.0, 60.0}) {
        for (const double length : {0.005, 3.0}) {
          SCOPED_TRACE("m = " + std::to_string(m) + ", b = " + std::to_string(b) +
                       ", kappa = " + std::to_string(kappa) + ", length of S = " + std::to_string(length));
          auto x = this->generator.with_condition(this->generator.orthonormal(b + 3, b), kappa);
          const double scale = norm(x) / std::sqrt(static_cast<double>(b));
          auto p = this->products(x, m, length * scale);
          for (std::int64_t j = 0; j < b; ++j) {  // exact
            for (std::int64_t i = 0; i < p.rows; ++i) {
              p(i, j) *=
                  Wide<Scalar>(std::ldexp(1.0L, static_cast<int>(j % 5) + (i < m ? 0 : static_cast<int>((i - m) % 5))));
            }
          }
          const auto found = this->run(p, false), expected = this->run_dense(p);
          if (kappa == 1 || length > 1) {
            EXPECT_EQ(found.status.certified, length < 1);
          }
          this->expect_equal(p, found, expected);
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

// All arithmetic is exact: integers, and powers of two on R's diagonal. A pivot is zero, at most its threshold, or some
// times that.
TYPED_TEST(PythagoreanFactor, FindsTheSameRank) {
  using Scalar = typename TypeParam::Scalar;
  using T = Wide<Scalar>;
  using Columns = HostColumns<T>;
  for (const std::int64_t b : {1, 2, 7, 16, 30, 64}) {
    for (const std::int64_t m : {0, 5, 70}) {
      for (const std::int64_t weak : {std::int64_t{0}, b / 2, b - 1}) {
        for (const double pivot : {0.0, 1.0, 64.0}) {  // in roundings of the column's squared length
          SCOPED_TRACE("m = " + std::to_string(m) + ", b = " + std::to_string(b) + ", column " + std::to_string(weak) +
                       ", pivot " + std::to_string(pivot));
          Columns s(m, b), r(b, b);
          for (T& entry : s.entries) entry = T(static_cast<long double>(this->generator.integer(-1, 1)));
          for (std::int64_t j = 0; j < b; ++j) {
            for (std::int64_t i = 0; i < j; ++i) r(i, j) = T(static_cast<long double>(this->generator.integer(-1, 1)));
            r(j, j) = T(2);
          }
          r(weak, weak) = T(0);
          auto p = this->stacked(s, r);
          const auto reference = static_cast<double>(std::real(p(m + weak, weak)));
          const bool lost = pivot == 0 || (pivot == 1 && reference > 0);
          p(m + weak, weak) += T(pivot * static_cast<double>(epsilon<Scalar>) *
                                 std::exp2(std::floor(std::log2(std::max(reference, 1.0)))));
          const auto found = this->run(p), expected = this->run_dense(p);
          EXPECT_EQ(found.status.rank, expected.status.rank);
          if (lost) {
            EXPECT_EQ(found.status.rank, weak);
          }
          EXPECT_FALSE(found.status.certified && lost);
          EXPECT_TRUE(found.status.finite);
        }
      }
    }
  }
}

TYPED_TEST(PythagoreanFactor, WhatIsNotFinite) {
  using Scalar = typename TypeParam::Scalar;
  const double infinite = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  constexpr std::int64_t m = 21, b = 6;
  const auto p = this->products(this->generator.orthonormal(b + 3, b), m, 0.01);
  for (const double value : {infinite, -infinite, nan}) {
    for (const auto& [i, j] : {std::pair{0, 0}, {20, 5}, {13, 2}, {m, 0}, {m + 1, 4}, {m + 4, 1}, {m + 5, 5}}) {
      auto broken = p;
      broken(i, j) = Wide<Scalar>(value);
      const auto found = this->run(broken);
      EXPECT_FALSE(found.status.finite) << i << ", " << j << ": " << value;
      EXPECT_FALSE(found.status.certified);
      EXPECT_LT(found.status.rank, b);
    }
  }
}

TYPED_TEST(PythagoreanFactor, SquaresOutOfRange) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  constexpr std::int64_t m = 4, b = 3;
  const auto p = this->products(this->generator.orthonormal(b + 3, b), m, 0.001);
  const int edge = std::numeric_limits<Real>::min_exponent - 2 * std::ilogb(epsilon<Scalar>);
  for (const int exponent : {edge - 8, edge + 8, -edge - 8, -edge + 8}) {  // of the squared lengths
    auto scaled = p;
    for (std::int64_t j = 0; j < b; ++j) {
      for (std::int64_t i = 0; i < m + b; ++i) {
        scaled(i, j) *= Wide<Scalar>(std::ldexp(1.0L, i < m ? exponent / 2 : exponent));
      }
    }
    const bool inside = std::abs(exponent) < std::abs(edge);
    const auto found = this->run(scaled);
    EXPECT_TRUE(found.status.finite);
    EXPECT_EQ(found.status.in_range, inside) << exponent;
    EXPECT_EQ(found.status.certified, inside) << exponent;
  }
}

// Each limit alone: the factor is there all the same.
TYPED_TEST(PythagoreanFactor, CertifiesWithinItsLimits) {
  using Scalar = typename TypeParam::Scalar;
  constexpr std::int64_t m = 8, b = 4;
  const auto x = this->generator.with_condition(this->generator.orthonormal(b + 3, b), 2);
  const auto p = this->products(x, m, 0.01);
  const auto limits = orth::pythagorean_limits<Scalar>(m, b, true);
  EXPECT_EQ((orth::pythagorean_limits<Scalar>(m, b, false).noise), 0);
  const auto given = this->run(p, limits).status;
  ASSERT_TRUE(given.certified);
  for (int which = 0; which < 4; ++which) {
    for (const bool within : {true, false}) {
      auto changed = limits;
      const RealOf<Scalar> factor = within ? 2 : 0.5;
      if (which == 0) changed.inner = factor * given.a;
      if (which == 1) changed.outer = factor * given.a;
      if (which == 2) changed.passed_on = factor * given.passed_on;
      if (which == 3) changed.noise = 1 / (factor * given.a);
      const auto found = this->run(p, changed).status;
      EXPECT_EQ(found.certified, within) << which;
      EXPECT_EQ(found.rank, b);
    }
  }
}

// What follows a factor: W changes where it is to be trusted, and another sweep comes where it is asked for.
TYPED_TEST(PythagoreanFactor, SaysWhatFollows) {
  using Scalar = typename TypeParam::Scalar;
  using orth::Another;
  constexpr std::int64_t m = 8, b = 4;
  const auto expect = [&](const auto& p, auto limits, bool certified, bool trusted) {
    for (const Another another : {Another::none, Another::may, Another::must}) {
      const auto status = this->run(p, limits, another).status;
      EXPECT_EQ(status.certified, certified);
      EXPECT_EQ(status.changes, trusted);
      EXPECT_EQ(status.continues, trusted && orth::goes_on(another, certified));
      EXPECT_EQ(status.finishes, trusted && !orth::goes_on(another, certified));
    }
  };
  const auto x = this->generator.with_condition(this->generator.orthonormal(b + 3, b), 2);
  const auto p = this->products(x, m, 0.01);
  const auto limits = orth::pythagorean_limits<Scalar>(m, b, true);
  const auto given = this->run(p, limits).status;
  expect(p, limits, true, true);
  auto tight = limits;
  tight.inner = given.a / 2;
  expect(p, tight, false, true);
  tight = limits;
  tight.direct = given.a / 2;
  expect(p, tight, false, false);
  tight = limits;
  tight.noise = 2 / given.a;
  expect(p, tight, false, false);
  auto dependent = x;
  for (std::int64_t i = 0; i < x.rows; ++i) dependent(i, b - 1) = dependent(i, 0);
  expect(this->products(dependent, 0, 0), limits, false, false);
}

TYPED_TEST(PythagoreanFactor, ReportsToTheHostAndObeysItsCondition) {
  using Scalar = typename TypeParam::Scalar;
  using Memory = typename TypeParam::Space;
  using Factor = orth::PythagoreanFactor<Scalar, Memory>;
  using orth::Another;
  constexpr std::int64_t m = 21, b = 6;
  const auto p = this->products(this->generator.orthonormal(b + 3, b), m, 0.01);
  const auto limits = orth::pythagorean_limits<Scalar>(m, b, true);
  WorkspaceScope<Memory> scope(this->context);
  WorkspaceScope<StagingSpaceOf<Memory>> staging(this->context);
  const auto factor = this->factor_of(scope, m, b), other = this->factor_of(scope, m, b);
  auto* const copy = staging.template take<std::byte>(Factor::bytes(m, b));
  auto* const word = staging.template take<unsigned>(1);
  const auto status_of = [&](const Factor& of) {
    typename Factor::Status status{};
    detail::copy_lines<Memory>(this->context, of.status, sizeof status, &status, sizeof status, sizeof status, 1);
    this->context.template fence<Memory>();
    return status;
  };
  factor.p.from_host(this->entries(p));
  other.p.from_host(this->entries(p));
  for (const bool when_continuing : {true, false}) {
    for (const Another another : {Another::may, Another::must}) {
      *word = 0;
      orth::factorize_pythagorean(factor, limits, another, {copy, word, when_continuing});
      const auto status = status_of(factor);
      EXPECT_EQ(status.continues, another == Another::must);
      EXPECT_EQ(*word, when_continuing || another == Another::may ? 1U : 0U);
      const auto& seen = *reinterpret_cast<const typename Factor::Status*>(copy + Factor::status_at(m, b));
      EXPECT_TRUE(this->fields(seen) == this->fields(status));
      EXPECT_EQ(std::memcmp(copy, this->entries(p).data(), static_cast<std::size_t>((m + b) * b) * sizeof(Scalar)), 0);
      // The next sweep's factor is formed where this one says so.
      *word = 0;
      orth::factorize_pythagorean(other, limits, Another::none, {copy, word}, factor.status);
      EXPECT_EQ(status_of(other).changes, another == Another::must);
      EXPECT_EQ(*word, another == Another::must ? 1U : 0U);
    }
  }
}

#if !BLOCKVEC_HAVE_CUDA_SPACE
/// One of a team's threads on the host.
struct HostThread {
  int rank, size;
  std::barrier<>* all;
  int team_rank() const { return rank; }
  int team_size() const { return size; }
  void team_barrier() const { all->arrive_and_wait(); }
};

// Threads that really run side by side, as a device's do.
TYPED_TEST(PythagoreanFactor, GivesTheSameBitsInAnyTeam) {
  using Scalar = typename TypeParam::Scalar;
  const auto expect = [&]<int side>(std::integral_constant<int, side>, int m, int b) {
    const auto x = this->generator.with_condition(this->generator.orthonormal(b + 3, b), 3);
    const auto p = this->entries(this->products(x, m, 0.1));
    const orth::pythagorean::Places<Scalar, side> places(m, b);
    const auto entries = static_cast<std::size_t>((m + b) * b), small = static_cast<std::size_t>(b * b);
    WorkspaceScope<> scope(this->context);
    auto* const scratch = scope.template take<std::byte>(places.bytes());
    std::vector<Scalar> expected;
    orth::PythagoreanStatus<RealOf<Scalar>> expected_status{};
    for (const int threads : {1, 3, 8}) {
      std::vector<Scalar> results(entries + small, Scalar(7));
      orth::PythagoreanStatus<RealOf<Scalar>> status{};
      const orth::pythagorean::Factorize<Scalar, side> body{
          p.data(),       results.data() + entries,
          results.data(), &status,
          places,         orth::pythagorean_limits<Scalar>(m, b, true)};
      std::barrier all(threads);
      std::vector<std::thread> team;
      for (int i = 0; i < threads; ++i) team.emplace_back([&, i] { body(HostThread{i, threads, &all}, scratch); });
      for (auto& thread : team) thread.join();
      EXPECT_EQ(status.rank, b);
      if (threads == 1) {
        expected = results;
        expected_status = status;
      }
      EXPECT_EQ(std::memcmp(results.data(), expected.data(), results.size() * sizeof(Scalar)), 0);
      EXPECT_TRUE(this->fields(status) == this->fields(expected_status));
    }
  };
  for (const auto& [m, b] : {std::pair{0, 1}, {5, 3}, {56, 8}, {240, 16}}) {
    expect(std::integral_constant<int, 16>(), m, b);
  }
  expect(std::integral_constant<int, 32>(), 31, 20);
  for (const auto& [m, b] : {std::pair{300, 33}, {20, 64}}) expect(std::integral_constant<int, 64>(), m, b);
}
#endif

TYPED_TEST(PythagoreanFactor, RefusesOtherWidths) {
  const auto limits = orth::pythagorean_limits<typename TypeParam::Scalar>(4, 8, true);
  WorkspaceScope<typename TypeParam::Space> scope(this->context);
  for (const std::int64_t b : {std::int64_t{0}, orth::most_pythagorean_columns + 1}) {
    EXPECT_THROW(orth::factorize_pythagorean(this->factor_of(scope, 4, b), limits), ShapeError);
  }
}

}  // namespace
}  // namespace blockvec::test

// V^H W in double-double by teams of threads, as a device runs it, against the host's kernel. In the host's memory the
// teams consist of the host's threads.
#include "blockvec/double_double_products.hpp"
#include "tests/support/host_teams.hpp"
#include "tests/support/naive.hpp"

namespace blockvec {
namespace {

struct RunHostTeams {
  int threads;
  template <class Body>
  void operator()(int teams, const Body& body) const {
    testing::run_host_teams(teams, threads, Body::scratch_bytes, body);
  }
};

template <class C>
class DoubleDoubleTest : public ::testing::Test {
 protected:
  using Entry = typename C::Scalar;
  using Space = typename C::Space;
  using Block = typename C::Vector;
  static constexpr bool in_host_memory = is_host_space<Space>;
  static constexpr std::int64_t guard = -7;

  struct Result {
    HostMatrix<Entry> high, low;
  };

  /// What lies around C keeps its values.
  static Result by_teams(const Block& v, const Block& w, int threads = 32) {
    const std::int64_t m = v.width(), b = w.width();
    const typename C::Small room(v.context(), m + 3, b + 1), low_room(v.context(), m + 1, b + 2);
    fill_with_guards(room);
    fill_with_guards(low_room);
    const DoubleDoubleMatrix<Entry, Space> c{room.block(2, m + 2, 0, b), low_room.block(0, m, 1, b + 1)};
    if constexpr (in_host_memory) {
      detail::inner_product_dd_in_teams(v, w, c, RunHostTeams{threads});
    } else {
      inner_product_dd(v, w, c);
    }
    expect_guards(room, 2, 0, m, b);
    expect_guards(low_room, 0, 1, m, b);
    return {c.high.to_host(), c.low.to_host()};
  }
  static Result by_host(const Block& v, const Block& w) {
    const auto x = testing::on_host(v), y = testing::on_host(w);
    const SmallMatrix<Entry> high(v.context(), v.width(), w.width()), low(v.context(), v.width(), w.width());
    inner_product_dd(x, y, {high, low});
    return {high.to_host(), low.to_host()};
  }

  static void fill_with_guards(const typename C::Small& c) {
    HostMatrix<Entry> values("values", static_cast<std::size_t>(c.rows()), static_cast<std::size_t>(c.columns()));
    Kokkos::deep_copy(values, Entry(guard));
    c.from_host(values);
  }
  static void expect_guards(const typename C::Small& c, std::int64_t row, std::int64_t column, std::int64_t m,
                            std::int64_t b) {
    const auto values = c.to_host();
    for (std::int64_t i = 0; i < c.rows(); ++i) {
      for (std::int64_t j = 0; j < c.columns(); ++j) {
        if (i >= row && i < row + m && j >= column && j < column + b) continue;
        ASSERT_EQ(values(i, j), Entry(guard));
      }
    }
  }

  static bool is_finite(Entry value) {
    const auto wide = testing::widened(value);
    return std::isfinite(wide.real()) && std::isfinite(wide.imag());
  }
  static void expect_same_bits(const Result& mine, const Result& expected) {
    for (std::size_t j = 0; j < mine.high.extent(1); ++j) {
      for (std::size_t i = 0; i < mine.high.extent(0); ++i) {
        ASSERT_EQ(mine.high(i, j), expected.high(i, j)) << i << ", " << j;
        ASSERT_EQ(mine.low(i, j), expected.low(i, j)) << i << ", " << j;
      }
    }
  }
  /// Entries of V and W are below 1, each part of complex ones: |V|^H |W| is at most the rows, or twice that.
  static void expect_near(const Result& mine, const Result& expected, std::int64_t rows) {
    constexpr bool single = std::is_same_v<RealOf<Entry>, float>;
    const double magnitude = static_cast<double>(rows) * (ScalarTraits<Entry>::is_complex ? 2 : 1);
    const double half = testing::gamma<Entry>(1);
    const double depth = 40 + static_cast<double>(rows) / 128;
    const double sums = testing::gamma<double>(depth);
    const double bound = 4 * magnitude * (single ? half * half + sums : sums * sums);
    for (std::size_t j = 0; j < mine.high.extent(1); ++j) {
      for (std::size_t i = 0; i < mine.high.extent(0); ++i) {
        ASSERT_EQ(is_finite(mine.high(i, j)), is_finite(expected.high(i, j))) << i << ", " << j;
        if (!is_finite(expected.high(i, j))) continue;
        const auto difference = testing::widened(mine.high(i, j)) - testing::widened(expected.high(i, j)) +
                                testing::widened(mine.low(i, j)) - testing::widened(expected.low(i, j));
        ASSERT_LE(static_cast<double>(std::abs(difference)), bound) << i << ", " << j << " of " << rows << " rows";
        ASSERT_EQ(mine.high(i, j), static_cast<Entry>(mine.high(i, j) + mine.low(i, j))) << "high is the sum rounded";
      }
    }
  }
  static void expect_hermitian(const Result& mine) {
    for (std::size_t j = 0; j < mine.high.extent(1); ++j) {
      for (std::size_t i = 0; i <= j; ++i) {
        ASSERT_EQ(testing::widened(mine.high(i, j)), std::conj(testing::widened(mine.high(j, i))));
        ASSERT_EQ(testing::widened(mine.low(i, j)), std::conj(testing::widened(mine.low(j, i))));
      }
    }
  }
  static std::vector<std::int64_t> row_counts() {
    if (in_host_memory) return {0, 31, 520};
    return {0, 1, 31, 700, 100000};
  }
};
TYPED_TEST_SUITE(DoubleDoubleTest, testing::AllCases, testing::CaseName);

// Columns of a wider block: the leading dimension is even and odd by turns.
TYPED_TEST(DoubleDoubleTest, GramMatricesEqualTheHosts) {
  const Context context = Context::self(2);
  for (const std::int64_t rows : this->row_counts()) {
    const auto distribution = RowDistribution::uniform(rows, context.communicator());
    for (std::int64_t width = 1; width <= 20; ++width) {
      if (this->in_host_memory && width > 4 && width != 7 && width != 17) continue;
      const typename TestFixture::Block whole(context, distribution, width + 3, "whole");
      fill_random(whole, 3);
      const auto w = whole.columns(1, 1 + width);
      const auto gram = this->by_teams(w, w);
      this->expect_near(gram, this->by_host(w, w), rows);
      this->expect_hermitian(gram);
      this->expect_same_bits(this->by_teams(w, w), gram);
    }
  }
}

TYPED_TEST(DoubleDoubleTest, ProductsEqualTheHosts) {
  const Context context = Context::self(2);
  for (const std::int64_t rows : this->row_counts()) {
    const auto distribution = RowDistribution::uniform(rows, context.communicator());
    for (const auto& [m, b] : {std::pair{1, 1}, {2, 1}, {1, 3}, {9, 8}, {20, 3}, {3, 11}, {17, 17}}) {
      if (this->in_host_memory && m * b > 72) continue;
      const typename TestFixture::Block basis(context, distribution, m + 2, "V"), w(context, distribution, b, "W");
      fill_random(basis, 1);
      fill_random(w, 2);
      const auto v = basis.columns(1, 1 + m);
      this->expect_near(this->by_teams(v, w), this->by_host(v, w), rows);
    }
    const typename TestFixture::Block both(context, distribution, 9, "both");
    fill_random(both, 4);
    const auto v = both.columns(0, 6), w = both.columns(3, 9);
    this->expect_near(this->by_teams(v, w), this->by_host(v, w), rows);
  }
}

TYPED_TEST(DoubleDoubleTest, WhatIsNotFiniteStaysInItsRowsAndColumns) {
  using Scalar = typename TypeParam::Scalar;
  using Limits = std::numeric_limits<RealOf<Scalar>>;
  const Context context = Context::self(2);
  const std::int64_t rows = 700;
  const auto distribution = RowDistribution::uniform(rows, context.communicator());
  const typename TestFixture::Block v(context, distribution, 11, "V"), w(context, distribution, 5, "W");
  for (const auto bad : {Limits::quiet_NaN(), Limits::infinity()}) {
    fill_random(v, 1);
    fill_random(w, 2);
    const auto product = this->by_teams(v, w), gram = this->by_teams(v, v);
    const auto host = testing::on_host(v);
    host.view()(rows - 3, 9) = Scalar(bad);
    copy(host, v);
    const auto bad_product = this->by_teams(v, w), bad_gram = this->by_teams(v, v);
    this->expect_near(bad_product, this->by_host(v, w), rows);
    this->expect_near(bad_gram, this->by_host(v, v), rows);
    for (std::size_t i = 0; i < 11; ++i) {
      for (std::size_t j = 0; j < 5; ++j) {
        if (i == 9) continue;
        ASSERT_EQ(bad_product.high(i, j), product.high(i, j));
      }
      for (std::size_t j = 0; j < 11; ++j) {
        if (i == 9 || j == 9) continue;
        ASSERT_EQ(bad_gram.high(i, j), gram.high(i, j));
      }
    }
  }
}

// 1 and -1 by turns, and a little: what is left has no digit in working precision.
TYPED_TEST(DoubleDoubleTest, CancellationLeavesTheDigitsOfTheLittle) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  const Context context = Context::self(2);
  const std::int64_t rows = 600;
  const auto distribution = RowDistribution::uniform(rows, context.communicator());
  const typename TestFixture::Block v(context, distribution, 5, "V"), w(context, distribution, 5, "W");
  const auto x = testing::on_host(v), y = testing::on_host(w);
  const Real little = epsilon<Scalar>;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < 5; ++j) {
      x.view()(i, j) = Scalar(i % 2 == 0 ? 1 : -1);
      y.view()(i, j) = Scalar(1 + (i % 2 == 0 ? static_cast<Real>(j) * little : 0));
    }
  }
  copy(x, v);
  copy(y, w);
  const auto product = this->by_teams(v, w);
  for (std::size_t j = 0; j < 5; ++j) {
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(product.high(i, j), Scalar(static_cast<Real>(static_cast<double>(j) * 300) * little));
      EXPECT_EQ(product.low(i, j), Scalar(0));
    }
  }
}

TYPED_TEST(DoubleDoubleTest, TeamsOfAnySizeAgree) {
  if constexpr (TestFixture::in_host_memory) {
    const Context context = Context::self(2);
    const std::int64_t rows = 530;
    const auto distribution = RowDistribution::uniform(rows, context.communicator());
    const typename TestFixture::Block w(context, distribution, 7, "W");
    fill_random(w, 1);
    for (const int threads : {16, 128}) this->expect_near(this->by_teams(w, w, threads), this->by_host(w, w), rows);
  } else {
    GTEST_SKIP() << "the teams of a device have one size";
  }
}

}  // namespace
}  // namespace blockvec

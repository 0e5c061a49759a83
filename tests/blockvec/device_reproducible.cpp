// Summation::reproducible on a device: the bits of sums on any number of ranks, and their errors beside the host's.
#include <algorithm>
#include <blockvec/operations.hpp>
#include <blockvec/small_on_host.hpp>
#include <cstring>
#include <limits>
#include <tuple>
#include <vector>

#include "tests/support/naive.hpp"

namespace blockvec {
namespace {

constexpr std::int64_t chunk = 8192;

template <class K>
class ReproducibleOnDevice : public ::testing::Test {
 protected:
  using Products = InnerProducts<typename K::Scalar, typename K::Layout, typename K::Space>;
};
TYPED_TEST_SUITE(ReproducibleOnDevice, testing::CasesIn<Kokkos::CudaSpace>, testing::CaseName);

/// Splits of rows over the ranks: even ones, cuts beside the ends of chunks, and empty ranks.
std::vector<RowDistribution> distributions(std::int64_t rows, const Communicator& communicator) {
  auto result = testing::splits(rows, communicator);
  const auto add = [&](std::vector<std::int64_t> cuts) {
    cuts.resize(static_cast<std::size_t>(communicator.size()) - 1, rows);
    std::vector<std::int64_t> counts;
    std::int64_t before = 0;
    for (const std::int64_t cut : cuts) {
      counts.push_back(std::min(cut, rows) - before);
      before = std::min(cut, rows);
    }
    counts.push_back(rows - before);
    result.push_back(RowDistribution::from_rows(counts, communicator));
  };
  if (communicator.size() == 1) return result;
  add({100, 200, 300});
  add({chunk - 1, chunk + 1, 2 * chunk});
  add({chunk, chunk, 2 * chunk + 1});
  return result;
}

template <class Scalar>
void append(const HostMatrix<Scalar>& a, std::vector<RealOf<Scalar>>& numbers) {
  const auto* const data = reinterpret_cast<const RealOf<Scalar>*>(a.data());
  numbers.insert(numbers.end(), data, data + a.extent(0) * a.extent(1) * sizeof(Scalar) / sizeof(RealOf<Scalar>));
}

TYPED_TEST(ReproducibleOnDevice, SumsHaveTheSameBitsOnAnyRanks) {
  using Scalar = typename TypeParam::Scalar;
  using Vector = typename TypeParam::Vector;
  using Small = typename TypeParam::Small;
  using Real = RealOf<Scalar>;
  for (const auto& [count, m, b] :
       {std::tuple{0, 2, 1}, {1, 3, 2}, {8192, 5, 1}, {16461, 1, 1}, {16461, 9, 5}, {30001, 41, 11}}) {
    SCOPED_TRACE(std::to_string(count) + " rows, " + std::to_string(m) + " and " + std::to_string(b) + " columns");
    const auto sums = [&](const Context& context, const RowDistribution& rows) {
      const Vector all(context, rows, m + b + 1);
      const auto v = all.columns(0, m), w = all.columns(m + 1, m + b + 1);
      fill_random(v, 1);
      fill_random(w, 2);
      const Small s(context, m, b), g(context, b, b), high(context, m, b), low(context, m, b), dots(context, 1, b);
      const typename TypeParam::RealSmall norms(context, 1, m);
      const SmallMatrix<Scalar> on_host(context, m, b);
      const std::int64_t waits = context.waits();
      typename TestFixture::Products(context).add(v, w, s).add(w, w, g).reduce();
      if (context.communicator().size() == 1) {
        EXPECT_EQ(context.waits() - waits, 0);
      }
      inner_product(v, w, on_host);
      if (context.communicator().size() == 1) {
        EXPECT_EQ(context.waits() - waits, 1);
      }
      inner_product_dd(v, w, {high, low});
      column_dots(v.columns(0, std::min(m, b)), w.columns(0, std::min(m, b)), dots.block(0, 1, 0, std::min(m, b)));
      column_norms(v, norms);
      std::vector<Real> numbers;
      append(s.to_host(), numbers);
      append(g.to_host(), numbers);
      append(on_host.to_host(), numbers);
      append(high.to_host(), numbers);
      append(low.to_host(), numbers);
      append(dots.to_host(), numbers);
      append(norms.to_host(), numbers);
      return numbers;
    };
    const Context self = Context::self(1, Summation::reproducible);
    const auto expected = sums(self, RowDistribution::uniform(count, self.communicator()));
    const Context world = Context::world(1, Summation::reproducible);
    for (const auto& rows : distributions(count, world.communicator())) {
      const auto got = sums(world, rows);
      ASSERT_EQ(got.size(), expected.size());
      EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(Real)), 0);
    }
  }
}

// Shares of 2048 rows are summed in double precision, their sum is exact.
TYPED_TEST(ReproducibleOnDevice, SumsAreTheHosts) {
  using Scalar = typename TypeParam::Scalar;
  using Vector = typename TypeParam::Vector;
  using HostSmall = SmallMatrix<Scalar>;
  constexpr std::int64_t count = 20011, m = 37, b = 9;
  const Context context = Context::self(1, Summation::reproducible);
  const Vector all(context, RowDistribution::uniform(count, context.communicator()), m + b);
  fill_random(all, 3);
  const auto v = all.columns(0, m), w = all.columns(m, m + b);
  const HostSmall s(context, m, b), g(context, b, b), high(context, m, b), low(context, m, b);
  const HostSmall s_high(context, m, b), s_low(context, m, b), g_high(context, b, b), g_low(context, b, b);
  typename TestFixture::Products(context).add(v, w, s).add(w, w, g).add_dd(v, w, {high, low}).reduce();
  const auto x = testing::on_host(v), y = testing::on_host(w);
  inner_product_dd(x, y, {s_high, s_low});
  inner_product_dd(y, y, {g_high, g_low});
  const double in_shares = 2048 * std::numeric_limits<double>::epsilon(), at_the_end = epsilon<Scalar>;
  const double bound = 2 * static_cast<double>(count) * (in_shares + at_the_end);  // |V|^H |W| <= 2 count
  const double bound_dd = 2 * static_cast<double>(count) * (in_shares * in_shares + at_the_end * at_the_end);
  constexpr bool is_single = std::is_same_v<RealOf<Scalar>, float>;
  const double bound_of_pair = is_single ? bound : 2 * bound_dd;
  const auto distance = [](const HostSmall& a, const HostSmall& c, std::int64_t i, std::int64_t j) {
    return std::abs(testing::widened(a.view()(i, j)) - testing::widened(c.view()(i, j)));
  };
  for (std::int64_t j = 0; j < b; ++j) {
    for (std::int64_t i = 0; i < m; ++i) {
      EXPECT_LE(distance(s, s_high, i, j), bound);
      const auto difference = (testing::widened(high.view()(i, j)) - testing::widened(s_high.view()(i, j))) +
                              (testing::widened(low.view()(i, j)) - testing::widened(s_low.view()(i, j)));
      EXPECT_LE(std::abs(difference), bound_of_pair);
    }
    for (std::int64_t i = 0; i < b; ++i) {
      EXPECT_LE(distance(g, g_high, i, j), bound);
      EXPECT_EQ(testing::widened(g.view()(i, j)), std::conj(testing::widened(g.view()(j, i))));
    }
  }
}

TYPED_TEST(ReproducibleOnDevice, WhatIsNotFiniteShows) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  using Vector = typename TypeParam::Vector;
  const Context context = Context::world(1, Summation::reproducible);
  const Vector v(context, RowDistribution::uniform(2 * chunk + 5, context.communicator()), 3);
  for (const Real bad : {std::numeric_limits<Real>::quiet_NaN(), std::numeric_limits<Real>::infinity()}) {
    fill_random(v, 4);
    scale(v.column(1), Scalar(bad));
    const SmallMatrix<Scalar> g(context, 3, 3), high(context, 3, 3), low(context, 3, 3);
    inner_product(v, v, g);
    inner_product_dd(v, v, {high, low});
    for (std::int64_t i = 0; i < 3; ++i) {
      for (std::int64_t j = 0; j < 3; ++j) {
        const bool is_finite = i != 1 && j != 1;
        EXPECT_EQ(std::isfinite(std::abs(testing::widened(g.view()(i, j)))), is_finite) << i << ", " << j;
        EXPECT_EQ(std::isfinite(std::abs(testing::widened(high.view()(i, j)))), is_finite) << i << ", " << j;
      }
    }
  }
}

}  // namespace
}  // namespace blockvec

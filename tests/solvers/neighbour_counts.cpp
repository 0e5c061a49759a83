#include "solvers/neighbour_counts.hpp"

#include <gtest/gtest.h>

namespace blockvec::solvers {
namespace {

// What rank a has for rank b: 0 where it has nothing.
TEST(NeighbourCounts, ReachTheirRanks) {
  const Communicator world = Communicator::world();
  const auto nobody = [](int, int) { return 0; };
  const auto everybody = [](int a, int b) { return 10 * a + b + 1; };
  const auto next = [&](int a, int b) { return b == (a + 1) % world.size() ? 7 + a : 0; };
  const auto first = [](int a, int b) { return b == 0 ? a : 0; };
  const auto from_last = [&](int a, int b) { return a == world.size() - 1 ? 3 + b : 0; };
  const auto expect_counts = [&](const auto& count) {
    std::vector<NeighbourCount> mine, expected;
    for (int other = 0; other < world.size(); ++other) {
      if (other == world.rank()) continue;
      if (count(world.rank(), other) > 0) mine.push_back({other, count(world.rank(), other)});
      if (count(other, world.rank()) > 0) expected.push_back({other, count(other, world.rank())});
    }
    const auto got = exchange_counts(world, mine);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].rank, expected[i].rank);
      EXPECT_EQ(got[i].count, expected[i].count);
    }
  };
  expect_counts(nobody);
  expect_counts(everybody);
  expect_counts(next);
  expect_counts(first);
  expect_counts(from_last);
}

}  // namespace
}  // namespace blockvec::solvers

#include <blockvec/row_distribution.hpp>

#include "tests/support/naive.hpp"

namespace blockvec {
namespace {

using testing::expect_parts;
using testing::message_of;

TEST(RowDistribution, UniformGivesTheFirstRanksOneMore) {
  const Communicator world = Communicator::world();
  for (const std::int64_t rows : {0, 1, 2, 3, 10, 1000}) {
    const auto distribution = RowDistribution::uniform(rows, world);
    EXPECT_EQ(distribution.global_rows(), rows);
    EXPECT_EQ(distribution.ranks(), world.size());
    std::int64_t sum = 0;
    for (int r = 0; r < world.size(); ++r) {
      const std::int64_t mine = distribution.begin(r + 1) - distribution.begin(r);
      EXPECT_EQ(mine, rows / world.size() + (r < rows % world.size() ? 1 : 0));
      sum += mine;
    }
    EXPECT_EQ(sum, rows);
    EXPECT_EQ(distribution.local_rows(), distribution.begin(world.rank() + 1) - distribution.begin(world.rank()));
  }
}

TEST(RowDistribution, OwnerSkipsEmptyRanks) {
  const Communicator world = Communicator::world();
  for (const auto& distribution : testing::splits(23, world)) {
    for (std::int64_t row = 0; row < 23; ++row) {
      const int owner = distribution.owner(row);
      EXPECT_LE(distribution.begin(owner), row);
      EXPECT_LT(row, distribution.begin(owner + 1));
    }
    expect_parts(message_of<ShapeError>([&] { distribution.owner(23); }), {"row 23", "0..22"});
    expect_parts(message_of<ShapeError>([&] { distribution.owner(-1); }), {"row -1"});
  }
}

TEST(RowDistribution, FromLocalRowsMeetsFromRows) {
  const Communicator world = Communicator::world();
  std::vector<std::int64_t> rows;
  for (int r = 0; r < world.size(); ++r) rows.push_back(r % 2 == 0 ? 0 : 5 * r);
  const auto table = RowDistribution::from_rows(rows, world);
  const auto local = RowDistribution::from_local_rows(rows[static_cast<std::size_t>(world.rank())], world);
  EXPECT_EQ(table, local);
  if (world.size() > 1) {
    EXPECT_FALSE(table == RowDistribution::uniform(table.global_rows(), world));
  }
}

TEST(RowDistribution, RefusesWhatIsNoDistribution) {
  const Communicator world = Communicator::world();
  expect_parts(message_of<ShapeError>([&] { RowDistribution::uniform(-1, world); }), {"global_rows = -1"});
  std::vector<std::int64_t> rows(static_cast<std::size_t>(world.size()), 4);
  rows.push_back(1);
  expect_parts(message_of<ShapeError>([&] { RowDistribution::from_rows(rows, world); }), {"expected one each"});
  rows.pop_back();
  rows.back() = -3;
  expect_parts(message_of<ShapeError>([&] { RowDistribution::from_rows(rows, world); }), {"-3 rows"});
  EXPECT_THROW(RowDistribution::from_local_rows(world.rank() == 0 ? -1 : 2, world), ShapeError);
}

TEST(RowDistribution, NoticesTablesThatDifferBetweenRanks) {
  const Communicator world = Communicator::world();
  if (world.size() == 1) GTEST_SKIP() << "needs two ranks";
  std::vector<std::int64_t> rows(static_cast<std::size_t>(world.size()), 4);
  rows[0] += world.rank();
  expect_parts(message_of<ShapeError>([&] { RowDistribution::from_rows(rows, world); }), {"different tables"});
}

}  // namespace
}  // namespace blockvec

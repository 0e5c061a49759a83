#include <blockvec/context.hpp>

#include "tests/support/naive.hpp"

namespace blockvec {
namespace {

using testing::expect_parts;
using testing::message_of;

TEST(Context, CopiesShareTheirState) {
  const Context context = Context::world(2);
  const Context copy = context;
  EXPECT_TRUE(copy.same(context));
  EXPECT_FALSE(copy.same(Context::world(2)));
  EXPECT_EQ(copy.threads(), 2);
  EXPECT_GE(Context::world().threads(), 1);
  EXPECT_FALSE(context.is_reproducible());
  EXPECT_TRUE(Context::self(1, Summation::reproducible).is_reproducible());
  EXPECT_THROW(Context::world(-1), ShapeError);
}

template <class Scalar>
void expect_sums(std::int64_t count) {
  const Context context = Context::world(1);
  std::vector<Scalar> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    values[static_cast<std::size_t>(i)] = Scalar(static_cast<RealOf<Scalar>>(i % 100 + context.communicator().rank()));
  context.sum(values.data(), count, 7);
  const int ranks = context.communicator().size();
  for (std::int64_t i = 0; i < count; ++i) {
    EXPECT_EQ(values[static_cast<std::size_t>(i)],
              Scalar(static_cast<RealOf<Scalar>>(ranks * (i % 100) + ranks * (ranks - 1) / 2)));
  }
  EXPECT_EQ(context.reductions(), 1);
}

TEST(Context, SumsAnyCountInOneReduction) {
  for (const std::int64_t count : {0, 1, 30, 510, 511, 512, 1021, 1022, 1023, 5000}) {
    expect_sums<float>(count);
    expect_sums<double>(count);
    expect_sums<Complex<float>>(count);
    expect_sums<Complex<double>>(count);
  }
}

TEST(Context, WholeNumbersHaveExactSumsAndMaxima) {
  const Context context = Context::world(1);
  const int ranks = context.communicator().size(), rank = context.communicator().rank();
  for (const std::int64_t count : {0, 1, 1022, 1023, 3000}) {
    std::vector<std::int64_t> sums(static_cast<std::size_t>(count)), largest = sums;
    const std::int64_t large = std::int64_t{1} << 60;  // beyond what doubles count
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] = large + static_cast<std::int64_t>(i) + rank;
      largest[i] = static_cast<std::int64_t>(i) - rank;
    }
    const std::int64_t before = context.reductions();
    context.sum(sums.data(), count, 7);
    context.max(largest.data(), count, 8);
    EXPECT_EQ(context.reductions(), before + 2);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      EXPECT_EQ(sums[i], ranks * (large + static_cast<std::int64_t>(i)) + ranks * (ranks - 1) / 2);
      EXPECT_EQ(largest[i], static_cast<std::int64_t>(i));
    }
  }
}

TEST(Context, NoticesRanksThatDisagree) {
  const Context context = Context::world(1);
  if (context.communicator().size() == 1) GTEST_SKIP() << "needs two ranks";
  const bool first = context.communicator().rank() == 0;
  std::vector<double> values(40, 1.0);
  // Same count, another operation; then other counts.
  expect_parts(message_of<ShapeError>([&] { context.sum(values.data(), 40, first ? 1 : 2); }),
               {"different operations or shapes", "40"});
  expect_parts(message_of<ShapeError>([&] { context.sum(values.data(), first ? 35 : 40, first ? 35 : 40); }),
               {"different operations or shapes"});
  std::vector<double> many(5000, 1.0);
  expect_parts(message_of<ShapeError>([&] { context.sum(many.data(), first ? 5000 : 3, first ? 5000 : 3); }),
               {"different operations or shapes"});
  EXPECT_NO_THROW(context.sum(values.data(), 40, 1));
  std::vector<std::int64_t> whole(5000, 1);
  expect_parts(message_of<ShapeError>([&] { context.max(whole.data(), first ? 5000 : 3, first ? 5000 : 3); }),
               {"different operations or shapes", "maximum"});
  EXPECT_NO_THROW(context.max(whole.data(), 5000, 1));
}

TEST(Context, ReportNamesWhatRan) {
  const Context context = Context::self(1);
  const auto rows = RowDistribution::uniform(1000, context.communicator());
  const BlockVector<double> v(context, rows, 4, "V");
  fill_random(v, 1);
  EXPECT_EQ(context.report(), "no operations recorded\n");
  context.profile().start();
  const SmallMatrix<double> c(context, 4, 4);
  inner_product(v, v, c);
  inner_product(v, v, c);
  scale(v, 2.0);
  context.profile().stop();
  scale(v, 2.0);
  const auto records = context.profile().records();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].name, "inner_product");
  EXPECT_EQ(records[0].calls, 2);
  EXPECT_EQ(records[0].bytes, 2 * Cost<double>::inner_product_bytes(1000, 4, 4, true));
  EXPECT_EQ(records[0].bytes, 2.0 * 1000 * 4 * 8);
  EXPECT_EQ(records[0].flops, 2.0 * 2 * 1000 * 16);
  EXPECT_EQ(records[1].calls, 1);
  expect_parts(context.report(), {"inner_product", "scale", "GB/s", "rank 0 of 1"});
  EXPECT_GT(context.bandwidth().read, 0);
  EXPECT_GT(context.bandwidth().copy, 0);
}

TEST(Profile, EveryOperationHasAName) {
  for (int i = 0; i < static_cast<int>(Operation::count_); ++i)
    EXPECT_NE(operation_name(static_cast<Operation>(i)), "unknown");
}

}  // namespace
}  // namespace blockvec

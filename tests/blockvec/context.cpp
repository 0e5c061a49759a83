#include <blockvec/context.hpp>
#include <functional>
#include <span>
#include <thread>

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
  EXPECT_GE(available_cores(), 1);
  EXPECT_LE(available_cores(), static_cast<int>(std::thread::hardware_concurrency()));
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
  for (const std::int64_t count : {0, 1, 30, 509, 510, 511, 1019, 1020, 1021, 2040, 2041, 5000}) {
    expect_sums<float>(count);
    expect_sums<double>(count);
    expect_sums<Complex<float>>(count);
    expect_sums<Complex<double>>(count);
  }
}

TEST(Context, WholeNumbersHaveExactSumsAndMaxima) {
  const Context context = Context::world(1);
  const int ranks = context.communicator().size(), rank = context.communicator().rank();
  for (const std::int64_t count : {0, 1, 1020, 1021, 3000}) {
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

// Calls `action`, which is to throw an Exception on every rank with these parts in its message; the next sum is right.
template <class Exception, class Action>
void expect_on_every_rank(const Context& context, std::initializer_list<const char*> parts, const Action& action) {
  expect_parts(message_of<Exception>(action), parts);
  std::vector<double> ones(2000, 1.0);
  context.sum(ones.data(), 2000, 1);
  EXPECT_EQ(ones, std::vector<double>(2000, context.communicator().size()));
}

TEST(Context, NoticesRanksThatDisagree) {
  const Context context = Context::world(1);
  if (context.communicator().size() == 1) GTEST_SKIP() << "needs two ranks";
  const bool first = context.communicator().rank() == 0;
  const auto expect_disagreement = [&](std::initializer_list<const char*> parts, const auto& action) {
    expect_on_every_rank<DisagreementError>(context, parts, action);
  };
  std::vector<double> values(5000, 1.0);
  // Another operation; then other counts alone, below and beyond what travels in one message.
  expect_disagreement({"different operations or shapes", "40 double"},
                      [&] { context.sum(values.data(), 40, first ? 1 : 2); });
  expect_disagreement({"different operations or shapes", "sum"},
                      [&] { context.sum(values.data(), first ? 1 : 2, std::uint64_t{1} << 63); });
  expect_disagreement({first ? "3 double" : "10 double"}, [&] { context.sum(values.data(), first ? 3 : 10, 7); });
  for (const std::int64_t count : {0, 1020, 1021, 2000, 5000}) {
    expect_disagreement({first ? "3 double" : std::to_string(count).c_str()},
                        [&] { context.sum(values.data(), first ? 3 : count, 7); });
  }
  // Tags that differ by 127, in one high bit, or in both halves alike.
  for (const std::uint64_t tag : {std::uint64_t{134}, std::uint64_t{1} << 63 | 7, std::uint64_t{0x700000000}})
    expect_disagreement({"different"}, [&] { context.sum(values.data(), 40, first ? 7 : tag); });
  EXPECT_EQ(values, std::vector<double>(5000, 1.0)) << "nothing was changed";

  // Other types and operations.
  std::vector<float> floats(40, 1);
  std::vector<std::int64_t> whole(5000, 1);
  expect_disagreement({first ? "40 double" : "40 float"},
                      [&] { first ? context.sum(values.data(), 40, 7) : context.sum(floats.data(), 40, 7); });
  expect_disagreement({first ? "maximum" : "sum", "40 whole"},
                      [&] { first ? context.max(whole.data(), 40, 7) : context.sum(whole.data(), 40, 7); });
  expect_disagreement({"maximum"}, [&] { context.max(whole.data(), first ? 5000 : 3, 7); });
  expect_disagreement({first ? "barrier" : "sum"},
                      [&] { first ? context.communicator().barrier() : context.sum(values.data(), 4, 7); });
}

// Whatever the others wait in, they learn who refused and why, and all go on together.
TEST(Context, ARankThatFailsEndsTheOperationOnEveryRank) {
  const Context context = Context::world(1);
  const Communicator& ranks = context.communicator();
  if (ranks.size() == 1) GTEST_SKIP() << "needs two ranks";
  const int failing = ranks.size() - 1;
  const bool fails = ranks.rank() == failing;
  const std::string refused = "rank " + std::to_string(failing) + " refused: no memory on purpose";
  std::vector<double> values(3000, 1.0);
  std::vector<std::int64_t> whole(10, 1);
  std::byte received[100] = {};
  const Message from_failing{failing, received, sizeof received};
  const Message to_failing{failing, values.data(), 3000 * sizeof(double)};
  const std::function<void()> waits[] = {
      [&] { context.sum(values.data(), 3000, 7); },
      [&] { context.max(whole.data(), 10, 7); },
      [&] { ranks.barrier(); },
      [&] { ranks.broadcast(received, failing); },
      [&] { ranks.agree(true, ""); },
      [&] { ranks.exchange({}, std::span(&from_failing, 1)); },
      [&] { ranks.exchange(std::span(&to_failing, 1), std::span(&from_failing, 1)); },
  };
  for (const auto& wait : waits) {
    const auto operation = [&] {
      context.collective([&] {
        if (fails) throw OutOfMemoryError("no memory on purpose");
        wait();
      });
    };
    if (fails) {
      expect_on_every_rank<OutOfMemoryError>(context, {"no memory on purpose"}, operation);
    } else {
      expect_on_every_rank<RefusedError>(context, {refused.c_str()}, operation);
    }
  }
  EXPECT_EQ(values, std::vector<double>(3000, 1.0)) << "nothing was changed";
}

TEST(Context, AllRanksMayFailAndEachKeepsItsError) {
  const Context context = Context::world(1);
  const bool first = context.communicator().rank() == 0;
  const auto operation = [&] {
    context.collective([&] {
      if (first) throw ShapeError("shape on purpose");
      throw OutOfMemoryError("memory on purpose");
    });
  };
  if (first) {
    expect_on_every_rank<ShapeError>(context, {"shape on purpose"}, operation);
  } else {
    expect_on_every_rank<OutOfMemoryError>(context, {"memory on purpose"}, operation);
  }
}

// The outermost stage tells the others, once. What a caller's function throws is left to it.
TEST(Context, CollectiveStagesNest) {
  const Context context = Context::world(1);
  const Communicator& ranks = context.communicator();
  if (ranks.size() == 1) GTEST_SKIP() << "needs two ranks";
  const bool fails = ranks.rank() == 0;
  std::vector<double> values(10, 1.0);
  const auto inner = [&](bool throws) {
    context.collective([&] {
      if (throws) throw Error("on purpose");
      context.sum(values.data(), 10, 7);
    });
  };
  const auto expect_end = [&](const std::function<void()>& operation) {
    expect_on_every_rank<Error>(context, {fails ? "on purpose" : "rank 0 refused: on purpose"}, operation);
  };
  expect_end([&] { context.collective([&] { context.collective([&] { inner(fails); }); }); });
  expect_end([&] { context.collective([&] { context.callers([&] { inner(fails); }); }); });
  // An agreement that has failed is known to all.
  expect_on_every_rank<RefusedError>(context, {"no file (rank 0)"},
                                     [&] { context.collective([&] { ranks.agree(!fails, "no file"); }); });
  // All ranks throw, and send nothing.
  const auto throws = [&] { context.collective([&] { context.callers([] { throw Error("the caller's"); }); }); };
  expect_on_every_rank<Error>(context, {"the caller's"}, throws);
  EXPECT_EQ(context.collective([] { return 5; }), 5);
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
  expect_parts(context.report(), {"inner_product", "scale", "GB/s", "rank 0 of 1", "%", "measured here"});
  EXPECT_EQ(context.report(false).find('%'), std::string::npos);
  EXPECT_GT(context.bandwidth().read, 0);
  EXPECT_GT(context.bandwidth().copy, 0);
}

TEST(Profile, EveryOperationHasAName) {
  for (int i = 0; i < static_cast<int>(Operation::count_); ++i)
    EXPECT_NE(operation_name(static_cast<Operation>(i)), "unknown");
}

}  // namespace
}  // namespace blockvec

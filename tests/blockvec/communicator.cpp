#include <blockvec/communicator.hpp>
#include <blockvec/kernels/error.hpp>
#include <cmath>
#include <cstring>
#include <vector>

#include "blockvec/ranks_in_pairs.hpp"
#include "tests/support/naive.hpp"

#if BLOCKVEC_HAVE_MPI
#include <blockvec/mpi.hpp>
#endif

namespace blockvec {
namespace {

TEST(Communicator, SelfIsOneRankThatReducesToItself) {
  const Communicator self = Communicator::self();
  EXPECT_EQ(self.size(), 1);
  EXPECT_EQ(self.rank(), 0);
  double value = 3;
  self.sum(std::span(&value, 1));
  self.max(std::span(&value, 1));
  EXPECT_EQ(value, 3);
}

TEST(Communicator, ReducesEveryType) {
  const Communicator world = Communicator::world();
  const int size = world.size();
  const auto rank = static_cast<double>(world.rank());
  const double ranks_sum = size * (size - 1) / 2.0;
  std::vector<double> doubles{rank, 1.0};
  world.sum(std::span(doubles));
  EXPECT_EQ(doubles, (std::vector<double>{ranks_sum, static_cast<double>(size)}));
  std::vector<float> floats{static_cast<float>(rank)};
  world.sum(std::span(floats));
  EXPECT_EQ(floats[0], static_cast<float>(ranks_sum));
  std::vector<Complex<double>> complexes{{rank, -rank}};
  world.sum(std::span(complexes));
  EXPECT_EQ(complexes[0].real(), ranks_sum);
  EXPECT_EQ(complexes[0].imag(), -ranks_sum);
  std::vector<DoubleDouble> pairs{{std::ldexp(1.0 + rank, 60), std::ldexp(1.0, -30)}, {rank, 0}};
  world.sum(std::span(pairs));
  EXPECT_EQ(pairs[0].high, std::ldexp(ranks_sum + size, 60));
  EXPECT_EQ(pairs[0].low, std::ldexp(1.0 * size, -30));
  EXPECT_EQ(pairs[1].high, ranks_sum);
  std::vector<std::int64_t> integers{world.rank(), (std::int64_t{1} << 40) + world.rank()};
  world.max(std::span(integers));
  EXPECT_EQ(integers[1], (std::int64_t{1} << 40) + size - 1);
  integers[0] = world.rank() + 5;
  world.min(std::span(integers).first(1));
  EXPECT_EQ(integers[0], 5);
}

// Sums that depend on the order of their terms: pairs of ranks, pairs of pairs, and on every rank the same bits.
TEST(Communicator, AddsByPairsOfRanks) {
  const Communicator world = Communicator::world();
  const auto value = [](int rank, std::size_t i) {
    return std::ldexp(std::sin(1.0 + rank + 7.0 * static_cast<double>(i)), 3 * rank % 11);
  };
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{64}, std::size_t{4096}, Envelope::room / sizeof(double)}) {
    std::vector<double> values(count), expected(count);
    std::vector<DoubleDouble> pairs(count / 2);
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = value(world.rank(), i);
      expected[i] = sum_in_pairs<double>(world.size(), [&](int rank) { return value(rank, i); });
    }
    for (std::size_t i = 0; i < count / 2; ++i) pairs[i] = {value(world.rank(), i), 0};
    world.sum(std::span(values));
    EXPECT_EQ(values, expected);
    world.sum(std::span(pairs));
    for (std::size_t i = 0; i < count / 2; ++i) {
      const auto sum = sum_in_pairs<DoubleDouble>(world.size(), [&](int rank) {
        return DoubleDouble{value(rank, i), 0};
      });
      ASSERT_EQ(pairs[i].high, sum.high);
      ASSERT_EQ(pairs[i].low, sum.low);
    }
  }
}

TEST(Communicator, NumbersThatAreNoneComeOutAlikeOnAllRanks) {
  const Communicator world = Communicator::world();
  std::vector<double> value{world.rank() == world.size() / 2 ? std::nan("") : 1.0};
  world.max(std::span(value));
  std::int64_t bits[2];
  std::memcpy(&bits[0], value.data(), sizeof bits[0]);
  bits[1] = bits[0];
  world.max(std::span(bits).first(1));
  world.min(std::span(bits).last(1));
  EXPECT_EQ(bits[0], bits[1]);
}

TEST(Communicator, BroadcastsFromAnyRoot) {
  const Communicator world = Communicator::world();
  for (int root = 0; root < world.size(); ++root) {
    std::int64_t value = world.rank() == root ? 17 + root : -1;
    world.broadcast(std::as_writable_bytes(std::span(&value, 1)), root);
    EXPECT_EQ(value, 17 + root);
  }
}

TEST(Communicator, ExchangesAlongARing) {
  const Communicator world = Communicator::world();
  const int size = world.size();
  const std::vector<int> mine(static_cast<std::size_t>(world.rank()) + 1, world.rank());
  const int left = (world.rank() + size - 1) % size;
  std::vector<int> theirs(static_cast<std::size_t>(left) + 1, -1);
  const Message send{(world.rank() + 1) % size, const_cast<int*>(mine.data()), mine.size() * sizeof(int)};
  const Message receive{left, theirs.data(), theirs.size() * sizeof(int)};
  world.exchange(std::span(&send, 1), std::span(&receive, 1));
  EXPECT_EQ(theirs, std::vector<int>(static_cast<std::size_t>(left) + 1, left));
}

TEST(Communicator, AgreesOrThrowsTheSameEverywhere) {
  const Communicator world = Communicator::world();
  EXPECT_NO_THROW(world.agree(true, "unused"));
  const int failing = world.size() - 1;
  const std::string message = testing::message_of<Error>(
      [&] { world.agree(world.rank() != failing, "rank " + std::to_string(world.rank()) + " has no file"); });
  testing::expect_parts(message, {("rank " + std::to_string(failing) + " has no file").c_str()});
}

TEST(Communicator, BroadcastsAnySize) {
  const Communicator world = Communicator::world();
  const int root = world.size() - 1;
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{50001}, Envelope::room, Envelope::room + 1, std::size_t{200001}}) {
    std::vector<std::byte> values(bytes), expected(bytes);
    for (std::size_t i = 0; i < bytes; ++i) expected[i] = static_cast<std::byte>(i * 7 + 1);
    if (world.rank() == root) values = expected;
    world.broadcast(values, root);
    EXPECT_EQ(values, expected);
  }
}

TEST(Communicator, NoticesRanksThatDisagree) {
  const Communicator world = Communicator::world();
  if (world.size() == 1) GTEST_SKIP() << "needs two ranks";
  const bool first = world.rank() == 0;
  std::vector<std::byte> bytes(90000);
  std::vector<double> values(90000, 1.0);
  const auto part = [&](auto& all, std::size_t count) { return std::span(all).first(count); };
  EXPECT_THROW(world.sum(part(values, first ? 10 : 11)), DisagreementError);
  EXPECT_THROW(world.sum(part(values, first ? 10 : 90000)), DisagreementError);
  EXPECT_EQ(values, std::vector<double>(90000, 1.0)) << "untouched";
  EXPECT_THROW(first ? world.sum(part(values, 10)) : world.max(part(values, 10)), DisagreementError);
  EXPECT_THROW(world.broadcast(part(bytes, first ? 10 : 90000), 0), DisagreementError);
  EXPECT_THROW(world.broadcast(part(bytes, 10), first ? 0 : 1), DisagreementError);
  EXPECT_THROW(first ? world.agree(true, "") : world.barrier(), DisagreementError);
  EXPECT_NO_THROW(world.barrier());
}

TEST(Communicator, ExchangeNoticesOtherSizes) {
  const Communicator world = Communicator::world();
  if (world.size() == 1) GTEST_SKIP() << "needs two ranks";
  std::byte buffer[16] = {};
  if (world.rank() == 0) {
    const Message send{1, buffer, 8};
    world.exchange(std::span(&send, 1), {});
  } else if (world.rank() == 1) {
    const Message receive{0, buffer, 16};
    testing::expect_parts(testing::message_of<Error>([&] { world.exchange({}, std::span(&receive, 1)); }),
                          {"rank 0 sent 8 bytes", "expected 16"});
  }
  world.barrier();
}

#if BLOCKVEC_HAVE_MPI
/// An MPI communicator of some ranks of the job.
class Part {
 public:
  Part(int color, int key) { MPI_Comm_split(MPI_COMM_WORLD, color, key, &part_); }
  ~Part() { MPI_Comm_free(&part_); }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  Communicator communicator() const { return mpi_communicator(part_); }

 private:
  MPI_Comm part_ = MPI_COMM_NULL;
};

TEST(Communicator, PartsOfTheJobWorkByThemselvesAndShareTheMachine) {
  const Communicator world = Communicator::world();
  const Part part(world.rank() % 2, world.rank());
  const Communicator half = part.communicator();
  EXPECT_EQ(half.rank(), world.rank() / 2);
  EXPECT_EQ(half.size(), (world.size() + 1 - world.rank() % 2) / 2);
  std::vector<std::int64_t> ones(2000, 1);
  half.sum(std::span(ones));
  EXPECT_EQ(ones, std::vector<std::int64_t>(2000, half.size()));

  // Cores are shared with the ranks of other parts, too.
  MPI_Comm machine = MPI_COMM_NULL;
  int ranks_here = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  MPI_Comm_size(machine, &ranks_here);
  MPI_Comm_free(&machine);
  EXPECT_EQ(half.local_size(), ranks_here);
  EXPECT_EQ(world.local_size(), ranks_here);
  EXPECT_EQ(Part(world.rank(), 0).communicator().local_size(), ranks_here);

  // One half may fail while the other works.
  const Context context(half, 1);
  if (world.rank() % 2 == 1) {
    EXPECT_THROW(context.collective([] { throw Error("on purpose"); }), Error);
  }
  EXPECT_NO_THROW(half.barrier());
  EXPECT_NO_THROW(world.barrier());
}

TEST(Communicator, KnowsTheSameRanksInTheSameOrder) {
  const Communicator world = Communicator::world();
  const Part duplicate(0, world.rank()), reversed(0, -world.rank()), single(world.rank(), 0);
  const Communicator copy = world;
  EXPECT_TRUE(copy.same_ranks(world));
  EXPECT_TRUE(Communicator::world().same_ranks(world));
  EXPECT_TRUE(duplicate.communicator().same_ranks(world));
  EXPECT_TRUE(single.communicator().same_ranks(Communicator::self()));
  EXPECT_TRUE(Communicator::self().same_ranks(single.communicator()));
  const bool alone = world.size() == 1;
  EXPECT_EQ(reversed.communicator().same_ranks(world), alone);
  EXPECT_EQ(single.communicator().same_ranks(world), alone);
  EXPECT_EQ(world.same_ranks(Communicator::self()), alone);

  // Rows lie on ranks: a block vector wants those of its context.
  const Context context(world, 1);
  const auto rows_on = [](const Communicator& ranks) { return RowDistribution::uniform(100, ranks); };
  for (const Communicator& ranks : {copy, Communicator::world(), duplicate.communicator()})
    EXPECT_NO_THROW(BlockVector<double>(context, rows_on(ranks), 2, "V"));
  if (alone) return;
  for (const Communicator& ranks : {reversed.communicator(), single.communicator(), Communicator::self()}) {
    testing::expect_parts(
        testing::message_of<ShapeError>([&] { BlockVector<double>(context, rows_on(ranks), 2, "V"); }),
        {"BlockVector V", "100 rows over", "expected the same ranks in the same order"});
  }
}
#endif

}  // namespace
}  // namespace blockvec

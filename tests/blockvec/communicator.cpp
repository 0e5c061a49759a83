#include <blockvec/communicator.hpp>
#include <blockvec/kernels/error.hpp>
#include <vector>

#include "tests/support/naive.hpp"

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

}  // namespace
}  // namespace blockvec

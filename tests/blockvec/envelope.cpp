#include <algorithm>
#include <blockvec/envelope.hpp>
#include <cstring>
#include <vector>

#include "blockvec/ranks_in_pairs.hpp"
#include "tests/support/naive.hpp"

namespace blockvec {
namespace {

template <class T>
Envelope envelope_of(std::uint64_t fingerprint, WireType type, Reduction reduction, const std::vector<T>& values) {
  Envelope envelope;
  envelope.lowest = envelope.highest = fingerprint;
  envelope.type = type;
  envelope.reduction = reduction;
  envelope.count = static_cast<std::uint32_t>(values.size());
  std::memcpy(envelope.contents, values.data(), values.size() * sizeof(T));
  return envelope;
}

template <class T>
std::vector<T> values_of(const Envelope& envelope) {
  std::vector<T> values(envelope.count);
  std::memcpy(static_cast<void*>(values.data()), envelope.contents, values.size() * sizeof(T));
  return values;
}

Envelope refusal_of(std::int32_t rank, const std::string& reason) {
  auto envelope = envelope_of(0, WireType::int64, Reduction::sum, std::vector<char>(reason.begin(), reason.end()));
  envelope.refusing = rank;
  return envelope;
}

TEST(Envelope, ReducesWhatAllRanksMean) {
  auto sum = envelope_of<float>(5, WireType::float32, Reduction::sum, {1, 2});
  sum.merge(envelope_of<float>(5, WireType::float32, Reduction::sum, {10, 20}));
  EXPECT_EQ(values_of<float>(sum), (std::vector<float>{11, 22}));
  auto largest = envelope_of<std::int64_t>(6, WireType::int64, Reduction::max, {-1, 7});
  largest.merge(envelope_of<std::int64_t>(6, WireType::int64, Reduction::max, {-3, 9}));
  EXPECT_EQ(values_of<std::int64_t>(largest), (std::vector<std::int64_t>{-1, 9}));
  auto least = envelope_of<double>(7, WireType::float64, Reduction::min, {0.5});
  least.merge(envelope_of<double>(7, WireType::float64, Reduction::min, {0.25}));
  EXPECT_EQ(values_of<double>(least), std::vector<double>{0.25});
  auto pairs = envelope_of<DoubleDouble>(8, WireType::double_double, Reduction::sum, {{1, 0}});
  pairs.merge(envelope_of<DoubleDouble>(8, WireType::double_double, Reduction::sum, {{std::ldexp(1.0, -80), 0}}));
  EXPECT_EQ(values_of<DoubleDouble>(pairs)[0].low, std::ldexp(1.0, -80));
  EXPECT_EQ(sum.lowest, sum.highest);
}

// Neither the number of ranks nor the element type hides one rank that differs in one bit.
TEST(Envelope, OneRankOfManyThatDiffersIsNoticed) {
  constexpr int ranks = 20000;
  for (const int other : {-1, 0, ranks / 2, ranks - 1}) {
    Envelope all;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto mine = envelope_of<float>(rank == other ? 0x8001 : 0x8000, WireType::float32, Reduction::sum, {1});
      if (rank == 0) {
        all = mine;
      } else {
        all.merge(mine);
      }
    }
    EXPECT_EQ(all.lowest == all.highest, other < 0) << other;
    if (other < 0) {
      EXPECT_EQ(values_of<float>(all)[0], static_cast<float>(ranks));
    }
  }
}

TEST(Envelope, NeedsAsManyBytesAsItSays) {
  constexpr std::size_t header = sizeof(Envelope) - Envelope::room;
  auto one = envelope_of<double>(1, WireType::float64, Reduction::sum, {1});
  EXPECT_EQ(one.bytes(), header + 8);
  EXPECT_EQ(envelope_of<float>(1, WireType::float32, Reduction::sum, {1, 2, 3}).bytes(), header + 12);
  EXPECT_EQ(refusal_of(3, "no file").bytes(), header + 7);
  Envelope copy;
  copy.assign(one);
  EXPECT_EQ(values_of<double>(copy), std::vector<double>{1});
  one.merge(envelope_of<double>(2, WireType::float64, Reduction::sum, {1, 2}));
  EXPECT_EQ(one.bytes(), header) << "ranks disagree";
  one.merge(refusal_of(3, "no file"));
  EXPECT_EQ(one.bytes(), header + 7);
  EXPECT_EQ(one.reason(), "no file");
}

TEST(RanksInPairs, AddInOneOrder) {
  const auto name = [](int rank) { return std::string(1, static_cast<char>('a' + rank)); };
  struct Term {
    std::string text;
    Term operator+(const Term& other) const { return {"(" + text + other.text + ")"}; }
  };
  const auto sum = [&](int ranks) { return sum_in_pairs<Term>(ranks, [&](int r) { return Term{name(r)}; }).text; };
  EXPECT_EQ(sum(1), "a");
  EXPECT_EQ(sum(2), "(ab)");
  EXPECT_EQ(sum(3), "((ac)b)");
  EXPECT_EQ(sum(4), "((ab)(cd))");
  EXPECT_EQ(sum(7), "(((ae)(bf))((cg)d))");
  EXPECT_EQ(sum(8), "(((ab)(cd))((ef)(gh)))");
  EXPECT_EQ((sum_in_pairs<Term, 8>(8, [&](int r) { return Term{name(r)}; }).text), sum(8));
}

// Whatever the tree by which they are merged.
TEST(Envelope, VerdictsDoNotDependOnTheOrder) {
  std::vector<Envelope> envelopes{envelope_of<double>(1, WireType::float64, Reduction::sum, {1}),
                                  envelope_of<double>(2, WireType::float64, Reduction::sum, {1, 2}),
                                  refusal_of(7, "no memory"), refusal_of(3, "no file"),
                                  envelope_of<double>(1, WireType::float64, Reduction::sum, {1})};
  std::vector<int> order{0, 1, 2, 3, 4};
  do {
    const auto at = [&](int i) { return envelopes[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])]; };
    Envelope left = at(0), right = at(2);
    left.merge(at(1));
    right.merge(at(3));
    right.merge(at(4));
    left.merge(right);
    ASSERT_EQ(left.refusing, 3);
    ASSERT_EQ(left.reason(), "no file");
  } while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace
}  // namespace blockvec

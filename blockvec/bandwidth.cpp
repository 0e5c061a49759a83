#include "blockvec/bandwidth.hpp"

#include <algorithm>
#include <blockvec/transfer.hpp>
#include <chrono>
#include <cstdint>

#include "blockvec/allocate.hpp"
#include "blockvec/entries.hpp"
#include "blockvec/instantiate.hpp"

namespace blockvec::detail {
namespace {

// What a thread loads at once.
struct alignas(16) Pair {
  std::uint64_t first, second;
};

// Bytes a second of the best of a few rounds.
template <class Space, class Work>
double best_rate(const Context& context, double bytes, Work work) {
  constexpr int rounds = 5, repeats = 4;
  double best = 0;
  for (int round = 0; round < rounds; ++round) {
    context.fence<Space>();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < repeats; ++i) work();
    context.fence<Space>();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::max(best, repeats * bytes / seconds.count());
  }
  return best;
}

// sums[i] = the sum of every count-th pair from the i-th on: independent loads, which a thread can have under way
// together.
struct ReadAll {
  const Pair* values;
  std::uint64_t* sums;
  std::int64_t count;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::uint64_t sum = 0;
    for (int k = 0; k < 32; ++k) sum += values[i + k * count].first ^ values[i + k * count].second;
    sums[i] = sum;
  }
};

struct Clear {
  Pair* values;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { values[i] = {0, 0}; }
};

}  // namespace

template <class Space>
MachineBandwidth measure_bandwidth(const Context& context) {
  if constexpr (is_host_space<Space>) {
    return blockvec::measure_bandwidth(context.threads());
  } else {
    constexpr std::int64_t lanes = std::int64_t{1} << 21;
    constexpr std::size_t bytes = 32 * lanes * sizeof(Pair);
    const auto from = allocate<std::byte, Space>(bytes, "BlockVec::bandwidth");
    const auto to = allocate<std::byte, Space>(bytes, "BlockVec::bandwidth");
    launch<Space>(context, 32 * lanes, Clear{reinterpret_cast<Pair*>(from.data())});
    launch<Space>(context, 32 * lanes, Clear{reinterpret_cast<Pair*>(to.data())});
    MachineBandwidth bandwidth;
    bandwidth.read = best_rate<Space>(context, static_cast<double>(bytes), [&] {
      launch<Space>(
          context, lanes,
          ReadAll{reinterpret_cast<const Pair*>(from.data()), reinterpret_cast<std::uint64_t*>(to.data()), lanes});
    });
    bandwidth.copy = best_rate<Space>(context, 2.0 * static_cast<double>(bytes), [&] {
      copy_lines<Space>(context, from.data(), bytes, to.data(), bytes, bytes, 1);
    });
    return bandwidth;
  }
}

#define BLOCKVEC_BANDWIDTH(Space) template MachineBandwidth measure_bandwidth<Space>(const Context&);
BLOCKVEC_FOR_SPACES(BLOCKVEC_BANDWIDTH)

}  // namespace blockvec::detail

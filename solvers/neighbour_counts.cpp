#include "solvers/neighbour_counts.hpp"

#include <algorithm>
#include <array>

namespace blockvec::solvers {
namespace {

struct Parcel {
  std::int64_t from, to, count;
};

/// One message to a rank, one from another.
template <class Item>
void pass_on(const Communicator& communicator, int to, std::vector<Item>& sent, int from, std::vector<Item>& received) {
  const std::array sends{Message{to, sent.data(), sent.size() * sizeof(Item)}};
  const std::array receives{Message{from, received.data(), received.size() * sizeof(Item)}};
  communicator.exchange(std::span(sends).first(sent.empty() ? 0 : 1),
                        std::span(receives).first(received.empty() ? 0 : 1));
}

}  // namespace

std::vector<NeighbourCount> exchange_counts(const Communicator& communicator, const std::vector<NeighbourCount>& mine) {
  const int ranks = communicator.size(), rank = communicator.rank();
  std::vector<Parcel> here;
  for (const NeighbourCount& count : mine) here.push_back({rank, count.rank, count.count});
  for (int step = 1; step < ranks; step *= 2) {
    // A parcel travels its distance bit by bit.
    const auto stays = [&](const Parcel& parcel) {
      return (((static_cast<int>(parcel.to) - rank + ranks) % ranks) & step) == 0;
    };
    const auto leaving = std::stable_partition(here.begin(), here.end(), stays);
    std::vector<Parcel> sent(leaving, here.end());
    here.erase(leaving, here.end());
    const int to = (rank + step) % ranks, from = (rank - step + ranks) % ranks;
    std::vector<std::int64_t> sent_size{std::ssize(sent)}, received_size{0};
    pass_on(communicator, to, sent_size, from, received_size);
    std::vector<Parcel> received(static_cast<std::size_t>(received_size[0]));
    pass_on(communicator, to, sent, from, received);
    here.insert(here.end(), received.begin(), received.end());
  }
  std::vector<NeighbourCount> result;
  for (const Parcel& parcel : here) result.push_back({static_cast<int>(parcel.from), parcel.count});
  std::sort(result.begin(), result.end(),
            [](const NeighbourCount& a, const NeighbourCount& b) { return a.rank < b.rank; });
  return result;
}

}  // namespace blockvec::solvers

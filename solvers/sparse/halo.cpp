#include "solvers/sparse/halo.hpp"

#include "solvers/neighbour_counts.hpp"

namespace blockvec::solvers {

Halo::Halo(const RowDistribution& rows, const Communicator& communicator, const std::vector<std::int64_t>& ghosts)
    : communicator_(communicator), ghosts_(static_cast<std::int64_t>(ghosts.size())) {
  if (communicator.size() == 1) return;
  std::vector<NeighbourCount> wanted;
  for (const std::int64_t ghost : ghosts) {
    const int owner = rows.owner(ghost);
    if (wanted.empty() || wanted.back().rank != owner) wanted.push_back({owner, 0});
    ++wanted.back().count;
  }
  std::int64_t received = 0;
  for (const auto& [rank, count] : wanted) {
    receives_.push_back({rank, received, count});
    received += count;
  }
  std::int64_t sent = 0;
  for (const auto& [rank, count] : exchange_counts(communicator, wanted)) {
    sends_.push_back({rank, sent, count});
    sent += count;
  }

  std::vector<std::int64_t> ghost_list = ghosts;  // messages are not const
  std::vector<std::int64_t> sent_list(static_cast<std::size_t>(sent));
  std::vector<Message> sends;
  std::vector<Message> receives;
  for (const Neighbour& from : receives_) {
    sends.push_back(
        {from.rank, ghost_list.data() + from.first, static_cast<std::size_t>(from.count) * sizeof(std::int64_t)});
  }
  for (const Neighbour& to : sends_) {
    receives.push_back(
        {to.rank, sent_list.data() + to.first, static_cast<std::size_t>(to.count) * sizeof(std::int64_t)});
  }
  communicator.exchange(sends, receives);

  sent_rows_.reserve(sent_list.size());
  for (const std::int64_t row : sent_list) sent_rows_.push_back(static_cast<std::int32_t>(row - rows.begin()));
  send_messages_.resize(sends_.size());
  receive_messages_.resize(receives_.size());
}

}  // namespace blockvec::solvers

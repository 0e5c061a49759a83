#include "solvers/sparse/halo.hpp"

namespace blockvec::solvers {

Halo::Halo(const RowDistribution& rows, const Communicator& communicator, const std::vector<std::int64_t>& ghosts)
    : communicator_(communicator), ghosts_(static_cast<std::int64_t>(ghosts.size())) {
  if (communicator.size() == 1) return;
  const auto ranks = static_cast<std::size_t>(communicator.size());

  std::vector<std::int64_t> wanted(ranks, 0);
  for (const std::int64_t ghost : ghosts) ++wanted[static_cast<std::size_t>(rows.owner(ghost))];
  std::vector<std::int64_t> asked(ranks, 0);  // how many of this rank's rows each of the others wants
  std::vector<Message> sends;
  std::vector<Message> receives;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    if (rank == communicator.rank()) continue;
    sends.push_back({rank, &wanted[static_cast<std::size_t>(rank)], sizeof(std::int64_t)});
    receives.push_back({rank, &asked[static_cast<std::size_t>(rank)], sizeof(std::int64_t)});
  }
  communicator.exchange(sends, receives);

  std::int64_t sent = 0;
  std::int64_t received = 0;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    if (asked[index] > 0) sends_.push_back({rank, sent, asked[index]});
    if (wanted[index] > 0) receives_.push_back({rank, received, wanted[index]});
    sent += asked[index];
    received += wanted[index];
  }

  std::vector<std::int64_t> ghost_list = ghosts;  // messages are not const
  std::vector<std::int64_t> sent_list(static_cast<std::size_t>(sent));
  sends.clear();
  receives.clear();
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

#pragma once

#include <algorithm>
#include <blockvec/block_vector.hpp>
#include <blockvec/kernels/parallel.hpp>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

namespace blockvec::solvers {

/// Which rows of other ranks ("ghosts") this rank needs, and which of its own the others need. One message per
/// neighbour and exchange.
class Halo {
 public:
  /// `ghosts`: the global rows needed from others, ascending, hence sorted by owner. Collective:
  /// two messages for each doubling of the ranks, and one for each neighbour.
  Halo(const RowDistribution& rows, const Communicator& communicator, const std::vector<std::int64_t>& ghosts);

  std::int64_t ghosts() const { return ghosts_; }
  /// Ranks that this rank receives from, and rows that it sends, over all neighbours.
  std::size_t neighbours() const { return receives_.size(); }
  std::int64_t rows_sent() const { return std::ssize(sent_rows_); }
  /// Their local numbers, by neighbour.
  const std::vector<std::int32_t>& sent_rows() const { return sent_rows_; }

  /// Fetches the ghosts' rows of X into `ghost_rows` (ghosts x width, row-major without gaps). Collective.
  template <class Scalar, class Layout>
  void exchange(const BlockVector<Scalar, Layout>& x, Scalar* ghost_rows);

  /// The messages of an exchange of blocks `width` wide: `packed` holds the rows to be sent (rows_sent() x width, as
  /// above), `ghost_rows` takes the ghosts'. Valid until the next call.
  struct Messages {
    std::span<const Message> sends, receives;
  };
  template <class Scalar>
  Messages messages(std::int64_t width, Scalar* packed, Scalar* ghost_rows);

 private:
  struct Neighbour {
    int rank;
    std::int64_t first;  // of sent_rows_ or of the ghosts
    std::int64_t count;
  };
  Communicator communicator_;
  std::int64_t ghosts_;
  std::vector<std::int32_t> sent_rows_;  // local numbers, by neighbour
  std::vector<Neighbour> sends_;
  std::vector<Neighbour> receives_;
  std::vector<Message> send_messages_;
  std::vector<Message> receive_messages_;
};

template <class Scalar, class Layout>
void Halo::exchange(const BlockVector<Scalar, Layout>& x, Scalar* ghost_rows) {
  if (communicator_.size() == 1) return;
  const auto width = static_cast<std::size_t>(x.width());
  WorkspaceScope<> scope(x.context());
  auto* const packed = scope.take<Scalar>(sent_rows_.size() * width);
  const auto view = x.view();
  constexpr std::int64_t chunk = 1024;
  const auto rows = static_cast<std::int64_t>(sent_rows_.size());
  kernels::parallel_for(x.context().threads(), (rows + chunk - 1) / chunk, [&](std::int64_t item, int) {
    for (std::int64_t i = item * chunk; i < std::min(rows, (item + 1) * chunk); ++i) {
      const auto row = static_cast<std::size_t>(sent_rows_[static_cast<std::size_t>(i)]);
      for (std::size_t j = 0; j < width; ++j) packed[static_cast<std::size_t>(i) * width + j] = view(row, j);
    }
  });
  const Messages all = messages(x.width(), packed, ghost_rows);
  communicator_.exchange(all.sends, all.receives);
}

template <class Scalar>
Halo::Messages Halo::messages(std::int64_t width, Scalar* packed, Scalar* ghost_rows) {
  const auto message = [width](const Neighbour& neighbour, Scalar* data) {
    return Message{neighbour.rank, data + neighbour.first * width,
                   static_cast<std::size_t>(neighbour.count * width) * sizeof(Scalar)};
  };
  for (std::size_t i = 0; i < sends_.size(); ++i) send_messages_[i] = message(sends_[i], packed);
  for (std::size_t i = 0; i < receives_.size(); ++i) receive_messages_[i] = message(receives_[i], ghost_rows);
  return {send_messages_, receive_messages_};
}

}  // namespace blockvec::solvers

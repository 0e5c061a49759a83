#pragma once

#include <cstdint>

#include "src/cuda/operands/load_flat_rows.cuh"
#include "src/cuda/operands/matrix.cuh"

/// The dynamic tile scheduler of tsmm: a ticket decides which row tiles (chunks) a block or a warp takes.
///
/// Blocks that run side by side drift apart and disturb the memory's order. So they take chunks from a ticket rather
/// than in fixed turns. The result of a row does not depend on who computes it: results repeat bit for bit.
namespace blockvec::kernels::cuda {

/// What all tsmm kernels share whose blocks take row tiles (chunks) from a ticket.
template <class Real>
struct TsmmTask {
  Small<Real> small;  ///< the operand C
  Coefficient<Real> alpha, beta;
  unsigned*
      tickets;  ///< counter of the tile scheduler: the number of the next ticket; zero at the start and at the end
  std::uint32_t chunks;
  /// A ticket stands for this many consecutive chunks.
  std::uint32_t chunks_per_ticket;
  std::uint32_t draws;  ///< tickets that all takers draw together: each of them draws one that stands for no chunk

  /// `items`: chunks, counted once for each CTA tile. `takers`: blocks or warps that take tickets.
  void set_draws(std::int64_t items, std::int64_t takers) {
    draws = static_cast<std::uint32_t>(ceil_div(items, chunks_per_ticket) + takers);
  }

  /// Returns the next ticket. Who draws the last one leaves the counter at zero for the next kernel.
  __device__ unsigned draw_ticket() const {
    const unsigned ticket = atomicAdd(tickets, 1U);
    if (ticket + 1 == draws) *tickets = 0;
    return ticket;
  }
};

/// Calls visit(chunk) for every chunk of the tickets that this warp takes. The warp asks for its next ticket before it
/// visits the chunks of the last one, so that it does not wait for the answer. Several warps may visit the same chunks:
/// one of them `leads`, and share(ticket) tells all of them its ticket.
template <class Task, class Visit, class Share>
__device__ inline void for_each_chunk(const Task& p, const Visit& visit, bool leads, const Share& share) {
  const auto take_ticket = [&] {
    unsigned ticket = 0;
    if (leads && elected()) ticket = p.draw_ticket();
    return ticket;
  };
  const auto first_chunk = [&](unsigned ticket) {
    return static_cast<std::uint32_t>(share(__reduce_or_sync(0xffffffffU, ticket))) * p.chunks_per_ticket;
  };
  std::uint32_t first = first_chunk(take_ticket());
  while (first < p.chunks) {
    const unsigned next = take_ticket();
    const std::uint32_t end = min(first + p.chunks_per_ticket, p.chunks);
    for (std::uint32_t chunk = first; chunk < end; ++chunk) visit(chunk);
    first = first_chunk(next);
  }
}
template <class Task, class Visit>
__device__ inline void for_each_chunk(const Task& p, const Visit& visit) {
  for_each_chunk(p, visit, true, [](unsigned ticket) { return ticket; });
}

/// Hands the chunks of for_each_chunk to a warp one by one.
template <class Task>
class Chunks {
 public:
  __device__ explicit Chunks(const Task& p) : p_(p), next_(take_ticket()) {}

  /// Returns the next chunk. There is none if it is p.chunks or more; then nobody asks again.
  __device__ std::uint32_t take() {
    if (left_ == 0) {
      chunk_ = static_cast<std::uint32_t>(__reduce_or_sync(0xffffffffU, next_)) * p_.chunks_per_ticket;
      left_ = p_.chunks_per_ticket;
      if (chunk_ < p_.chunks) next_ = take_ticket();
    }
    --left_;
    return chunk_++;
  }

 private:
  __device__ unsigned take_ticket() const { return elected() ? p_.draw_ticket() : 0; }

  const Task& p_;
  unsigned next_;  ///< the next ticket, in one lane
  std::uint32_t chunk_ = 0;
  std::uint32_t left_ = 0;  ///< chunks of this ticket
};

}  // namespace blockvec::kernels::cuda

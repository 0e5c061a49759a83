#pragma once

#include <cstdint>

#include "src/cuda/operands/load_flat_rows.cuh"
#include "src/cuda/operands/matrix.cuh"

/// The dynamic tile scheduler of tsmm: a ticket decides which row tiles (chunks) a block or a warp takes.
///
/// Blocks that run side by side drift apart and disturb the memory's order. So they take chunks from a ticket rather
/// than in fixed turns. The result of a row does not depend on who computes it: results repeat bit for bit.
namespace blockvec::kernels::cuda {

/// What tsmm kernels share whose blocks take row tiles (chunks) from a ticket.
template <class Real>
struct TsmmTask : TsmmTerms<Real> {
  /// Counter of the tile scheduler: the number of the next ticket. It is zero at the start and at the end.
  unsigned* tickets;
  std::uint32_t chunks;
  std::uint32_t chunks_per_ticket;  ///< consecutive chunks that a ticket stands for
  std::uint32_t draws;  ///< tickets that all takers draw together: each of them draws one that stands for no chunk

  /// A taker calls this with its last ticket. Who has drawn the last one of all leaves the counter at zero for the next
  /// kernel.
  __device__ void give_back(unsigned ticket) const {
    if (ticket + 1 == draws) *tickets = 0;
  }
};

/// Calls visit(chunk) for every chunk of the tickets that this warp takes. The warp asks for its next ticket before it
/// visits the chunks of the last one, so that it does not wait for the answer. Several warps may visit the same chunks:
/// one of them `leads`, and share(ticket) tells all of them its ticket.
template <class Task, class Visit, class Share>
__device__ inline void for_each_chunk(const Task& p, const Visit& visit, bool leads, const Share& share) {
  const auto take_ticket = [&] {
    unsigned ticket = 0;
    if (leads && elected()) ticket = atomicAdd(p.tickets, 1U);
    return ticket;
  };
  const auto shared_ticket = [&](unsigned ticket) { return share(__reduce_or_sync(0xffffffffU, ticket)); };
  unsigned ticket = shared_ticket(take_ticket());
  while (ticket * p.chunks_per_ticket < p.chunks) {
    const unsigned next = take_ticket();
    const std::uint32_t first = ticket * p.chunks_per_ticket;
    const std::uint32_t end = min(first + p.chunks_per_ticket, p.chunks);
    for (std::uint32_t chunk = first; chunk < end; ++chunk) visit(chunk);
    ticket = shared_ticket(next);
  }
  if (leads && elected()) p.give_back(ticket);
}
template <class Task, class Visit>
__device__ inline void for_each_chunk(const Task& p, const Visit& visit) {
  for_each_chunk(p, visit, true, [](unsigned ticket) { return ticket; });
}
/// `threads` threads visit the same chunks. They pass tickets on through `tickets` in shared memory.
template <int threads, class Task, class Visit>
__device__ inline void for_each_chunk(const Task& p, const Visit& visit, bool leads, std::uint32_t (&tickets)[2]) {
  int turn = 0;
  for_each_chunk(p, visit, leads, [&](unsigned ticket) {
    turn ^= 1;
    if (leads && elected()) tickets[turn] = ticket;
    meet(2, threads);
    return tickets[turn];
  });
}

/// Hands the chunks of for_each_chunk to a warp one by one.
template <class Task>
class Chunks {
 public:
  __device__ explicit Chunks(const Task& p) : p_(p), next_(take_ticket()) {}

  /// Returns the next chunk. There is none if it is p.chunks or more; then nobody asks again.
  __device__ std::uint32_t take() {
    if (left_ == 0 || chunk_ >= p_.chunks) {
      const unsigned ticket = __reduce_or_sync(0xffffffffU, next_);
      chunk_ = ticket * p_.chunks_per_ticket;
      left_ = p_.chunks_per_ticket;
      if (chunk_ < p_.chunks) {
        next_ = take_ticket();
      } else if (elected()) {
        p_.give_back(ticket);
      }
    }
    --left_;
    return chunk_++;
  }

 private:
  __device__ unsigned take_ticket() const { return elected() ? atomicAdd(p_.tickets, 1U) : 0; }

  const Task& p_;
  unsigned next_;  ///< the next ticket, in one lane
  std::uint32_t chunk_ = 0;
  std::uint32_t left_ = 0;  ///< chunks of this ticket
};

}  // namespace blockvec::kernels::cuda

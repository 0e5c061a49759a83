#pragma once

#include "src/cuda/operands/matrix.cuh"
#include "src/cuda/operands/staged.cuh"
#include "src/cuda/tsmm/task.cuh"

/// The producer side of tsmm's multistage pipeline (ring): a warp loads row tiles (chunks) into stages. A ticket
/// decides which chunks a block takes.
namespace blockvec::kernels::cuda {

template <class Real>
struct TsmmRing : TsmmTask<Real> {
  Staged<Real> a;
  Staged<Real> old;  ///< B's rows before the product; boxed: TMA loads and stores B's rows
  /// Bytes of B's rows in a stage, which beta scales. 0: B's old rows do not come through the ring.
  int stage_bytes_b;
  Real* b;
  std::int64_t pitch_b;
  int pitch_out;  ///< numbers from row to row in shared memory, where results wait for their store
  int m, n;
  std::int64_t k;
  int rows;
  int stages;
  int groups;
  int warps;  ///< warps of a consumer warp group
  RowMap map;
  int full_barriers;  ///< number of barriers that announce full stages: see dispatch::full_barriers
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

/// The loading warp takes tickets and fills stages. At the end it sends every group a stage marked no_chunk. `in_turn`:
/// groups take stages in turn, so that there may be more barriers than stages (full_barriers).
template <bool two, bool in_turn = false, class Real>
__device__ inline void load_chunks(const TsmmRing<Real>& p, RingBarriers& barriers, std::uint32_t* chunk_of,
                                   unsigned char* ring, int bytes_a) {
  const RowFeeder<Real> a(p.a, p.rows, 0);
  const RowFeeder<Real> b(p.old, p.rows, 0);
  RingPosition at{0, 1};
  RingPosition told{0, 0};
  const auto full = [&]() -> Barrier& { return barriers.full[in_turn ? told.stage : at.stage]; };
  const auto advance = [&] {
    at.advance(1, p.stages);
    if (in_turn) told.advance(1, p.full_barriers);
  };
  const int bytes = bytes_a + p.stage_bytes_b;
  for_each_chunk(p, [&](std::uint32_t chunk) {
    barriers.empty[at.stage].wait(at.parity);
    if (elected()) chunk_of[at.stage] = chunk;  // the same lane arrives at the barrier
    fill_stage<two>(a, b, bytes_a, chunk, ring + at.stage * bytes, full());
    advance();
  });
  for (int group = 0; group < p.groups; ++group) {
    barriers.empty[at.stage].wait(at.parity);
    if (elected()) {
      chunk_of[at.stage] = no_chunk;
      full().arrive();
    }
    __syncwarp();
    advance();
  }
}

}  // namespace blockvec::kernels::cuda

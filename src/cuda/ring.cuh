#pragma once

#include <cstdint>

#include "src/cuda/operands.cuh"
#include "src/cuda/pipeline.cuh"

/// A ring of stages in shared memory: one warp fills them with chunks of rows, the others empty them.
namespace blockvec::kernels::cuda {

inline constexpr int warp_size = 32;
inline constexpr int computing_warps = 8;
inline constexpr int computing_threads = computing_warps * warp_size;
inline constexpr int loading_threads = 128;  // a whole warpgroup, so that its registers can be given away
inline constexpr int block_threads = computing_threads + loading_threads;
inline constexpr int line_bytes = 128;

/// Where a thread stands in the ring.
struct RingPosition {
  int stage;
  unsigned parity;

  __device__ void advance(int steps, int stages) {
    stage += steps;
    if (stage >= stages) {
      stage -= stages;
      parity ^= 1;
    }
  }
};

/// Barriers of a ring of up to `max_stages` stages.
inline constexpr int max_stages = 64;
struct RingBarriers {
  Barrier full[max_stages];
  Barrier empty[max_stages];

  /// By one thread, before the block's first barrier.
  __device__ void initialize(int stages, unsigned emptying_warps) {
    for (int s = 0; s < stages; ++s) {
      full[s].initialize(1);
      empty[s].initialize(emptying_warps);
    }
    publish_barriers();
  }
};

/// Bytes of a stage of `rows` rows. Bulk copies run at full speed only where source and destination are congruent
/// modulo a line, hence up to a line of shift.
template <class Real>
__host__ __device__ constexpr int stage_bytes(int rows, int pitch) {
  return static_cast<int>(round_up(static_cast<std::int64_t>(rows) * pitch * sizeof(Real), line_bytes)) + line_bytes;
}

/// Real numbers between the start of a stage and its first row, the same for all chunks of whole lines.
template <class Real>
__device__ inline int stage_shift(const Stream<Real>& stream) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(stream.data) % line_bytes / sizeof(Real));
}

/// One chunk of an operand on its way into a stage.
template <class Real>
struct ChunkCopy {
  const Real* from;
  Real* to;
  int numbers;             ///< in a whole chunk
  std::int64_t available;  ///< of the matrix, from `from` on
  unsigned lead;           ///< bytes from the last multiple of 16 to `from`
  bool inside;             ///< whole, and with whole multiples of 16 bytes inside the matrix

  __device__ ChunkCopy(const Stream<Real>& stream, std::int64_t chunk, int rows, void* stage) {
    numbers = rows * stream.pitch;
    const std::int64_t first = chunk * numbers;
    from = stream.data + first;
    to = static_cast<Real*>(stage) + stage_shift(stream);
    available = stream.count - first;
    lead = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from) % 16);
    inside = available >= numbers;
    if (lead != 0) inside = first > 0 && available >= numbers + static_cast<int>(16 / sizeof(Real));
  }

  __device__ unsigned bulk_bytes() const {
    return inside ? static_cast<unsigned>(round_up(lead + numbers * static_cast<int>(sizeof(Real)), 16)) : 0;
  }

#if __CUDA_ARCH__ >= 900
  /// By one lane.
  __device__ void start_bulk(Barrier& full) const {
    const unsigned back = lead / sizeof(Real);
    if (inside) bulk_load(to - back, from - back, bulk_bytes(), full);
  }
#endif

  /// By a warp: what bulk copies cannot take; numbers beyond the matrix are zero.
  __device__ void start_plain(int lane) const {
    if (inside) return;
    for (int i = lane; i < numbers; i += warp_size) {
      const bool valid = i < available;
      async_copy<sizeof(Real)>(to + i, valid ? from + i : from, valid);
    }
  }
};

/// A warp fills a stage with a chunk of one or two operands (`second` null).
template <class Real>
__device__ inline void fill_stage(const ChunkCopy<Real>& first, const ChunkCopy<Real>* second, Barrier& full,
                                  int lane) {
#if __CUDA_ARCH__ >= 900
  const bool plain = !first.inside || (second != nullptr && !second->inside);
  if (plain) {
    first.start_plain(lane);
    if (second != nullptr) second->start_plain(lane);
    asm volatile("cp.async.wait_all;" ::: "memory");
    publish_to_bulk_copies();
    __syncwarp();
  }
  if (lane == 0) {
    full.arrive_and_expect(first.bulk_bytes() + (second != nullptr ? second->bulk_bytes() : 0));
    first.start_bulk(full);
    if (second != nullptr) second->start_bulk(full);
  }
#endif
}

/// Which rows of a group of 16 a lane takes, so that the lanes of a warp meet different banks: row
/// by_lane (lane % 4) + by_first (j % 2) + by_second (j / 2) for j = 0..3.
struct RowMap {
  int by_lane;
  int by_first;
  int by_second;
};

}  // namespace blockvec::kernels::cuda

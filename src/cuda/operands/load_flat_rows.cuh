#pragma once

#include <cstdint>

#include "src/cuda/operands/matrix.cuh"
#include "src/cuda/ptx/pipeline.cuh"
#include "src/dispatch/cuda/constants.hpp"

/// The multistage pipeline (ring) in shared memory: one warp fills its stages with row tiles (chunks), other warps
/// empty them.
namespace blockvec::kernels::cuda {

using dispatch::computing_warps;
inline constexpr int computing_threads = computing_warps * warp_size;
inline constexpr int loading_threads = 128;  // a whole warpgroup, so that its registers can be given away
inline constexpr int block_threads = computing_threads + loading_threads;
using dispatch::line_bytes;
using dispatch::max_stages;
using dispatch::RowMap;

/// The row of a warp's 16 that lanes 4 `group` and on take, in either half of them.
__device__ inline int row_of(const RowMap& map, int group, int half) {
  return map.by_lane * (group % 4) + map.by_first * (group / 4) + map.by_second * half;
}

/// The stage and the barrier phase at which a thread stands in the pipeline.
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

/// The barriers of a pipeline of up to `max_stages` stages.
struct RingBarriers {
  Barrier full[max_stages];
  Barrier empty[max_stages];

  /// One thread calls this before the block's first barrier. Every thread that reads a stage arrives when it is done.
  __device__ void initialize(int stages, unsigned emptying_warps, unsigned filling_warps = 1) {
    for (int s = 0; s < stages; ++s) {
      full[s].initialize(filling_warps);
      empty[s].initialize(emptying_warps * warp_size);
    }
    publish_barriers();
  }
};

/// Marks a stage after which no row tile follows.
inline constexpr std::uint32_t no_chunk = 0xffffffffU;

/// Bytes of a stage of `rows` rows. Bulk copies run at full speed only where source and destination are congruent
/// modulo a cache line. Hence a stage has room for a shift by up to one line.
template <class Real>
__host__ __device__ constexpr int stage_bytes(int rows, int pitch) {
  return static_cast<int>(dispatch::stage_bytes(rows, pitch, sizeof(Real)));
}

/// Real numbers between the start of a stage and its first row. It is the same for all row tiles of whole lines.
template <class Real>
__host__ __device__ inline int stage_shift(const Stream<Real>& stream) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(stream.data) % line_bytes / sizeof(Real));
}

/// Loads a flat operand (Stream) into stages, one row tile (chunk) at a time.
template <class Real>
class Feed {
 public:
  __device__ Feed(const Stream<Real>& stream, int rows)
      : from_(stream.data), count_(stream.count), numbers_(rows * stream.pitch), shift_(stage_shift(stream)) {
    // A bulk copy moves a multiple of 16 bytes. Plain copies load the row tiles where that would leave the matrix.
    constexpr int sixteen_bytes = 16 / sizeof(Real);
    lead_ = static_cast<int>(reinterpret_cast<std::uintptr_t>(from_) % 16 / sizeof(Real));
    first_bulk_ = lead_ != 0 ? 1 : 0;
    end_bulk_ = static_cast<std::uint32_t>((count_ - (lead_ != 0 ? sixteen_bytes : 0)) / numbers_);
  }

  __device__ bool in_bulk(std::uint32_t chunk) const { return chunk >= first_bulk_ && chunk < end_bulk_; }

  __device__ unsigned bytes() const {
    return static_cast<unsigned>((lead_ + numbers_) * static_cast<int>(sizeof(Real)) + 15) / 16 * 16;
  }
  /// One lane calls this.
  __device__ void start_bulk(std::uint32_t chunk, unsigned char* stage, Barrier& full) const {
    Real* const to = reinterpret_cast<Real*>(stage) + shift_ - lead_;
    bulk_load(to, from_ - lead_ + static_cast<std::uint64_t>(chunk) * static_cast<std::uint32_t>(numbers_), bytes(),
              full);
  }

  /// One lane calls this. The row tile comes only into the L2 cache.
  __device__ void prefetch(std::uint32_t chunk) const {
    if (!in_bulk(chunk)) return;
    bulk_prefetch(from_ - lead_ + static_cast<std::uint64_t>(chunk) * static_cast<std::uint32_t>(numbers_), bytes());
  }

  /// All lanes of a warp call this. Numbers beyond the matrix become zero.
  __device__ void start_plain(std::uint32_t chunk, unsigned char* stage, int lane) const {
    Real* const to = reinterpret_cast<Real*>(stage) + shift_;
    const std::int64_t first = static_cast<std::int64_t>(chunk) * numbers_;
    int begin = 0;
    if constexpr (!has_bulk_copies) {
      // All row tiles come this way, by copies of 16 bytes as far as possible. Where bulk copies exist, this code would
      // only slow down what is done for every row tile.
      constexpr int unit = 16 / sizeof(Real);
      const Real* const from = from_ + first;
      const int valid = static_cast<int>(min(static_cast<std::int64_t>(numbers_), count_ - first));
      const int early = min((unit - lead_) % unit, valid);
      const int units = (valid - early) / unit;
      if (lane < early) async_copy<sizeof(Real)>(to + lane, from + lane, true);
#pragma unroll 4
      for (int i = lane; i < units; i += warp_size) {
        async_copy<16>(to + early + i * unit, from + early + i * unit, true);
      }
      begin = early + units * unit;
    }
    for (int i = begin + lane; i < numbers_; i += warp_size) {
      const bool valid = first + i < count_;
      async_copy<sizeof(Real)>(to + i, from_ + (valid ? first + i : 0), valid);
    }
  }

 private:
  const Real* from_;
  std::int64_t count_;
  std::uint32_t first_bulk_;
  std::uint32_t end_bulk_;
  int numbers_;  ///< in a row tile
  int shift_;    ///< numbers from the start of a stage to its first row
  int lead_;     ///< numbers from the last multiple of 16 bytes to the matrix
};

}  // namespace blockvec::kernels::cuda

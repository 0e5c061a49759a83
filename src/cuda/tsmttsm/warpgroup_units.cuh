#pragma once

#include "src/cuda/math/tf32x3.cuh"
#include "src/cuda/ptx/wgmma_tf32.cuh"
#include "src/cuda/tsmttsm/ring.cuh"
#include "src/dispatch/cuda/constants.hpp"

/// Thread blocks where one warpgroup loads, one transposes (turns) B's rows, and two multiply units of rows in turn.
/// This file says who takes which unit, how warps signal one another, and how transposed rows lie in memory.
namespace blockvec::kernels::cuda {

inline constexpr int multiplying_groups = 2;
inline constexpr int multiplying_threads = multiplying_groups * warpgroup_threads;
inline constexpr int turning_block_threads = multiplying_threads + warpgroup_threads + loading_threads;

inline constexpr int turned_rows = 16;

/// Layout of B's transposed rows for one warpgroup: [8 rows][high, low][4 rows][column][4].
template <int columns>
struct TurnedRows {
  static constexpr int four_rows = columns * 16;  ///< bytes
  static constexpr int part = 2 * four_rows;
  static constexpr int step = 2 * part;
  static constexpr int bytes = turned_rows / 8 * step;
};

/// Splits four numbers into the left factors of 3xTF32.
__device__ inline void split_left(const float (&x)[4], unsigned (&left)[2][4]) {
#pragma unroll
  for (int v = 0; v < 4; ++v) {
    const SplitNumber both = split(x[v]);
    left[0][v] = both.high;
    left[1][v] = both.low;
  }
}

/// Makes the compiler compute left factors before any product starts that takes some of them.
__device__ inline void complete_before_products(unsigned (&left)[2][4]) {
#pragma unroll
  for (int i = 0; i < 8; ++i) asm volatile("" : "+r"((&left[0][0])[i]));
}

/// A warp's position when it takes every `step`-th unit. A row tile has `units` units: a power of two, or at least
/// `step`.
template <int step>
class UnitPosition {
 public:
  int unit;  ///< number in its row tile
  RingPosition at;

  __device__ UnitPosition(int first, int units, int stages)
      : unit(first % units),
        at{first / units, 0},
        units_(units),
        wrap_(max(units, step)),
        chunks_(max(1, step / units)),
        stages_(stages) {}
  /// Whether the next unit is in another row tile.
  __device__ bool leaves() const { return unit + step >= units_; }
  __device__ void advance() {
    const bool leaves = this->leaves();
    unit += step - (leaves ? wrap_ : 0);
    at.advance(leaves ? chunks_ : 0, stages_);
  }

 private:
  int units_, wrap_, chunks_, stages_;
};

/// One lane arrives for its warp, once all lanes are done.
__device__ inline void arrive_as_warp(std::uint32_t barrier) {
  __syncwarp();
  if (elected()) arrive_at(barrier);
}

/// The address of barriers. The compiler must keep it in a register instead of computing it again and again.
__device__ inline std::uint32_t kept_address(const Barrier* barriers) {
  std::uint32_t address = shared_address(barriers);
  asm volatile("" : "+r"(address));
  return address;
}

/// Reads two neighbours at an address in shared memory.
__device__ inline float2 read_shared_pair(std::uint32_t from) {
  float2 pair;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(pair.x), "=f"(pair.y) : "r"(from) : "memory");
  return pair;
}
__device__ inline float4 read_shared_four(std::uint32_t from) {
  float4 x;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
               : "r"(from)
               : "memory");
  return x;
}

/// Reads numbers of two columns that are `apart` bytes apart.
template <bool neighbours>
__device__ inline float2 read_pair(std::uint32_t from, std::uint32_t apart) {
  return neighbours ? read_shared_pair(from) : make_float2(read_shared(from), read_shared(from + apart));
}

}  // namespace blockvec::kernels::cuda

#pragma once

#include "src/cuda/tsmttsm_tiles.cuh"

/// Single precision by split TF32: a number is the sum of two of 11 bits each, and three of the four products of such
/// parts, in tensor cores with single-precision sums, stand for the product. The sums of a chunk of rows are added up
/// in double precision.
namespace blockvec::kernels::cuda {

/// A number's first 11 bits, rounded to nearest, and what they leave, as tensor cores take them: they read 11 bits.
struct SplitNumber {
  unsigned high, low;
};

__device__ inline SplitNumber split(float x) {
  const unsigned high = (__float_as_uint(x) + 0x1000U) & 0xffffe000U;
  return {high, __float_as_uint(x - __uint_as_float(high))};
}

/// 16 x 8 x 8; which lane holds what is as in multiply_16x8x16, with depths q and q + 4.
__device__ inline void multiply_tf32(float (&sum)[4], const unsigned (&left)[4], const unsigned (&right)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
}

/// FullTiles for split products.
template <int m, int n>
struct SplitTiles : FullTiles<m, n> {
  static constexpr bool in_chunks = true;
  float chunk[m][n][4] = {};

  template <bool by_columns>
  __device__ void add_split(const float* a, const Lane<by_columns>& lane_a, const float* b,
                            const Lane<by_columns>& lane_b) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      unsigned high[m][4];
      unsigned low[m][4];
#pragma unroll
      for (int x = 0; x < m; ++x) {
#pragma unroll
        for (int v = 0; v < 4; ++v) {
          const SplitNumber parts = split(lane_a.number(a, 2 * x + v % 2, 2 * half + v / 2));
          high[x][v] = parts.high;
          low[x][v] = parts.low;
        }
      }
      unsigned right_high[n][2];
      unsigned right_low[n][2];
#pragma unroll
      for (int y = 0; y < n; ++y) {
#pragma unroll
        for (int v = 0; v < 2; ++v) {
          const SplitNumber parts = split(lane_b.number(b, y, 2 * half + v));
          right_high[y][v] = parts.high;
          right_low[y][v] = parts.low;
        }
      }
      // Small products first; those that wait for one another stand far apart.
#pragma unroll
      for (int product = 0; product < 3; ++product) {
#pragma unroll
        for (int y = 0; y < n; ++y) {
#pragma unroll
          for (int x = 0; x < m; ++x) {
            multiply_tf32(chunk[x][y], product == 0 ? low[x] : high[x], product == 1 ? right_low[y] : right_high[y]);
          }
        }
      }
    }
  }

  /// Adds the chunk's sums, if they are finite in the whole warp. If not, the chunk is to be added again in double
  /// precision, which tells infinities from overflow and both from what their parts make of them.
  __device__ bool close_chunk() {
    bool finite = true;
#pragma unroll
    for (int x = 0; x < m; ++x) {
#pragma unroll
      for (int y = 0; y < n; ++y) {
#pragma unroll
        for (int v = 0; v < 4; ++v) finite = finite && chunk[x][y][v] * 0 == 0;
      }
    }
    finite = __all_sync(0xffffffffU, finite);
#pragma unroll
    for (int x = 0; x < m; ++x) {
#pragma unroll
      for (int y = 0; y < n; ++y) {
#pragma unroll
        for (int v = 0; v < 4; ++v) {
          if (finite) this->sum[x][y][v] += chunk[x][y][v];
          chunk[x][y][v] = 0;
        }
      }
    }
    return finite;
  }
};

}  // namespace blockvec::kernels::cuda

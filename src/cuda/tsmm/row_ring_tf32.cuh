#pragma once

#include "src/cuda/math/tf32x3.cuh"
#include "src/cuda/operands/matrix.cuh"

/// tsmm in single precision by 3xTF32 (math/tf32x3.cuh): C is packed in two TF32 halves, which are multiplied with A's.
namespace blockvec::kernels::cuda {

inline constexpr int split_step = 256;  ///< numbers of packed C: 16 columns x 8 rows x 2 parts
__host__ __device__ constexpr int split_piece(int m) { return (m + 7) / 8 * split_step; }

/// Packs C in the tensor cores' order, [16 columns of B][depth / 8][high, low][lane][4]: a lane reads 16 bytes at a
/// time.
template <class Real>
__device__ inline void pack_split(const Small<Real>& small, int m, int n, int pieces, Factor alpha, float* packed,
                                  int thread, int threads) {
  const int steps = (m + 7) / 8;
  for (int i = thread; i < pieces * steps * 128; i += threads) {
    const int lane = i / 4 % 32;
    const int row = i / 128 % steps * 8 + lane % 4 + 4 * (i % 4 / 2);
    const int column = i / 128 / steps * 16 + lane / 4 + 8 * (i % 2);
    const double value = row < m && column < n ? small.scaled(row, column, alpha) : 0.0;
    const SplitNumber parts = split(static_cast<float>(value));
    float* const to = packed + i / 128 * split_step + i % 128;
    to[0] = __uint_as_float(parts.high);
    to[128] = __uint_as_float(parts.low);
  }
}

/// Adds C^T A^T to sum for 8 columns of A. `c` points to their rows of packed C, in this warp's columns.
template <int tn, int tb>
__device__ inline void add_split(float (&sum)[tn][tb][4], const float* c, int piece, const float (&right)[tb][2],
                                 int lane) {
  unsigned parts[2][tb][2];
  split(right, parts);
#pragma unroll
  for (int x = 0; x < tn; ++x) {
    unsigned left[2][4];
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const uint4 four = *reinterpret_cast<const uint4*>(c + x * piece + 128 * part + 4 * lane);
      left[part][0] = four.x;
      left[part][1] = four.y;
      left[part][2] = four.z;
      left[part][3] = four.w;
    }
#pragma unroll
    for (int product = 0; product < 3; ++product) {
#pragma unroll
      for (int t = 0; t < tb; ++t) multiply_tf32(sum[x][t], left[product == 0], parts[product == 1][t]);
    }
  }
}

/// Whether all sums of the whole warp are finite.
template <class Number, int tn, int tb>
__device__ inline bool all_finite(const Number (&sum)[tn][tb][4]) {
  bool finite = true;
#pragma unroll
  for (int i = 0; i < 4 * tn * tb; ++i) finite = finite && (&sum[0][0][0])[i] * 0 == 0;
  return __all_sync(0xffffffffU, finite);
}

}  // namespace blockvec::kernels::cuda

#pragma once

#include "src/cuda/math/f64_tiles.cuh"

/// 3M: complex products by three real ones instead of four, after Gauss:
///   r = sum re re, i = sum im im, x = sum (re + s im)(re + im), s = -1 for A^H B, 1 for A^T B.
/// The product's real part is r - s i, and its imaginary part is x - r - s i. The imaginary part is then as accurate as
/// the product's magnitude, not as its own terms.
namespace blockvec::kernels::cuda {

/// Computes the third factors. Where lanes are flipped (math/f64_tiles.cuh), s is -1: a flipped lane exchanges the real
/// and imaginary parts of a row. r, i and x then stay the same if the third factors are im + re of A and im - re of B.
template <int count>
__device__ inline void complete_factors(double (&of)[3][count], double sign) {
#pragma unroll
  for (int v = 0; v < count; ++v) of[2][v] = of[0][v] + sign * of[1][v];
}

/// The sums r, i and x of m x n MMA tiles of 16 x 8 complex numbers, for complex double precision.
template <int m, int n>
struct GaussTiles {
  static constexpr bool may_turn = false;
  static constexpr int numbers = 2;
  static constexpr bool flips = true;
  static constexpr int rows = 32 * m;
  static constexpr int columns = 16 * n;
  static constexpr int warps = dispatch::gauss_warps({m, n});
  double sign;
  int live;                     ///< MMA tiles of 8 columns that lie within the result
  double sum[3][m][n][4] = {};  // r, i, x

  /// Adds 16 rows; a and b point to the lane's first entries.
  template <class LaneOf, class Real>
  __device__ void add(const Real* a, const LaneOf& lane_a, const Real* b, const LaneOf& lane_b) {
    constexpr int depth = warps > 8 ? 8 : 16;  // half of the rows at a time where registers hold no more
#pragma unroll
    for (int first = 0; first < 4; first += depth / 4) add_part<depth>(first, a, lane_a, b, lane_b);
  }

  /// Calls visit(entry, its right neighbour, row, column) with entries of the real matrix A^T B. Of two entries that
  /// only count together, one is 0.
  template <class Visit>
  __device__ void for_each_pair(int lane, Visit&& visit) const {
#pragma unroll
    for (int x = 0; x < m; ++x) {
#pragma unroll
      for (int y = 0; y < n; ++y) {
#pragma unroll
        for (int v = 0; v < 4; ++v) {
          const int row = 2 * (16 * x + lane / 4 + 8 * (v / 2));
          const int column = 2 * (8 * y + 2 * (lane % 4) + v % 2);
          visit(sum[0][x][y][v], sum[2][x][y][v] - sum[0][x][y][v] - sign * sum[1][x][y][v], row, column);
          visit(0.0, sum[1][x][y][v], row + 1, column);
        }
      }
    }
  }

 private:
  /// Adds `depth` rows, from the lane's row `first` on.
  template <int depth, class LaneOf, class Real>
  __device__ void add_part(int first, const Real* a, const LaneOf& lane_a, const Real* b, const LaneOf& lane_b) {
    double left[m][3][depth / 2];
#pragma unroll
    for (int x = 0; x < m; ++x) {
#pragma unroll
      for (int v = 0; v < depth / 2; ++v) {
        lane_a.read_parts(a, 2 * x + v % 2, first + v / 2, left[x][0][v], left[x][1][v]);
      }
      complete_factors(left[x], lane_a.flip * sign);
    }
#pragma unroll
    for (int y = 0; y < n; ++y) {
      if (y >= live) break;  // without a branch the compiler copies the left factors for every MMA tile
      double right[3][depth / 4];
#pragma unroll
      for (int j = 0; j < depth / 4; ++j) lane_b.read_parts(b, y, first + j, right[0][j], right[1][j]);
      complete_factors(right, lane_b.flip);
#pragma unroll
      for (int which = 0; which < 3; ++which) {
#pragma unroll
        for (int x = 0; x < m; ++x) {
          if constexpr (depth == 16) {
            multiply_16x8x16(sum[which][x][y], left[x][which], right[which]);
          } else {
            multiply_16x8x8(sum[which][x][y], left[x][which], right[which]);
          }
        }
      }
    }
  }
};

}  // namespace blockvec::kernels::cuda

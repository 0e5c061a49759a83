#pragma once

#include "src/cuda/mma.cuh"

/// The pieces of P = A^T B that a warp of tsmttsm keeps in registers.
namespace blockvec::kernels::cuda {

/// A lane's entries of 16 rows of a stage: j = 0..3 chooses one of its rows, `block` one of its columns, 8 apart.
template <bool by_columns>
struct Lane {
  int first, second;  // numbers to its second and its third row
  int eight_columns;

  template <class Real>
  __device__ Real number(const Real* start, int block, int j) const {
    return start[(j % 2) * first + (j / 2) * second + block * (by_columns ? eight_columns : 8)];
  }
  template <class Real>
  __device__ double entry(const Real* start, int block, int j) const {
    return number(start, block, j);
  }
};

/// m x n pieces of 16 x 8.
template <int m, int n>
struct FullTiles {
  static constexpr bool in_chunks = false;
  static constexpr int rows = 16 * m;
  static constexpr int columns = 8 * n;
  double sum[m][n][4] = {};

  /// Adds 16 rows; a and b point to the lane's first entries.
  template <bool by_columns, class Real>
  __device__ void add(const Real* a, const Lane<by_columns>& lane_a, const Real* b, const Lane<by_columns>& lane_b) {
    double left[m][8];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int x = 0; x < m; ++x) {
        left[x][2 * j] = lane_a.entry(a, 2 * x, j);
        left[x][2 * j + 1] = lane_a.entry(a, 2 * x + 1, j);
      }
    }
#pragma unroll
    for (int y = 0; y < n; ++y) {
      double right[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) right[j] = lane_b.entry(b, y, j);
#pragma unroll
      for (int x = 0; x < m; ++x) multiply_16x8x16(sum[x][y], left[x], right);
    }
  }

  /// visit(entry, row in the warp's tile, column in it).
  template <class Visit>
  __device__ void for_each_entry(int lane, Visit&& visit) const {
#pragma unroll
    for (int x = 0; x < m; ++x) {
#pragma unroll
      for (int y = 0; y < n; ++y) {
#pragma unroll
        for (int v = 0; v < 4; ++v) {
          visit(sum[x][y][v], 16 * x + lane / 4 + 8 * (v / 2), 8 * y + 2 * (lane % 4) + v % 2);
        }
      }
    }
  }
};

/// A's Gram matrix of `blocks` blocks of 8 columns: of the pieces on and above the diagonal, the bands of 16 rows that
/// fall to one of `warps` warps, a high one and a low one each. What is loaded as a right factor serves as a left one.
template <int blocks, int warps, int warp>
struct GramTiles {
  static constexpr bool in_chunks = false;
  static constexpr int rows = (blocks + 1) / 2 * 16;
  static constexpr int columns = 8 * blocks;
  static constexpr int bands = (blocks + 1) / 2;
  static constexpr int own_bands = (bands + 2 * warps - 1 - warp) / (2 * warps) + (bands + warp) / (2 * warps);
  __host__ __device__ static constexpr int band(int x) {
    return x / 2 * 2 * warps + (x % 2 == 0 ? warp : 2 * warps - 1 - warp);
  }
  double sum[own_bands][blocks - 2 * warp][4] = {};  // of later bands only the pieces from the diagonal on are used

  template <bool by_columns, class Real>
  __device__ void add(const Real* a, const Lane<by_columns>& lane_a, const Real*, const Lane<by_columns>&) {
    double left[own_bands][8];
#pragma unroll
    for (int y = 2 * warp; y < blocks; ++y) {
      double right[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) right[j] = lane_a.entry(a, y, j);
#pragma unroll
      for (int x = 0; x < own_bands; ++x) {
        if (y / 2 != band(x)) continue;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          left[x][2 * j + y % 2] = right[j];
          // The other half belongs to the next block, if there is one: it is loaded early.
          if (y % 2 == 0) left[x][2 * j + 1] = y + 1 < blocks ? lane_a.entry(a, y + 1, j) : 0.0;
        }
      }
#pragma unroll
      for (int x = 0; x < own_bands; ++x) {
        if (y / 2 >= band(x)) multiply_16x8x16(sum[x][y - 2 * warp], left[x], right);
      }
    }
  }

  template <class Visit>
  __device__ void for_each_entry(int lane, Visit&& visit) const {
#pragma unroll
    for (int x = 0; x < own_bands; ++x) {
#pragma unroll
      for (int y = 2 * warp; y < blocks; ++y) {
        if (y / 2 < band(x)) continue;
#pragma unroll
        for (int v = 0; v < 4; ++v) {
          visit(sum[x][y - 2 * warp][v], 16 * band(x) + lane / 4 + 8 * (v / 2), 8 * y + 2 * (lane % 4) + v % 2);
        }
      }
    }
  }
};

}  // namespace blockvec::kernels::cuda

#pragma once

#include "src/cuda/split.cuh"
#include "src/cuda/tsmttsm_gauss.cuh"
#include "src/cuda/tsmttsm_tiles.cuh"

/// tsmttsm in complex single precision by split TF32 (split.cuh). The sums of so many rows are added up in double
/// precision.
namespace blockvec::kernels::cuda {

template <int m, int n>
__device__ inline void multiply_split(float (&sum)[m][n][4], const float (&left)[m][4], const float (&right)[n][2]) {
  unsigned left_parts[2][m][4];
  unsigned right_parts[2][n][2];
  split(left, left_parts);
  split(right, right_parts);
  multiply_parts(sum, left_parts, right_parts);
}

/// Adds sums of single precision to those of double precision and clears them, if those that count are finite in the
/// whole warp. If not, their rows are to be added again in double precision, which tells infinities from overflow and
/// both from what their parts make of them. Entries of the lane's piece of 16 x 8 numbers count up to so many rows and
/// columns.
template <int count, int m, int n>
__device__ inline bool join(float (&early)[count][m][n][4], double (&sums)[count][m][n][4], int rows, int columns) {
  bool finite = true;
#pragma unroll
  for (int x = 0; x < m; ++x) {
#pragma unroll
    for (int y = 0; y < n; ++y) {
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        const bool counts = 16 * x + 8 * (v / 2) < rows && 8 * y + v % 2 < columns;
#pragma unroll
        for (int i = 0; i < count; ++i) finite = finite && (!counts || early[i][x][y][v] * 0 == 0);
      }
    }
  }
  finite = __all_sync(0xffffffffU, finite);
#pragma unroll
  for (int i = 0; i < count * m * n * 4; ++i) {
    float& from = (&early[0][0][0][0])[i];
    if (finite) (&sums[0][0][0][0])[i] += from;
    from = 0;
  }
  return finite;
}

/// GaussTiles for split products.
template <int m, int n>
struct SplitGaussTiles : GaussTiles<m, n> {
  static constexpr bool in_chunks = true;
  float early[3][m][n][4] = {};

  template <class LaneOf>
  __device__ void add_split(const float* a, const LaneOf& lane_a, int step_a, const float* b, const LaneOf& lane_b,
                            int step_b, int steps) {
    const auto sign = static_cast<float>(this->sign);
#pragma unroll 1
    for (int step = 0; step < steps; ++step, a += step_a, b += step_b) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float left[2][m][4];
        float right[2][n][2];
#pragma unroll
        for (int v = 0; v < 4; ++v) {
#pragma unroll
          for (int x = 0; x < m; ++x) {
#pragma unroll
            for (int part = 0; part < 2; ++part) {
              left[part][x][v] = lane_a.part(a, 2 * x + v % 2, 2 * half + v / 2, part);
            }
          }
        }
#pragma unroll
        for (int v = 0; v < 2; ++v) {
#pragma unroll
          for (int y = 0; y < n; ++y) {
#pragma unroll
            for (int part = 0; part < 2; ++part) right[part][y][v] = lane_b.part(b, y, 2 * half + v, part);
          }
        }
        // Parts are read one by one: tensor cores take them from where they come to.
        multiply_split(early[0], left[0], right[0]);
        multiply_split(early[1], left[1], right[1]);
#pragma unroll
        for (int v = 0; v < 4; ++v) {
#pragma unroll
          for (int x = 0; x < m; ++x) left[0][x][v] += sign * left[1][x][v];
        }
#pragma unroll
        for (int v = 0; v < 2; ++v) {
#pragma unroll
          for (int y = 0; y < n; ++y) right[0][y][v] += right[1][y][v];
        }
        multiply_split(early[2], left[0], right[0]);
      }
    }
  }

  /// The same in double precision with fewer registers, for the few rows that need it.
  template <class LaneOf, class Real>
  __device__ void add(const Real* a, const LaneOf& lane_a, const Real* b, const LaneOf& lane_b) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      double left[3][m][2];
#pragma unroll
      for (int x = 0; x < 2 * m; ++x) {
        Real re, im;
        lane_a.read_complex(a, x, j, re, im);
        left[0][x / 2][x % 2] = re;
        left[1][x / 2][x % 2] = im;
        left[2][x / 2][x % 2] = re + this->sign * im;
      }
#pragma unroll
      for (int y = 0; y < n; ++y) {
        Real re, im;
        lane_b.read_complex(b, y, j, re, im);
        const double right[3] = {re, im, static_cast<double>(re) + im};
#pragma unroll
        for (int which = 0; which < 3; ++which) {
#pragma unroll
          for (int x = 0; x < m; ++x) multiply_16x8x4(this->sum[which][x][y], left[which][x], right[which]);
        }
      }
    }
  }

  __device__ bool close(int lane, int rows, int columns) {
    return join(early, this->sum, rows / 2 - lane / 4, columns / 2 - 2 * (lane % 4));
  }
};

}  // namespace blockvec::kernels::cuda

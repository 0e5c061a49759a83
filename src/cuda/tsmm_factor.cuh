#pragma once

#include "src/cuda/operands.cuh"
#include "src/cuda/ring.cuh"

/// The small matrix of tsmm, times alpha, in the orders in which tensor cores want it.
namespace blockvec::kernels::cuda {

struct Place {
  int row, column;
};

/// [piece of 16 columns][depth / 4][lane][2], where a lane reads 16 bytes at a time.
struct OrderOfPieces {
  int depths;

  __device__ Place operator()(int i) const {
    const int lane = i / 2 % warp_size;
    return {i / 64 % depths * 4 + lane % 4, i / 64 / depths * 16 + lane / 4 + 8 * (i % 2)};
  }
};

/// Column of A that lane q takes in step s of four where A comes in boxes: lanes of a warp meet different banks.
__host__ __device__ inline int depth_of(int classes, int q, int s) {
  const int v = s % 4;
  return s / 4 * 16 + classes * q + v % classes + 4 * classes * (v / classes);
}

/// Column of B that place i of a piece of 8 stands for: neighbours in one lane where they are written as pairs, in
/// neighbouring lanes where they are not.
__device__ inline int column_of(bool neighbours, int i) { return neighbours ? i : i / 2 + 4 * (i % 2); }

/// [pair of steps][piece of 8 columns][lane][2].
struct OrderOfSteps {
  int pieces;
  int depth_classes;
  bool neighbours;

  __device__ Place operator()(int i) const {
    const int lane = i / 2 % warp_size;
    return {depth_of(depth_classes, lane % 4, i / 64 / pieces * 2 + i % 2),
            i / 64 % pieces * 8 + column_of(neighbours, lane / 4)};
  }
};

/// packed[i] = the entry of alpha C at order(i), for i below `count`; zeros beyond C's m rows and n columns. Loads of a
/// batch are on their way at a time: no entry waits for the one before.
template <class Real, class Order>
__device__ inline void pack(const Small<Real>& small, int m, int n, Factor alpha, const Order& order, int count,
                            double* packed, int thread, int threads) {
  constexpr int batch = 8;
  const int shift = small.parts - 1;  // a complex entry stands for two rows and columns
  for (int first = thread; first < count; first += batch * threads) {
    Real re[batch], im[batch];
    bool valid[batch];
#pragma unroll
    for (int b = 0; b < batch; ++b) {
      const int i = first + b * threads;
      const Place place = order(i);
      const int row = place.row >> shift;
      const int column = place.column >> shift;
      valid[b] = i < count && place.row < m && place.column < n && !(small.half == Half::upper && row > column) &&
                 !(small.half == Half::lower && row < column);
      const Real* const entry = small.data + row * small.row_stride + column * small.column_stride;
      re[b] = valid[b] ? entry[0] : Real(0);
      im[b] = valid[b] && shift != 0 ? entry[1] : Real(0);
    }
#pragma unroll
    for (int b = 0; b < batch; ++b) {
      const int i = first + b * threads;
      if (i >= count) break;
      const Place place = order(i);
      double value = alpha.re * re[b];
      if (shift != 0) {
        const Factor scaled = scale(alpha, {static_cast<double>(re[b]), static_cast<double>(im[b])});
        value = place.row % 2 == place.column % 2 ? scaled.re : place.row % 2 == 0 ? scaled.im : -scaled.im;
      }
      packed[i] = valid[b] ? value : 0.0;
    }
  }
}

}  // namespace blockvec::kernels::cuda

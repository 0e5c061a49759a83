#pragma once

#include "src/cuda/operands.cuh"
#include "src/cuda/ring.cuh"
#include "src/cuda/succession.cuh"
#include "src/cuda/tsmm_split.cuh"

/// The small matrix of tsmm as tensor cores want it. One small kernel packs it for all blocks of the product, and sets
/// the tickets: blocks that pack for themselves wait for one entry after the other.
namespace blockvec::kernels::cuda {

/// Entry i of C packed as [piece of 16 columns][depth / 4][lane][2]: a lane reads 16 bytes at a time. Zero beyond C.
template <class Real>
struct PackedPieces {
  Small<Real> small;
  Coefficient<Real> alpha;
  int m, n;

  __device__ double operator()(int i) const {
    const int depths = (m + 3) / 4;
    const int lane = i / 2 % warp_size;
    const int row = i / 64 % depths * 4 + lane % 4;
    const int column = i / 64 / depths * 16 + lane / 4 + 8 * (i % 2);
    return row < m && column < n ? small.scaled(row, column, alpha.read()) : 0.0;
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

/// Entry i of C packed as [pair of steps][piece of 8 columns][lane][2].
template <class Real>
struct PackedSteps {
  Small<Real> small;
  Coefficient<Real> alpha;
  int m, n;
  int pieces;
  int depth_classes;
  bool neighbours;

  __device__ double operator()(int i) const {
    const Factor factor = alpha.read();
    const int lane = i / 2 % warp_size;
    const int row = depth_of(depth_classes, lane % 4, i / 64 / pieces * 2 + i % 2);
    const int column = i / 64 % pieces * 8 + column_of(neighbours, lane / 4);
    return row < m && column < n && !factor.is_zero() ? small.scaled(row, column, factor) : 0.0;
  }
};

/// packed[i] = entry(i), and no ticket is taken.
template <class Entry, class Number>
__global__ void prepare_kernel(const Entry entry, int count, Number* packed, unsigned* tickets) {
  release_next_kernel();
  await_previous_kernel();
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i == 0) *tickets = 0;
  if (i < count) packed[i] = entry(i);
}

/// Brings what was packed into shared memory.
template <int threads, class Number>
__device__ inline void copy_packed(const Number* from, Number* to, int count, int thread) {
  constexpr int unit = 16 / sizeof(Number);
#pragma unroll 4
  for (int i = unit * thread; i < count; i += unit * threads) async_copy<16>(to + i, from + i, true);
  commit_copies();
  await_copies<0>();
}

}  // namespace blockvec::kernels::cuda

#pragma once

#include "src/cuda/tsmm_direct.cuh"
#include "src/dispatch/cuda_shapes.hpp"

/// tsmm of few columns of A to one of B, row-major, whatever the rows' stride and alignment: neighbouring lanes share a
/// row and load it in one go, many rows at a time, straight into registers. Of as many rows' sums as they have loaded
/// each lane ends up with one, and stores it beside its neighbours'.
///
/// Rows are all read before the first of them is written, so that B may be A. Blocks are many and short, as those of
/// tsmm_direct.cuh.
namespace blockvec::kernels::cuda {

using dispatch::shared_rows;

/// Adds lanes' parts of 2 `step` sums and deals these out: lane i gets sum i.
template <int step>
__device__ inline void deal_sums(double (&sum)[shared_rows], int lane) {
  const bool upper = (lane & step) != 0;
#pragma unroll
  for (int r = 0; r < step; ++r) {
    const double kept = upper ? sum[r + step] : sum[r];
    const double sent = upper ? sum[r] : sum[r + step];
    sum[r] = kept + __shfl_xor_sync(0xffffffffU, sent, step);
  }
  if constexpr (step > 1) deal_sums<step / 2>(sum, lane);
}

/// `columns` of A at most, of which so many lanes load the same number each.
template <class Real, int columns, int lanes>
__global__ void __launch_bounds__(direct_threads) tsmm_shared_rows_kernel(const __grid_constant__ TsmmDirect<Real> p) {
  constexpr int loads = columns / lanes;
  static_assert(columns % lanes == 0 && (lanes == 16 || lanes == 32));
  const Factor alpha = p.alpha.read();
  const Factor beta = p.beta.read();
  const int m = alpha.is_zero() ? 0 : p.m;  // A is not read then
  const int thread = static_cast<int>(threadIdx.x);
  const int own = thread % lanes;
  const std::int64_t first =
      (static_cast<std::int64_t>(blockIdx.x) * (direct_threads / lanes) + thread / lanes) * shared_rows;
  const std::int64_t rows = p.k - first;
  const Real* const from = p.a.data + first * p.a.row_stride + own;
  Real left[loads][shared_rows];
#pragma unroll
  for (int r = 0; r < shared_rows; ++r) {
#pragma unroll
    for (int i = 0; i < loads; ++i) {
      left[i][r] = r < rows && own + i * lanes < m ? from[r * p.a.row_stride + i * lanes] : Real(0);
    }
  }
  const bool stores = own < shared_rows && own < rows;
  Real* const to = p.b.data + (first + own) * p.b.row_stride;
  const double old = stores && !beta.is_zero() ? beta.re * static_cast<double>(*to) : 0.0;
  double factor[loads];
#pragma unroll
  for (int i = 0; i < loads; ++i) {
    factor[i] = own + i * lanes < m ? p.small.scaled(own + i * lanes, 0, alpha) : 0.0;
  }
  double sum[shared_rows];
#pragma unroll
  for (int r = 0; r < shared_rows; ++r) {
    sum[r] = left[0][r] * factor[0];
#pragma unroll
    for (int i = 1; i < loads; ++i) sum[r] += left[i][r] * factor[i];
    if constexpr (lanes > shared_rows) sum[r] += __shfl_xor_sync(0xffffffffU, sum[r], shared_rows);
  }
  deal_sums<shared_rows / 2>(sum, own);
  if (stores) *to = static_cast<Real>(old + sum[0]);
}

}  // namespace blockvec::kernels::cuda

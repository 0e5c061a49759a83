#pragma once

#include <cstdint>

#include "src/cuda/spmmv/product.cuh"

/// Kernel `long_rows`: a thread block takes one long row and up to 32 columns. Threads of one column take the row's
/// entries in turn; their sums meet in shared memory in a fixed tree.
namespace blockvec::kernels::cuda {

inline constexpr int long_rows_threads = 256;

/// columns: a power of two, at most 32, of columns that a block takes.
template <class Real, int parts>
__global__ void __launch_bounds__(long_rows_threads) long_rows_kernel(SparseProduct<Real> p, int columns) {
  using S = Scalar<Real, parts>;
  __shared__ S sums[long_rows_threads];
  const int thread = static_cast<int>(threadIdx.x);
  const int first = static_cast<int>(blockIdx.y) * columns + thread % columns;
  const bool has_column = first < p.width;
  const std::int64_t end = p.multiplies ? __ldg(p.long_begin + blockIdx.x + 1) : 0;
  S sum[1];
  for (std::int64_t at = __ldg(p.long_begin + blockIdx.x) + thread / columns; at < end;
       at += long_rows_threads / columns) {
    if (!has_column) continue;
    S a[1];
    S x[1];
    load<false>(a, p.value + at * parts);
    load<false>(x, p.x + __ldg(p.column + at) * p.x_row + first * p.x_column);
    add_product(sum[0], a[0], x[0]);
  }
  sums[thread] = sum[0];
  for (int other = long_rows_threads / 2; other >= columns; other /= 2) {
    __syncthreads();
    if (thread >= other) continue;
#pragma unroll
    for (int i = 0; i < parts; ++i) sums[thread].part[i] += sums[thread + other].part[i];
  }
  if (thread >= columns || !has_column) return;
  sum[0] = sums[thread];
  const std::int64_t row = __ldg(p.long_row + blockIdx.x);
  finish<false>(p, sum, p.diagonal_x + row * p.x_row + first * p.x_column, p.z + row * p.z_row + first * p.z_column,
                p.y + row * p.y_row + first * p.y_column);
}

}  // namespace blockvec::kernels::cuda

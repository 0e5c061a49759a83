#pragma once

#include <cstdint>

#include "src/cuda/spmmv/product.cuh"

/// Kernel `long_rows`: `of_row` threads of a block take one long row and up to 32 columns. Threads of one column take
/// the row's entries in turn; their sums meet in shared memory in a fixed tree.
namespace blockvec::kernels::cuda {

inline constexpr int long_rows_threads = 256;

/// of_row: a power of two, at most long_rows_threads. columns: a power of two, at most 32 and of_row.
template <class Real, int parts>
__global__ void __launch_bounds__(long_rows_threads)
    long_rows_kernel(SparseProduct<Real> p, std::int64_t rows, int of_row, int columns) {
  using S = Scalar<Real, parts>;
  __shared__ S sums[long_rows_threads];
  const int thread = static_cast<int>(threadIdx.x) % of_row;
  const int place = static_cast<int>(threadIdx.x);
  const std::int64_t number = static_cast<std::int64_t>(blockIdx.x) * (long_rows_threads / of_row) + place / of_row;
  const int first = static_cast<int>(blockIdx.y) * columns + thread % columns;
  const bool works = number < rows && first < p.width;
  const std::int64_t begin = works ? __ldg(p.long_begin + number) : 0;
  const std::int64_t end = works && p.multiplies ? __ldg(p.long_begin + number + 1) : 0;
  S sum[1];
  for (std::int64_t at = begin + thread / columns; at < end; at += of_row / columns) {
    S a[1];
    S x[1];
    load<false>(a, p.value + at * parts);
    load<false>(x, p.x + __ldg(p.column + at) * p.x_row + first * p.x_column);
    add_product(sum[0], a[0], x[0]);
  }
  sums[place] = sum[0];
  for (int other = of_row / 2; other >= columns; other /= 2) {
    __syncthreads();
    if (thread >= other) continue;
#pragma unroll
    for (int i = 0; i < parts; ++i) sums[place].part[i] += sums[place + other].part[i];
  }
  if (thread >= columns || !works) return;
  sum[0] = sums[place];
  const std::int64_t row = __ldg(p.long_row + number);
  finish<false>(p, sum, p.diagonal_x + row * p.x_row + first * p.x_column, p.z + row * p.z_row + first * p.z_column,
                p.y + row * p.y_row + first * p.y_column);
}

}  // namespace blockvec::kernels::cuda

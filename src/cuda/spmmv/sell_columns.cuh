#pragma once

#include <cstdint>

#include "src/cuda/spmmv/product.cuh"

/// Kernel `sell_columns`: column-major blocks. A lane owns a row, and takes a few columns at a time.
namespace blockvec::kernels::cuda {

inline constexpr int sell_columns_threads = 256;
inline constexpr int sell_columns_at_a_time = 4;

template <class Real, int parts>
__global__ void __launch_bounds__(sell_columns_threads) sell_columns_kernel(SparseProduct<Real> p) {
  using S = Scalar<Real, parts>;
  constexpr int count = sell_columns_at_a_time;
  const std::int64_t place =
      static_cast<std::int64_t>(blockIdx.x) * sell_columns_threads + static_cast<int>(threadIdx.x);
  const std::int64_t chunk = place / 32;
  if (chunk >= p.chunks) return;
  const std::int64_t row = p.row_at(place);
  const int first = static_cast<int>(blockIdx.y) * count;
  const std::int64_t begin = __ldg(p.chunk_begin + chunk);
  const int length = p.multiplies ? static_cast<int>((__ldg(p.chunk_begin + chunk + 1) - begin) / 32) : 0;
  S sum[count][1];
  for (int k = 0; k < length; ++k) {
    const std::int64_t at = begin + static_cast<std::int64_t>(k) * 32 + place % 32;
    const std::int32_t column = __ldg(p.column + at);
    if (column < 0) break;
    S a[1];
    load<false>(a, p.value + at * parts);
#pragma unroll
    for (int v = 0; v < count; ++v) {
      if (first + v >= p.width) continue;
      S x[1];
      load<false>(x, p.x + column * p.x_row + (first + v) * p.x_column);
      add_product(sum[v][0], a[0], x[0]);
    }
  }
  if (row < 0) return;
#pragma unroll
  for (int v = 0; v < count; ++v) {
    if (first + v >= p.width) continue;
    finish<false>(p, sum[v], p.diagonal_x + row * p.x_row + (first + v) * p.x_column,
                  p.z + row * p.z_row + (first + v) * p.z_column, p.y + row * p.y_row + (first + v) * p.y_column);
  }
}

}  // namespace blockvec::kernels::cuda

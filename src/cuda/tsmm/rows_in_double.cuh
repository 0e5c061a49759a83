#pragma once

#include <cstdint>

#include "src/cuda/operands/load_flat_rows.cuh"
#include "src/cuda/operands/scalar.cuh"

/// Computes rows of tsmm in double precision, straight from memory. Kernels call it where 3xTF32 (math/tf32x3.cuh) gave
/// infinities that may not be true ones.
namespace blockvec::kernels::cuda {

/// A warp computes a row of up to `numbers` results, one entry after the other. B may be A. It calls put(column, value)
/// after it has read the row.
template <int numbers, class Task, class Put>
__device__ inline void multiply_row_plainly(const Task& p, std::int64_t row, int lane, const Put& put) {
  const Factor alpha = p.alpha.read();
  const Factor beta = p.beta.read();
  const bool by_columns = !p.out.b.row_major;
  const int parts = p.out.b.parts;
  const float* const a = p.lines.data + (by_columns ? parts * row : row * p.lines.distance);
  const auto place = [&](int d) { return by_columns ? d / parts * p.lines.distance + d % parts : d; };
  constexpr int of_lane = (numbers + warp_size - 1) / warp_size;
  double value[of_lane];
#pragma unroll
  for (int i = 0; i < of_lane; ++i) {
    const int column = lane + i * warp_size;
    value[i] = 0;
    if (column >= p.out.n) continue;
#pragma unroll 1
    for (int d = 0; d < p.m; ++d) value[i] += a[place(d)] * p.small.scaled(d, column, alpha);
    if (beta.is_zero()) continue;
    const float* const old = p.out.b.data + p.out.b.offset(row, column - column % p.out.b.parts);
    const Factor scaled = scale(beta, {static_cast<double>(old[0]), p.out.b.parts == 2 ? old[1] : 0.0});
    value[i] += column % p.out.b.parts == 0 ? scaled.re : scaled.im;
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < of_lane; ++i) {
    if (lane + i * warp_size < p.out.n) put(lane + i * warp_size, static_cast<float>(value[i]));
  }
}

}  // namespace blockvec::kernels::cuda

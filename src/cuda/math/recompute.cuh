#pragma once

#include <cstdint>

#include "src/cuda/operands/matrix.cuh"

/// Computes results of tsmm again in double precision, where single precision made them infinite or NaN. So only true
/// infinities remain.
namespace blockvec::kernels::cuda {

/// Returns beta times entry `column` of a row of B. A complex beta needs both numbers of the entry.
template <class Real>
__device__ inline double scaled_entry(const Real* row, int column, Factor beta) {
  const double own = row[column];
  if (beta.im == 0) return beta.re * own;
  const double other = row[column ^ 1];
  return column % 2 == 0 ? beta.re * own - beta.im * other : beta.re * own + beta.im * other;
}

/// Returns sum + beta times entry `column` of a row. That product alone need not fit into single precision.
template <class Real>
__device__ inline double plus_scaled_entry(double sum, const Real* row, int column, Factor beta) {
  return sum + scaled_entry(row, column, beta);
}
__device__ inline float plus_scaled_entry(float sum, const float* row, int column, Factor beta) {
  if (beta.im == 0) return fmaf(static_cast<float>(beta.re), row[column], sum);
  return static_cast<float>(sum + scaled_entry(row, column, beta));
}

/// Computes one result. `a[d]` is the row's entry in column d of A. `old` is B's row before the product, or null if
/// nothing of it is added.
template <class Task, class RowOfA>
__device__ __noinline__ float result_in_double(const Task& p, const RowOfA& a, const float* old, int column) {
  const Factor alpha = p.alpha.read();
  const Factor beta = p.beta.read();
  double value = old != nullptr && !beta.is_zero() ? scaled_entry(old, column, beta) : 0.0;
#pragma unroll 1
  for (int d = 0; d < p.m; ++d) value += a[d] * p.small.scaled(d, column, alpha);
  return static_cast<float>(value);
}

/// `threads` threads share out `columns` results of each of `rows` rows. Consecutive rows of A are `step_a` numbers
/// apart, those of B `step_old`. put(row, column, value) takes a result.
template <class Task, class Put>
__device__ inline void rows_in_double(const Task& p, const float* a, int step_a, const float* old, int step_old,
                                      int rows, int column0, int columns, int thread, int threads, const Put& put) {
#pragma unroll 1
  for (int i = thread; i < rows * columns; i += threads) {
    const int row = i / columns;
    const int column = column0 + i % columns;
    put(row, column, result_in_double(p, a + row * step_a, old != nullptr ? old + row * step_old : old, column));
  }
}

}  // namespace blockvec::kernels::cuda

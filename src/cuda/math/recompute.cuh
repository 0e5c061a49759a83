#pragma once

#include <cstdint>
#include <type_traits>

#include "src/cuda/operands/matrix.cuh"

/// How tsmm adds beta times B's old entries, and how it computes results again in double precision, where single
/// precision or 3M made them infinite or NaN. So only true infinities remain.
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

/// Adds beta times two old numbers of B to two results, or a real beta times one to one if parts is 1. With single
/// precision it rounds once.
template <int parts = 2, class Sum, class Real>
__device__ inline void add_old(Sum& first, Sum& second, Real old_first, Real old_second, Factor beta) {
  if constexpr (std::is_same_v<Sum, float>) {
    if (parts == 1 || beta.im == 0) {
      first = fmaf(static_cast<float>(beta.re), old_first, first);
      if constexpr (parts == 2) second = fmaf(static_cast<float>(beta.re), old_second, second);
      return;
    }
  }
  const Factor scaled = scale(beta, {static_cast<double>(old_first), static_cast<double>(old_second)});
  first = static_cast<Sum>(first + scaled.re);
  if constexpr (parts == 2) second = static_cast<Sum>(second + scaled.im);
}

/// A row of A, of `depth` real columns, times alpha C's real column `column`. Column d of A (of scalars) begins at
/// a[d * step].
template <class Task, class Real>
__device__ inline double product_in_double(const Task& p, const Real* a, std::int64_t step, int depth, Factor alpha,
                                           int column) {
  const int parts = p.small.parts;
  double sum = 0;
#pragma unroll 1
  for (int d = 0; d < depth; ++d) sum += a[d / parts * step + d % parts] * p.small.scaled(d, column, alpha);
  return sum;
}

/// Computes one result. `old` is its scalar in B before the product, or null if nothing of it is added.
template <class Task>
__device__ inline float entry_in_double(const Task& p, const float* a, std::int64_t step, int depth, const float* old,
                                        int column) {
  const double sum = product_in_double(p, a, step, depth, p.alpha.read(), column);
  const Factor beta = p.beta.read();
  const bool adds = old != nullptr && !beta.is_zero();
  return static_cast<float>(adds ? sum + scaled_entry(old, column % p.small.parts, beta) : sum);
}

/// A result of a row whose numbers lie side by side. `old` is null or B's row before the product.
template <class Task>
__device__ __noinline__ float result_in_double(const Task& p, const float* a, const float* old, int column) {
  const int parts = p.small.parts;
  const float* const scalar = old != nullptr ? old + column - column % parts : old;
  return entry_in_double(p, a, parts, p.m, scalar, column);
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

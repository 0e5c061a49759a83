#pragma once

#include <cstdint>

#include "src/cuda/operands/matrix.cuh"

/// Computes results of tsmm again in double precision, with all products, where 3xTF32 or 3M made them infinite or NaN.
/// So only true infinities remain.
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

/// Computes one scalar of B, whose first real column is `column`. Its row of A has m real numbers; it begins at `a`,
/// where columns of scalars are `step` numbers apart. `old` is the scalar before the product, or null if nothing of it
/// is added.
template <class Task, class Real>
__device__ inline Factor scalar_in_double(const Task& p, const Real* a, std::int64_t step, int m, const Real* old,
                                          int column) {
  const Factor alpha = p.alpha.read();
  const Factor beta = p.beta.read();
  const int parts = p.small.parts;
  Factor value{0, 0};
  if (old != nullptr && !beta.is_zero()) {
    value = scale(beta, {static_cast<double>(old[0]), parts == 2 ? static_cast<double>(old[1]) : 0.0});
  }
  const int depth = alpha.is_zero() ? 0 : m;
#pragma unroll 1
  for (int d = 0; d < depth; ++d) {
    const double number = a[d / parts * step + d % parts];
    value.re += number * p.small.scaled(d, column, alpha);
    if (parts == 2) value.im += number * p.small.scaled(d, column + 1, alpha);
  }
  return value;
}

/// A call keeps the rare path from taking registers of single-precision kernels. Double-precision kernels have fewer
/// registers left at a call than inside their own code.
template <class Task>
__device__ __noinline__ Factor called_scalar_in_double(const Task& p, const float* a, std::int64_t step, int m,
                                                       const float* old, int column) {
  return scalar_in_double(p, a, step, m, old, column);
}

/// The lane of this thread. To read it where it is needed costs no register before.
__device__ inline int read_lane() {
  int lane;
  asm volatile("mov.u32 %0, %laneid;" : "=r"(lane));
  return lane;
}

/// `threads` threads share out the results of a row, from real column `column` on and before `end`. old(column) is
/// where the old value of a scalar is, or null. put(column, number) takes a result; B may be A if `a` is a copy.
template <class Task, class Real, class Old, class Put>
__device__ inline void row_in_double(const Task& p, const Real* a, std::int64_t step, const Old& old, int column,
                                     int end, int thread, int threads, const Put& put) {
  const int parts = p.small.parts;
#pragma unroll 1
  for (column += thread * parts; column < end; column += threads * parts) {
    const auto result = [&](const Real* of_b) {
      if constexpr (sizeof(Real) == 4) return called_scalar_in_double(p, a, step, p.m, of_b, column);
      return scalar_in_double(p, a, step, p.m, of_b, column);
    };
    const Factor value = result(old(column));
    put(column, static_cast<Real>(value.re));
    if (parts == 2) put(column + 1, static_cast<Real>(value.im));
  }
}

}  // namespace blockvec::kernels::cuda

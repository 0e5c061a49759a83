#pragma once

#include "src/cuda/operands.cuh"
#include "src/cuda/succession.cuh"

/// The second stage of tsmttsm: the partial sums become C, in fixed order.
namespace blockvec::kernels::cuda {

inline constexpr int sum_lanes = 32;   // entries of C a block
inline constexpr int sum_slices = 16;  // warps that share the parts

template <class Real>
struct TsmttsmSum {
  const double* partial;  ///< [part][fold m][fold n]
  std::int64_t parts;
  int fold;
  std::int64_t m, n;  ///< real widths, without fold
  bool conjugate;
  Coefficient<Real> alpha, beta;
  Real* c;
  std::int64_t row_stride;
  std::int64_t column_stride;
  int scalar_parts;
};

/// Entry (i, j) of A^op B from one partial sum: the diagonal blocks of a folded product, and what products of real and
/// imaginary parts stand for.
template <class Real>
__device__ inline Factor entry_of_part(const TsmttsmSum<Real>& p, const double* part, std::int64_t i, std::int64_t j) {
  const std::int64_t pitch = p.fold * p.n;
  Factor entry{0, 0};
  for (int f = 0; f < p.fold; ++f) {
    const double* const at = part + (f * p.m + i * p.scalar_parts) * pitch + f * p.n + j * p.scalar_parts;
    if (p.scalar_parts == 1) {
      entry.re += at[0];
    } else {
      const double sign = p.conjugate ? 1 : -1;
      entry.re += at[0] + sign * at[pitch + 1];
      entry.im += at[1] - sign * at[pitch];
    }
  }
  return entry;
}

template <class Real>
__device__ inline void store_entry(const TsmttsmSum<Real>& p, std::int64_t i, std::int64_t j, Factor sum, Factor alpha,
                                   Factor beta) {
  Real* const out = p.c + i * p.row_stride + j * p.column_stride;
  const bool complex = p.scalar_parts == 2;
  Factor value = alpha.is_zero() ? Factor{0, 0} : scale(alpha, sum);
  if (!beta.is_zero()) {
    const Factor old = scale(beta, {static_cast<double>(out[0]), complex ? static_cast<double>(out[1]) : 0.0});
    value.re += old.re;
    value.im += old.im;
  }
  out[0] = static_cast<Real>(value.re);
  if (complex) out[1] = static_cast<Real>(value.im);
}

template <class Real>
__global__ void __launch_bounds__(sum_lanes* sum_slices) tsmttsm_sum_kernel(const TsmttsmSum<Real> p) {
  __shared__ Factor sums[sum_slices][sum_lanes];
  const int lane = static_cast<int>(threadIdx.x) % sum_lanes;
  const int slice = static_cast<int>(threadIdx.x) / sum_lanes;
  const std::int64_t columns = p.n / p.scalar_parts;
  const std::int64_t entries = p.m / p.scalar_parts * columns;
  const std::int64_t entry = static_cast<std::int64_t>(blockIdx.x) * sum_lanes + lane;
  await_previous_kernel();
  const Factor alpha = p.alpha.read();
  Factor sum{0, 0};
  if (entry < entries && !alpha.is_zero()) {
    const std::int64_t part_size = p.fold * p.m * p.fold * p.n;
#pragma unroll 4
    for (std::int64_t part = slice; part < p.parts; part += sum_slices) {
      const Factor one = entry_of_part(p, p.partial + part * part_size, entry / columns, entry % columns);
      sum.re += one.re;
      sum.im += one.im;
    }
  }
  sums[slice][lane] = sum;
  __syncthreads();
  if (slice != 0 || entry >= entries) return;
  for (int other = 1; other < sum_slices; ++other) {
    sum.re += sums[other][lane].re;
    sum.im += sums[other][lane].im;
  }
  store_entry(p, entry / columns, entry % columns, sum, alpha, p.beta.read());
}

}  // namespace blockvec::kernels::cuda

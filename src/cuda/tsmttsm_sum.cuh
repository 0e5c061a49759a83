#pragma once

#include "src/cuda/operands.cuh"
#include "src/cuda/succession.cuh"

/// The second stage of tsmttsm: the partial sums become C, in fixed order.
namespace blockvec::kernels::cuda {

inline constexpr int most_sum_threads = 1024;
inline constexpr int most_sum_lanes = 32;
inline constexpr int sum_batch = 8;  // loads that a thread has on their way at a time

template <class Real>
struct TsmttsmSum {
  const double* partial;  ///< [part][fold m][fold n]
  std::int64_t parts;
  int fold;
  int lanes;          ///< entries of C a block, a power of 2: the fewer, the more threads share the parts of each
  std::int64_t m, n;  ///< real widths, without fold
  int square;         ///< 0, or partial sums are there on and above the diagonal alone, and of entries beyond its
                      ///< squares of so many numbers
  std::int64_t parts_above;  ///< fewer of them
  bool conjugate;
  Coefficient<Real> alpha, beta;
  Real* c;
  std::int64_t row_stride;
  std::int64_t column_stride;
};

/// Entries of C that a block serves.
constexpr int sum_lanes(std::int64_t entries) {
  int lanes = 8;
  while (lanes < entries && lanes < most_sum_lanes) lanes *= 2;
  return lanes;
}

/// Threads of a block: as many as leave each one batch of terms.
constexpr int sum_threads(int lanes, std::int64_t terms) {
  int threads = most_sum_lanes;
  while (threads < most_sum_threads && threads / lanes * sum_batch < terms) threads *= 2;
  return threads;
}

/// One term of an entry of A^op B: of a complex one, what products of real and imaginary parts stand for; `down` and
/// `right` lead to an entry's neighbours.
template <bool complex>
__device__ inline Factor term(const double* at, std::int64_t down, std::int64_t right, double sign) {
  if constexpr (complex) {
    return {at[0] + sign * at[down + right], at[right] - sign * at[down]};
  } else {
    return {at[0], 0};
  }
}

template <bool complex, class Real>
__device__ inline void store_entry(const TsmttsmSum<Real>& p, std::int64_t i, std::int64_t j, Factor sum, Factor alpha,
                                   Factor beta) {
  Real* const out = p.c + i * p.row_stride + j * p.column_stride;
  Factor value = alpha.is_zero() ? Factor{0, 0} : scale(alpha, sum);
  if (!beta.is_zero()) {
    const Factor old = scale(beta, {static_cast<double>(out[0]), complex ? static_cast<double>(out[1]) : 0.0});
    value.re += old.re;
    value.im += old.im;
  }
  out[0] = static_cast<Real>(value.re);
  if (complex) out[1] = static_cast<Real>(value.im);
}

/// A block's threads stand as [slice][lane]: slices share the terms of an entry, parts by the diagonal blocks that a
/// folded product has in each; their sums are added as a tree.
template <bool complex, class Real>
__global__ void __launch_bounds__(most_sum_threads) tsmttsm_sum_kernel(const TsmttsmSum<Real> p) {
  __shared__ Factor sums[most_sum_threads];
  release_next_kernel();
  constexpr int scalar_parts = complex ? 2 : 1;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % p.lanes;
  const int slice = thread / p.lanes;
  const int slices = static_cast<int>(blockDim.x) / p.lanes;
  const std::int64_t columns = p.n / scalar_parts;
  const std::int64_t entry = static_cast<std::int64_t>(blockIdx.x) * p.lanes + lane;
  const bool valid = entry < p.m / scalar_parts * columns;
  const std::int64_t i = entry / columns;
  const std::int64_t j = entry % columns;
  const std::int64_t pitch = p.fold * p.n;
  const bool below = p.square != 0 && i > j;
  const bool beyond = p.square != 0 && scalar_parts * i / p.square != scalar_parts * j / p.square;
  const double* const first = p.partial + scalar_parts * (below ? j * pitch + i : i * pitch + j);
  const std::int64_t down = below ? 1 : pitch;
  const std::int64_t right = below ? pitch : 1;
  const std::int64_t next_part = p.fold * p.m * pitch;
  const std::int64_t next_diagonal = p.m * pitch + p.n;
  const int terms = static_cast<int>(beyond ? p.parts_above : p.parts) * p.fold;
  const double sign = p.conjugate ? 1 : -1;
  await_previous_kernel();
  const Factor alpha = p.alpha.read();
  Factor sum{0, 0};
  if (valid && !alpha.is_zero()) {
    for (int begin = slice; begin < terms; begin += sum_batch * slices) {
      Factor batch[sum_batch];
#pragma unroll
      for (int u = 0; u < sum_batch; ++u) {
        const int t = begin + u * slices;
        batch[u] = {0, 0};
        if (t < terms) {
          batch[u] = term<complex>(first + t / p.fold * next_part + t % p.fold * next_diagonal, down, right, sign);
        }
      }
#pragma unroll
      for (int u = 0; u < sum_batch; ++u) {
        sum.re += batch[u].re;
        sum.im += batch[u].im;
      }
    }
  }
  for (int half = slices / 2; half > 0; half /= 2) {
    sums[thread] = sum;
    __syncthreads();
    if (slice < half) {
      const Factor other = sums[thread + half * p.lanes];
      sum.re += other.re;
      sum.im += other.im;
    }
    __syncthreads();
  }
  if (slice == 0 && valid) store_entry<complex>(p, i, j, sum, alpha, p.beta.read());
}

}  // namespace blockvec::kernels::cuda

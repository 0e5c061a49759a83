#pragma once

#include "src/cuda/operands/matrix.cuh"
#include "src/cuda/ptx/pipeline.cuh"
#include "src/cuda/unrolled.cuh"

/// The second kernel of tsmttsm adds the partial sums in fixed order and writes C.
namespace blockvec::kernels::cuda {

inline constexpr int most_sum_threads = 512;
inline constexpr int most_sum_lanes = 32;
inline constexpr int sum_batch = 9;  // loads that a thread issues before it uses the first one

template <class Real>
struct TsmttsmSum {
  const double* partial;  ///< [part][fold m][fold n]
  std::int64_t parts;
  int fold;
  int lanes;                 ///< entries of C per block, a power of 2; with fewer, more threads share the terms of each
  std::int64_t m, n;         ///< real widths of A and B, without fold
  int square;                ///< 0, or partial sums exist only on and above the diagonal, and entries outside
                             ///< the diagonal squares of so many numbers have fewer of them
  std::int64_t parts_above;  ///< number of partial sums of entries outside these squares
  bool conjugate;
  Coefficient<Real> alpha, beta;
  Condition condition;
  Real* c;
  std::int64_t row_stride;
  std::int64_t column_stride;
};

/// Entries of C per thread block.
constexpr int sum_lanes(std::int64_t entries) {
  int lanes = 8;
  while (lanes < entries && lanes < most_sum_lanes) lanes *= 2;
  return lanes;
}

/// Threads per block: enough that each has one batch of terms.
constexpr int sum_threads(int lanes, std::int64_t terms) {
  int threads = most_sum_lanes;
  while (threads < most_sum_threads && threads / lanes * sum_batch < terms) threads *= 2;
  return threads;
}

/// Threads of a block stand as [slice][lane]. Slices share the terms of an entry: partial sums times the `fold`
/// diagonal blocks of each. A tree adds the slices' sums. Index arithmetic comes before the wait for the partial sums.
/// Two blocks fit into a multiprocessor, so the next kernel finds more multiprocessors free.
template <bool complex, class Real>
__global__ void __launch_bounds__(most_sum_threads, complex ? 1 : 2) tsmttsm_sum_kernel(const TsmttsmSum<Real> p) {
  constexpr int scalar_parts = complex ? 2 : 1;
  __shared__ double sums[scalar_parts][most_sum_threads];
  release_next_kernel();
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % p.lanes;
  const int slice = thread / p.lanes;
  const int slices = static_cast<int>(blockDim.x) / p.lanes;
  const int columns = static_cast<int>(p.n) / scalar_parts;
  const std::int64_t entry = static_cast<std::int64_t>(blockIdx.x) * p.lanes + lane;
  const bool valid = entry < p.m / scalar_parts * columns;
  const std::int64_t i = entry / columns;
  const std::int64_t j = entry % columns;
  const int pitch = p.fold * static_cast<int>(p.n);
  const bool below = p.square != 0 && i > j;
  const bool beyond = p.square != 0 && scalar_parts * i / p.square != scalar_parts * j / p.square;
  const int down = below ? 1 : pitch;
  const int right = below ? pitch : 1;
  const int terms = valid ? static_cast<int>(beyond ? p.parts_above : p.parts) * p.fold : 0;
  const double sign = p.conjugate ? 1 : -1;
  // The distance from a slice's term to its next one is so many partial sums and so many diagonal blocks. `carry` leads
  // on beyond the last diagonal block.
  const std::int64_t part = p.fold * p.m * pitch;
  const std::int64_t diagonal = p.m * pitch + p.n;
  const std::int64_t step = slices / p.fold * part + slices % p.fold * diagonal;
  const std::int64_t carry = part - p.fold * diagonal;
  int diagonals = slice % p.fold;
  const double* at = p.partial + scalar_parts * (below ? j * pitch + i : i * pitch + j);
  at += slice / p.fold * part + diagonals * diagonal;
  await_previous_kernel();
  if (!p.condition.holds()) return;
  const Factor alpha = p.alpha.read();
  Factor sum{};
  if (!alpha.is_zero()) {
    for (int first = slice; first < terms; first += sum_batch * slices) {
      Factor batch[sum_batch];
      unrolled<sum_batch>([&](int u) {
        batch[u] = {};
        if (first + u * slices < terms) {
          batch[u].re = at[0];
          if (complex) {  // products of real and imaginary parts
            batch[u].re += sign * at[down + right];
            batch[u].im = at[right] - sign * at[down];
          }
        }
        at += step;
        diagonals += slices % p.fold;
        if (diagonals >= p.fold) {
          diagonals -= p.fold;
          at += carry;
        }
      });
      unrolled<sum_batch>([&](int u) {
        sum.re += batch[u].re;
        sum.im += batch[u].im;
      });
    }
  }
  for (int left = slices; left > 1;) {
    const int next = left > 4 ? left / 4 : 1;
    sums[0][thread] = sum.re;
    if (complex) sums[scalar_parts - 1][thread] = sum.im;
    __syncthreads();
    if (slice < next) {
      for (int other = slice + next; other < left; other += next) {
        sum.re += sums[0][other * p.lanes + lane];
        if (complex) sum.im += sums[scalar_parts - 1][other * p.lanes + lane];
      }
    }
    __syncthreads();
    left = next;
  }
  if (slice != 0 || !valid) return;
  Real* const out = p.c + i * p.row_stride + j * p.column_stride;
  const Factor beta = p.beta.read();
  Factor value = alpha.is_zero() ? Factor{0, 0} : scale(alpha, sum);
  if (!beta.is_zero()) {
    const Factor old = scale(beta, {static_cast<double>(out[0]), complex ? static_cast<double>(out[1]) : 0.0});
    value.re += old.re;
    value.im += old.im;
  }
  out[0] = static_cast<Real>(value.re);
  if (complex) out[1] = static_cast<Real>(value.im);
}

}  // namespace blockvec::kernels::cuda

#pragma once

#include "src/cuda/study/kernels.hpp"
#include "src/cuda/study/number.cuh"

/// From the threads' sums to C (section 3.2), in pieces that tsmttsm's kernels choose from.
namespace blockvec::kernels::cuda::study {

/// The sums of all rows of a block become those of its first row, in an order that depends on nothing but the shape.
/// Thread `owner` + i `owners` holds the same entries of C as thread `owner`; `rows` such sets.
template <int threads, int owners, int rows, int count, class T>
__device__ void add_rows_of_block(T (&sums)[count]) {
  constexpr int at_a_time = 64 / sizeof(T) < count ? 64 / sizeof(T) : count;
  constexpr int half = [] {
    int power = 1;
    while (2 * power < rows) power *= 2;
    return power;
  }();
  if constexpr (rows > 1) {
    __shared__ T shared[at_a_time][threads];
    const int thread = static_cast<int>(threadIdx.x);
    const int row = thread / owners;
#pragma unroll
    for (int first = 0; first < count; first += at_a_time) {
#pragma unroll
      for (int i = 0; i < at_a_time && first + i < count; ++i) shared[i][thread] = sums[first + i];
      for (int step = half; step > 0; step /= 2) {
        __syncthreads();
        if (row < step && row + step < rows) {
#pragma unroll
          for (int i = 0; i < at_a_time && first + i < count; ++i) {
            add(sums[first + i], shared[i][thread + step * owners]);
            shared[i][thread] = sums[first + i];
          }
        }
      }
      __syncthreads();
    }
  }
}

/// Blocks of sum_entries x (sum_threads / sum_entries): neighbours take neighbouring entries, slices the parts in turn.
template <class T>
__global__ void __launch_bounds__(sum_threads) sum_parts(const SumArguments p) {
  constexpr int slices = sum_threads / sum_entries;
  __shared__ T sums[slices][sum_entries];
  const int lane = static_cast<int>(threadIdx.x) % sum_entries;
  const int slice = static_cast<int>(threadIdx.x) / sum_entries;
  const int entry = static_cast<int>(blockIdx.x) * sum_entries + lane;
  T sum{};
  if (entry < p.entries) {
    const T* const from = static_cast<const T*>(p.partial) + entry;
#pragma unroll 4
    for (std::int64_t part = slice; part < p.parts; part += slices) add(sum, from[part * p.entries]);
  }
  sums[slice][lane] = sum;
  __syncthreads();
  if (slice != 0 || entry >= p.entries) return;
  for (int other = 1; other < slices; ++other) add(sum, sums[other][lane]);
  static_cast<T*>(p.c)[entry] = sum;
}

}  // namespace blockvec::kernels::cuda::study

#pragma once

#include <type_traits>

#include "src/cuda/study/columns.cuh"
#include "src/cuda/study/kernels.hpp"
#include "src/cuda/study/number.cuh"
#include "src/cuda/study/small.cuh"

/// B = A C by the paper's mappings (section 4): a row of B belongs to a few threads, each of which works on `unroll`
/// rows at a time, so that an entry of C is used that often.
namespace blockvec::kernels::cuda::study {

template <class T, int m, int n, int threads_per_row, int unroll, bool transposed, Source source, int threads>
struct Tsmm {
  static constexpr int tile = pieces_of(n, threads_per_row);
  static constexpr int rows = threads / threads_per_row;  // of a block at a time, `unroll` times
  static_assert(rows * threads_per_row == threads);
  struct Mine : Columns<n, tile, threads_per_row, transposed> {
    static constexpr int count = tile;
  };
  using C = Small<T, m, n, Mine, source>;
  /// How many rows of C become straight code: where they can, so many that the code stays short.
  static constexpr int few = 1024 / (tile * unroll * static_cast<int>(sizeof(T)));
  static constexpr int depth = !C::any_row ? m : few > 2 ? few : 2;

  const TsmmArguments& p;
  const C& c;
  int piece;

  __device__ void multiply(std::int64_t first, T (&sums)[unroll][tile]) const {
    const int zero = unknown_zero();
    const T* a[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) a[u] = static_cast<const T*>(p.a) + min(first + u * rows, p.k - 1) * m;
#pragma unroll depth
    for (int i = 0; i < m; ++i) {
      T factors[unroll];
#pragma unroll
      for (int u = 0; u < unroll; ++u) factors[u] = load(a[u] + i);
#pragma unroll
      for (int t = 0; t < tile; ++t) {
        const T entry = c.entry(zero, i, t);
#pragma unroll
        for (int u = 0; u < unroll; ++u) add_product(sums[u][t], factors[u], entry);
      }
    }
  }

  __device__ void store(std::int64_t first, const T (&sums)[unroll][tile]) const {
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const std::int64_t row = first + u * rows;
      if (u > 0 && row >= p.k) break;
      T* const b = static_cast<T*>(p.b) + Mine::first(piece) + row * n;
#pragma unroll
      for (int t = 0; t < tile; ++t) {
        if (Mine::owns(piece, t)) b[Mine::offset(t)] = sums[u][t];
      }
    }
  }
};

template <class T, int m, int n, int threads_per_row, int unroll, bool transposed, Source source, int threads>
__global__ void __launch_bounds__(threads) tsmm_kernel(
    const TsmmArguments p,
    const __grid_constant__ std::conditional_t<source == Source::constant, Values<T, m * n>, NoValues> values) {
  using Rows = Tsmm<T, m, n, threads_per_row, unroll, transposed, source, threads>;
  const int piece = static_cast<int>(threadIdx.x) % threads_per_row;
  const typename Rows::C c(static_cast<const T*>(p.c), values, piece);
  const Rows rows{p, c, piece};
  constexpr int at_a_time = Rows::rows * unroll;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * at_a_time;
  for (std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * at_a_time + threadIdx.x / threads_per_row; k < p.k;
       k += step) {
    T sums[unroll][Rows::tile] = {};
    rows.multiply(k, sums);
    rows.store(k, sums);
  }
}

template <class T, int m, int n, int threads_per_row, int unroll, bool transposed, Source source, int threads>
TsmmKernel describe_tsmm() {
  return {letter<T>,
          m,
          n,
          threads_per_row,
          unroll,
          transposed,
          source,
          threads,
          threads / threads_per_row,
          reinterpret_cast<const void*>(tsmm_kernel<T, m, n, threads_per_row, unroll, transposed, source, threads>)};
}

}  // namespace blockvec::kernels::cuda::study

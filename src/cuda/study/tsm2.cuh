#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "src/cuda/study/tsm2.hpp"

/// TSM2R and TSM2L (section 3 of the paper), names as in its algorithms.
namespace blockvec::kernels::cuda::study {

/// Algorithm 1: each entry of C takes a pass over the row of A.
template <class T>
__global__ void tsm2r_inner_kernel(const Tsm2Arguments<T> p) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= p.m) return;
  for (int column = 0; column < p.n; ++column) {
    T sum{};
    for (int l = 0; l < p.k; ++l) sum = fma(p.a[row + l * p.lda], p.b[l + column * p.ldb], sum);
    p.c[row + column * p.ldc] = sum;
  }
}

/// Algorithm 2: an entry of A serves t2 columns of B, which come from memory.
template <class T, int t2>
__global__ void tsm2r_outer_kernel(const Tsm2Arguments<T> p) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= p.m) return;
  for (int first = 0; first < p.n; first += t2) {
    T sums[t2]{};
    const T* const b = p.b + first * p.ldb;
    const auto add_row = [&](auto&& column_of) {
      for (int l = 0; l < p.k; ++l) {
        const T x = p.a[row + l * p.lda];
#pragma unroll
        for (int j = 0; j < t2; ++j) sums[j] = fma(x, b[l + column_of(j) * p.ldb], sums[j]);
      }
    };
    const int columns = p.n - first;
    if (columns >= t2) {
      add_row([](int j) { return j; });
    } else {  // columns past the last one repeat it, in vain
      add_row([&](int j) { return j < columns ? j : columns - 1; });
    }
#pragma unroll
    for (int j = 0; j < t2; ++j) {
      if (j < columns) p.c[row + (first + j) * p.ldc] = sums[j];
    }
  }
}

/// What a thread does in algorithms 3, 4, 6 and 7: a tile of B in shared memory, column-major, zero past B's ends.
template <class T, int t1, int t2, int t3>
struct Tsm2 {
  using TileB = T[t2][t1];

  const Tsm2Arguments<T>& p;
  const int thread = static_cast<int>(threadIdx.x);

  /// B's row j + thread at columns first, first + 1, ...
  __device__ void read_b(T (&next)[t2], int j, int first) const {
    const int row = j + thread;
#pragma unroll
    for (int i = 0; i < t2; ++i) {
      next[i] = row < p.k && first + i < p.n ? p.b[row + static_cast<std::int64_t>(first + i) * p.ldb] : T{};
    }
  }
  __device__ void put_b(TileB& tile, const T (&next)[t2]) const {
#pragma unroll
    for (int i = 0; i < t2; ++i) tile[i][thread] = next[i];
  }

  /// A's columns l, l + 1, ... of a row that is there: zero from column k on.
  __device__ void read_a(T (&next)[t3], std::int64_t row, int l) const {
    const T* const from = p.a + row + l * p.lda;
    if (l + t3 <= p.k) {
#pragma unroll
      for (int i = 0; i < t3; ++i) next[i] = from[i * p.lda];
    } else {
#pragma unroll
      for (int i = 0; i < t3; ++i) next[i] = l + i < p.k ? from[i * p.lda] : T{};
    }
  }

  /// sums += tile of A x rows l - j, l - j + 1, ... of the tile of B.
  __device__ void multiply(T (&sums)[t2], const T (&a)[t3], const TileB& tile, int row_of_tile) const {
#pragma unroll
    for (int i = 0; i < t3; ++i) {
#pragma unroll
      for (int column = 0; column < t2; ++column) sums[column] = fma(a[i], tile[column][row_of_tile + i], sums[column]);
    }
  }

  /// sums += A's row, columns j to j + t1, x the tile of B. `a` holds the first t3 entries, and the next ones
  /// afterwards.
  template <bool prefetch>
  __device__ void multiply_tile(T (&sums)[t2], T (&a)[t3], const TileB& tile, std::int64_t row, int j) const {
    const int end = min(j + t1, p.k);
    for (int l = j; l < end; l += t3) {
      if constexpr (prefetch) {
        T next[t3];
        read_a(next, row, l + t3);
        multiply(sums, a, tile, l - j);
#pragma unroll
        for (int i = 0; i < t3; ++i) a[i] = next[i];
      } else {
        read_a(a, row, l);
        multiply(sums, a, tile, l - j);
      }
    }
  }

  __device__ void write(const T (&sums)[t2], std::int64_t row, int first) const {
    if (row >= p.m) return;
#pragma unroll
    for (int i = 0; i < t2; ++i) {
      if (first + i < p.n) p.c[row + (first + i) * p.ldc] = sums[i];
    }
  }

  /// Algorithm 3 or 4 for the row of this thread. Threads past the last row help with B and read the last row.
  template <bool prefetch>
  __device__ void multiply_row(TileB& tile, std::int64_t row) const {
    const std::int64_t row_to_read = min(row, p.m - 1);
    for (int first = 0; first < p.n; first += t2) {
      T sums[t2]{};
      T a[t3];
      T next_b[t2];
      if constexpr (prefetch) {
        read_b(next_b, 0, first);
        read_a(a, row_to_read, 0);
      }
      for (int j = 0; j < p.k; j += t1) {
        if constexpr (!prefetch) read_b(next_b, j, first);
        __syncthreads();  // all have used the tile before
        put_b(tile, next_b);
        __syncthreads();
        if constexpr (prefetch) read_b(next_b, j + t1, first);
        multiply_tile<prefetch>(sums, a, tile, row_to_read, j);
      }
      write(sums, row, first);
    }
  }

  /// Algorithm 7: rows `row`, row + step, ... of this thread.
  __device__ void multiply_rows(TileB& tile, std::int64_t first_row, std::int64_t step) const {
    for (int first = 0; first < p.n; first += t2) {
      T next_b[t2];
      read_b(next_b, 0, first);
      for (int j = 0; j < p.k; j += t1) {
        __syncthreads();
        put_b(tile, next_b);
        __syncthreads();
        read_b(next_b, j + t1, first);
        T sums[t2], next_sums[t2];
        read_sums(next_sums, first_row, j, first);
        for (std::int64_t row = first_row; row - thread < p.m; row += step) {
#pragma unroll
          for (int i = 0; i < t2; ++i) sums[i] = next_sums[i];
          read_sums(next_sums, row + step, j, first);
          T a[t3];
          const std::int64_t row_to_read = min(row, p.m - 1);
          read_a(a, row_to_read, j);
          multiply_tile<true>(sums, a, tile, row_to_read, j);
          write(sums, row, first);
        }
      }
    }
  }

 private:
  /// What the tiles of B before row j gave.
  __device__ void read_sums(T (&sums)[t2], std::int64_t row, int j, int first) const {
#pragma unroll
    for (int i = 0; i < t2; ++i) {
      sums[i] = j > 0 && row < p.m && first + i < p.n ? p.c[row + (first + i) * p.ldc] : T{};
    }
  }
};

template <class T, int t1, int t2, int t3, bool prefetch>
__global__ void __launch_bounds__(t1) tsm2r_kernel(const Tsm2Arguments<T> p) {
  __shared__ alignas(16) typename Tsm2<T, t1, t2, t3>::TileB tile;
  Tsm2<T, t1, t2, t3>{p}.template multiply_row<prefetch>(tile,
                                                         static_cast<std::int64_t>(blockIdx.x) * t1 + threadIdx.x);
}

template <class T, int t1, int t2, int t3, Tsm2lOrder order>
__global__ void __launch_bounds__(t1) tsm2l_kernel(const Tsm2Arguments<T> p) {
  __shared__ alignas(16) typename Tsm2<T, t1, t2, t3>::TileB tile;
  const Tsm2<T, t1, t2, t3> of{p};
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * t1 + threadIdx.x;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * t1;
  if constexpr (order == Tsm2lOrder::tiles_first) {
    of.multiply_rows(tile, row, threads);
  } else {
    for (std::int64_t mine = row; mine - threadIdx.x < p.m; mine += threads) of.template multiply_row<true>(tile, mine);
  }
}

/// use(number of type std::integral_constant) for the one among `numbers` that is `wanted`; whether there is one.
template <const auto& numbers, std::size_t i = 0, class Use>
bool with_constant(int wanted, Use&& use) {
  if constexpr (i < numbers.size()) {
    if (wanted == numbers[i]) {
      use(std::integral_constant<int, numbers[i]>{});
      return true;
    }
    return with_constant<numbers, i + 1>(wanted, use);
  } else {
    return false;
  }
}

/// use(t1, t2, t3) with constants.
template <class Use>
void with_tiles(const Tsm2Tiles& tiles, Use&& use) {
  bool found = false;
  with_constant<tsm2_t1>(tiles.t1, [&](auto t1) {
    with_constant<tsm2_t2>(
        tiles.t2, [&](auto t2) { found = with_constant<tsm2_t3>(tiles.t3, [&](auto t3) { use(t1, t2, t3); }); });
  });
  if (found) return;
  throw std::invalid_argument("TSM2: tiles " + std::to_string(tiles.t1) + ", " + std::to_string(tiles.t2) + ", " +
                              std::to_string(tiles.t3) + " are not compiled");
}

inline unsigned blocks_of(std::int64_t rows, int t1) {
  return static_cast<unsigned>(std::max<std::int64_t>(1, (rows + t1 - 1) / t1));
}

template <class T>
void tsm2r(Tsm2rStep step, const Tsm2Tiles& tiles, const Tsm2Arguments<T>& arguments, CUstream_st* stream) {
  if (arguments.m == 0 || arguments.n == 0) return;
  const unsigned blocks = blocks_of(arguments.m, tiles.t1);
  with_tiles(tiles, [&](auto t1, auto t2, auto t3) {
    switch (step) {
      case Tsm2rStep::inner:
        tsm2r_inner_kernel<T><<<blocks, tiles.t1, 0, stream>>>(arguments);
        break;
      case Tsm2rStep::outer:
        tsm2r_outer_kernel<T, t2><<<blocks, tiles.t1, 0, stream>>>(arguments);
        break;
      case Tsm2rStep::shared:
        tsm2r_kernel<T, t1, t2, t3, false><<<blocks, tiles.t1, 0, stream>>>(arguments);
        break;
      case Tsm2rStep::prefetch:
        tsm2r_kernel<T, t1, t2, t3, true><<<blocks, tiles.t1, 0, stream>>>(arguments);
        break;
    }
  });
}

template <class T>
void tsm2l(Tsm2lOrder order, const Tsm2Tiles& tiles, std::int64_t tcf, const Tsm2Arguments<T>& arguments,
           CUstream_st* stream) {
  if (arguments.m == 0 || arguments.n == 0) return;
  const unsigned blocks = blocks_of((arguments.m + tcf - 1) / tcf, tiles.t1);
  with_tiles(tiles, [&](auto t1, auto t2, auto t3) {
    if (order == Tsm2lOrder::rows_first || arguments.k == 0) {
      tsm2l_kernel<T, t1, t2, t3, Tsm2lOrder::rows_first><<<blocks, tiles.t1, 0, stream>>>(arguments);
    } else {
      tsm2l_kernel<T, t1, t2, t3, Tsm2lOrder::tiles_first><<<blocks, tiles.t1, 0, stream>>>(arguments);
    }
  });
}

}  // namespace blockvec::kernels::cuda::study

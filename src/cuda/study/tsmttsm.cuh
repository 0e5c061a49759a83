#pragma once

#include "src/cuda/study/columns.cuh"
#include "src/cuda/study/reduction.cuh"

/// C = A^H B by the paper's mappings (section 3): a row of A and B belongs to pieces_m x pieces_n threads, each of
/// which keeps tile_m x tile_n sums. A tile of M x N is the mapping over K only, one of M x 1 that over K and N.
namespace blockvec::kernels::cuda::study {

template <class T, int m, int n, int tile_m, int tile_n, bool transposed, bool leap_frog, int threads,
          Reduction reduction, Change change>
struct Tsmttsm {
  static constexpr int pieces_m = pieces_of(m, tile_m);
  static constexpr int pieces_n = pieces_of(n, tile_n);
  using A = Columns<m, tile_m, pieces_m, transposed>;
  using B = Columns<n, tile_n, pieces_n, transposed>;
  static constexpr int owners = pieces_m * pieces_n;  // threads of a row
  static constexpr int rows = threads / owners;       // of a block
  static_assert(rows > 0);
  static constexpr int sum_count = change == Change::none ? tile_m * tile_n : 4;

  /// What a thread needs of one row.
  struct Row {
    T a[tile_m];
    T b[tile_n];
  };

  const TsmttsmArguments& p;
  int piece_m;
  int piece_n;
  const T* a;  ///< first column that this thread reads, in row 0
  const T* b;
  T sums[sum_count];

  __device__ Tsmttsm(const TsmttsmArguments& arguments, int owner)
      : p(arguments),
        piece_m(owner % pieces_m),
        piece_n(owner / pieces_m),
        a(static_cast<const T*>(p.a) + A::first(piece_m)),
        b(static_cast<const T*>(p.b) + B::first(piece_n)),
        sums{} {}

  __device__ Row read(std::int64_t k) const {
    // The divisor is beyond any K: a compiler that does not know it keeps the reads within the loop.
    if constexpr (change == Change::few_sums_few_rows) k = k / (std::int64_t{1} << 40) + k % 2;
    const T* const a_row = a + k * m;
    const T* const b_row = b + k * n;
    Row row;
#pragma unroll
    for (int i = 0; i < tile_m; ++i) row.a[i] = conjugate(load(a_row + A::offset_to_read(piece_m, i)));
#pragma unroll
    for (int j = 0; j < tile_n; ++j) row.b[j] = load(b_row + B::offset_to_read(piece_n, j));
    return row;
  }

  __device__ void multiply(const Row& row) {
#pragma unroll
    for (int i = 0; i < tile_m; ++i) {
#pragma unroll
      for (int j = 0; j < tile_n; ++j) add_product(sums[(i * tile_n + j) % sum_count], row.a[i], row.b[j]);
    }
  }

  /// Rows first, first + step, ... With leap frogging a row is read while the one before it is multiplied: two sets of
  /// registers in turn, so that nothing is moved. What is read past the end is the last row, in vain.
  __device__ void sum_rows(std::int64_t first, std::int64_t step) {
    if constexpr (leap_frog) {
      if (first >= p.k) return;
      Row even = read(first);
      for (std::int64_t k = first; k < p.k; k += 2 * step) {
        const Row odd = read(min(k + step, p.k - 1));
        multiply(even);
        even = read(min(k + 2 * step, p.k - 1));
        if (k + step < p.k) multiply(odd);
      }
    } else {
      for (std::int64_t k = first; k < p.k; k += step) multiply(read(k));
    }
  }

  /// use(entry of C, its sum) for all that this thread keeps.
  template <class Use>
  __device__ void for_each_entry(Use use) const {
#pragma unroll
    for (int i = 0; i < tile_m; ++i) {
#pragma unroll
      for (int j = 0; j < tile_n; ++j) {
        if (A::owns(piece_m, i) && B::owns(piece_n, j)) {
          use((A::first(piece_m) + A::offset(i)) * n + B::first(piece_n) + B::offset(j),
              sums[(i * tile_n + j) % sum_count]);
        }
      }
    }
  }

  /// `row`: which of the block's rows; those from `rows` on have no sums.
  __device__ void reduce(int row) {
    T* out = static_cast<T*>(p.out);
    if constexpr (reduction == Reduction::none) {
      T all{};
#pragma unroll
      for (int i = 0; i < sum_count; ++i) add(all, sums[i]);
      if (is_impossible(all)) out[0] = all;
    } else if constexpr (reduction == Reduction::thread) {
      out += (static_cast<std::int64_t>(blockIdx.x) * rows + row) * m * n;
      if (row < rows) for_each_entry([&](int entry, T sum) { out[entry] = sum; });
    } else if constexpr (reduction == Reduction::block) {
      add_rows_of_block<threads, owners, rows>(sums);
      out += static_cast<std::int64_t>(blockIdx.x) * m * n;
      if (row == 0) for_each_entry([&](int entry, T sum) { out[entry] = sum; });
    } else if constexpr (reduction == Reduction::thread_atomic) {
      if (row < rows) for_each_entry([&](int entry, T sum) { add_atomically(out + entry, sum); });
    } else {
      __shared__ T of_block[m * n];
      for (int entry = static_cast<int>(threadIdx.x); entry < m * n; entry += threads) of_block[entry] = T{};
      __syncthreads();
      if (row < rows) for_each_entry([&](int entry, T sum) { add_atomically(of_block + entry, sum); });
      __syncthreads();
      for (int entry = static_cast<int>(threadIdx.x); entry < m * n; entry += threads) {
        add_atomically(out + entry, of_block[entry]);
      }
    }
  }
};

template <class Shape, int threads, int least_blocks>
__global__ void __launch_bounds__(threads, least_blocks) tsmttsm_kernel(const TsmttsmArguments p) {
  const int row = static_cast<int>(threadIdx.x) / Shape::owners;
  Shape shape(p, static_cast<int>(threadIdx.x) % Shape::owners);
  if (row < Shape::rows) {
    shape.sum_rows(static_cast<std::int64_t>(blockIdx.x) * Shape::rows + row,
                   static_cast<std::int64_t>(gridDim.x) * Shape::rows);
  }
  shape.reduce(row);
}

template <class T, int m, int n, int tile_m, int tile_n, bool transposed, bool leap_frog, int threads, int least_blocks,
          Reduction reduction, Change change>
TsmttsmKernel describe_tsmttsm() {
  using Shape = Tsmttsm<T, m, n, tile_m, tile_n, transposed, leap_frog, threads, reduction, change>;
  return {letter<T>,
          m,
          n,
          tile_m,
          tile_n,
          transposed,
          leap_frog,
          reduction,
          change,
          threads,
          least_blocks,
          Shape::rows,
          reinterpret_cast<const void*>(tsmttsm_kernel<Shape, threads, least_blocks>)};
}

}  // namespace blockvec::kernels::cuda::study

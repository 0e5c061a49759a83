#pragma once

#include "src/cuda/math/recompute.cuh"
#include "src/cuda/math/tf32x3.cuh"
#include "src/cuda/operands/matrix.cuh"

/// tsmm without tensor cores and without a pipeline.
///
/// tsmm_direct_kernel is for few columns of B: a thread computes whole rows. In column-major operands, warps read and
/// write long parts of every column, whatever its alignment. Where rows lie far apart, warps read each line once. All
/// lanes read the same entry of C at a time. Blocks are many and short. They start in the order of the rows, so that
/// blocks that run at the same time touch neighbouring memory.
///
/// tsmm_general_kernel serves calls that no faster kernel takes, of any layout, stride and width, except in place. A
/// block computes 32 x 32 tiles of the result, 2 x 2 entries a thread. Operands pass through shared memory in double
/// precision.
namespace blockvec::kernels::cuda {

template <class Real>
struct TsmmDirect : TsmmTerms<Real> {
  Tall<const Real> a;
  Tall<Real> b;
  std::int64_t k;
  int m, n;  ///< columns, counted in scalars
};

inline constexpr int direct_threads = 256;

/// Adds beta times a row of B to sums of single precision. Where they are not finite, it computes the row again in
/// double precision. `m` is 0 if alpha is: A is not read then.
template <int parts, int columns>
__device__ inline void add_old_row(const TsmmDirect<float>& p, int m, const float* a, const float* old, Factor alpha,
                                   Factor beta, float (&sum)[columns][parts]) {
  const auto entry = [&](int j) { return old + j * p.b.column_stride; };
  unrolled<columns, parts>([&](int j, int part) {
    if (j < p.n && !beta.is_zero()) sum[j][part] = plus_scaled_entry(sum[j][part], entry(j), part, beta);
  });
  if (all_finite<columns * parts>(&sum[0][0])) return;
#pragma unroll 1
  for (int i = 0; i < parts * p.n; ++i) {
    double value = product_in_double(p, a, p.a.column_stride, parts * m, alpha, i);
    if (!beta.is_zero()) value += scaled_entry(entry(i / parts), i % parts, beta);
    unrolled<columns, parts>([&](int j, int part) {
      if (parts * j + part == i) sum[j][part] = static_cast<float>(value);  // sums stay in registers
    });
  }
}

/// Computes up to `columns` columns of B. Each thread has `rows` rows, and loads `batch` columns of A at a time.
template <class Real, int parts, int columns, int rows, int batch, class Sum = double>
__global__ void __launch_bounds__(direct_threads) tsmm_direct_kernel(const __grid_constant__ TsmmDirect<Real> p) {
  if (!p.condition.holds()) return;
  extern __shared__ __align__(1024) unsigned char memory[];
  Sum* const small = reinterpret_cast<Sum*>(memory);  // alpha C, row by row; zeros fill the last batch
  const Factor alpha = p.alpha.read();
  const Factor beta = p.beta.read();
  const int m = alpha.is_zero() ? 0 : p.m;  // alpha = 0: A is not read
  const int thread = static_cast<int>(threadIdx.x);
  std::int64_t row[rows];
  const Real* from[rows];
  unrolled<rows>([&](int r) {
    row[r] = (static_cast<std::int64_t>(blockIdx.x) * rows + r) * direct_threads + thread;
    from[r] = p.a.data + min(row[r], p.k - 1) * p.a.row_stride;
  });
  Real left[batch][rows][parts];
  const auto load = [&](int first) {
    unrolled<batch, rows, parts>([&](int i, int r, int part) {
      left[i][r][part] = first + i < m ? from[r][(first + i) * p.a.column_stride + part] : Real(0);
    });
  };
  load(0);  // these loads are under way while C is packed
  for (int i = thread; i < (m + batch - 1) / batch * batch * columns * parts; i += direct_threads) {
    const int row_of_c = i / (columns * parts);
    const int column = i % (columns * parts);
    small[i] =
        row_of_c < m && column < parts * p.n ? static_cast<Sum>(p.small.scaled(row_of_c * parts, column, alpha)) : 0;
  }
  __syncthreads();

  Sum sum[rows][columns][parts] = {};
  for (int first = 0; first < m;) {
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      if (first + i >= m) break;
      const Sum* const c = small + (first + i) * columns * parts;
      unrolled<columns, rows>([&](int j, int r) {
        const Sum re = left[i][r][0];
        sum[r][j][0] += re * c[parts * j];
        if constexpr (parts == 2) {
          const Sum im = left[i][r][1];
          sum[r][j][0] -= im * c[parts * j + 1];
          sum[r][j][1] += re * c[parts * j + 1];
          sum[r][j][1] += im * c[parts * j];
        }
      });
    }
    first += batch;
    if (first < m) load(first);
  }
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    if (row[r] >= p.k) break;
    Real* to = p.b.data + row[r] * p.b.row_stride;
    if constexpr (sizeof(Sum) == 4) add_old_row<parts>(p, m, from[r], to, alpha, beta, sum[r]);
#pragma unroll
    for (int j = 0; j < columns; ++j, to += p.b.column_stride) {
      if (j >= p.n) break;
      Sum(&value)[parts] = sum[r][j];
      if (sizeof(Sum) == 8 && !beta.is_zero()) add_old<parts>(value[0], value[parts - 1], to[0], to[parts - 1], beta);
      unrolled<parts>([&](int part) { to[part] = static_cast<Real>(value[part]); });
    }
  }
}

inline constexpr int piece_size = 32;
using Piece = double[piece_size][piece_size + 1];

/// Sets piece[i][j] to entry (row0 + i, column0 + j) of a tall matrix, or to 0 beyond its extents. Neighbouring threads
/// read neighbouring numbers.
template <class Real>
__device__ inline void load_piece(Piece& piece, const Tall<const Real>& a, std::int64_t row0, std::int64_t rows,
                                  std::int64_t column0, std::int64_t columns) {
  for (int index = static_cast<int>(threadIdx.x); index < piece_size * piece_size; index += direct_threads) {
    int i = index / piece_size;
    int j = index % piece_size;
    if (!a.row_major) {
      const int swapped = i;
      i = j;
      j = swapped;
    }
    const bool inside = row0 + i < rows && column0 + j < columns;
    piece[i][j] = inside ? static_cast<double>(a.data[a.offset(row0 + i, column0 + j)]) : 0.0;
  }
}

/// Blocks take row tiles of 32 rows in turn, and compute all columns of B for each.
template <class Real>
__global__ void __launch_bounds__(direct_threads) tsmm_general_kernel(const TsmmDirect<Real> p) {
  if (!p.condition.holds()) return;
  __shared__ Piece a;
  __shared__ Piece c;
  const Factor alpha = p.alpha.read();
  const Factor beta = p.beta.read();
  const int m = alpha.is_zero() ? 0 : p.a.parts * p.m;
  const int n = p.a.parts * p.n;
  const int i = static_cast<int>(threadIdx.x) / 16;
  const int j = static_cast<int>(threadIdx.x) % 16 * 2;  // two neighbours hold both parts of a complex entry
  for (std::int64_t row0 = static_cast<std::int64_t>(blockIdx.x) * piece_size; row0 < p.k;
       row0 += static_cast<std::int64_t>(gridDim.x) * piece_size) {
    for (int column0 = 0; column0 < n; column0 += piece_size) {
      double sum[2][2] = {};
      for (int depth0 = 0; depth0 < m; depth0 += piece_size) {
        load_piece(a, p.a, row0, p.k, depth0, m);
        for (int index = static_cast<int>(threadIdx.x); index < piece_size * piece_size; index += direct_threads) {
          const int row = depth0 + index / piece_size;
          const int column = column0 + index % piece_size;
          c[index / piece_size][index % piece_size] = row < m && column < n ? p.small.scaled(row, column, alpha) : 0.0;
        }
        __syncthreads();
        for (int depth = 0; depth < min(piece_size, m - depth0); ++depth) {
          unrolled<2, 2>([&](int x, int y) { sum[x][y] += a[i + 16 * x][depth] * c[depth][j + y]; });
        }
        __syncthreads();
      }
      unrolled<2>([&](int x) {
        const std::int64_t row = row0 + i + 16 * x;
        const int column = column0 + j;
        if (row >= p.k || column >= n) return;
        Real* const first = p.b.data + p.b.offset(row, column);
        const bool has_second = column + 1 < n;
        Real* const second = has_second ? p.b.data + p.b.offset(row, column + 1) : first;
        Factor values{sum[x][0], sum[x][1]};
        if (!beta.is_zero()) add_old(values.re, values.im, *first, *second, beta);
        *first = static_cast<Real>(values.re);
        if (has_second) *second = static_cast<Real>(values.im);
      });
    }
  }
}

}  // namespace blockvec::kernels::cuda

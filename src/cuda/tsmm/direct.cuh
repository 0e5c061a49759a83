#pragma once

#include "src/cuda/operands/matrix.cuh"

/// tsmm without tensor cores, for few columns of B: a thread computes whole rows. In column-major operands, warps read
/// and write long parts of every column, whatever its alignment. Where rows lie far apart, warps read each line once.
/// All lanes read the same entry of C at a time. Blocks are many and short. They start in the order of the rows, so
/// that blocks that run at the same time touch neighbouring memory.
namespace blockvec::kernels::cuda {

template <class Real>
struct TsmmDirect {
  Tall<const Real> a;
  Tall<Real> b;
  Small<Real> small;
  Coefficient<Real> alpha, beta;
  std::int64_t k;
  int m, n;  ///< columns, counted in scalars
};

inline constexpr int direct_threads = 256;

/// Computes up to `columns` columns of B. Each thread has `rows` rows, and loads `batch` columns of A at a time.
template <class Real, int parts, int columns, int rows, int batch>
__global__ void __launch_bounds__(direct_threads) tsmm_direct_kernel(const __grid_constant__ TsmmDirect<Real> p) {
  extern __shared__ __align__(16) double small[];  // alpha C, row by row; zeros fill the last batch
  const Factor alpha = p.alpha.read();
  const Factor beta = p.beta.read();
  const int m = alpha.is_zero() ? 0 : p.m;  // alpha = 0: A is not read
  const int thread = static_cast<int>(threadIdx.x);
  std::int64_t row[rows];
  const Real* from[rows];
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    row[r] = (static_cast<std::int64_t>(blockIdx.x) * rows + r) * direct_threads + thread;
    from[r] = p.a.data + min(row[r], p.k - 1) * p.a.row_stride;
  }
  Real left[batch][rows][parts];
  const auto load = [&](int first) {
#pragma unroll
    for (int i = 0; i < batch; ++i) {
#pragma unroll
      for (int r = 0; r < rows; ++r) {
#pragma unroll
        for (int part = 0; part < parts; ++part) {
          left[i][r][part] = first + i < m ? from[r][(first + i) * p.a.column_stride + part] : Real(0);
        }
      }
    }
  };
  load(0);  // these loads are under way while C is packed
  for (int i = thread; i < (m + batch - 1) / batch * batch * columns * parts; i += direct_threads) {
    const int row_of_c = i / (columns * parts);
    const int column = i % (columns * parts);
    small[i] = row_of_c < m && column < parts * p.n ? p.small.scaled(row_of_c * parts, column, alpha) : 0.0;
  }
  __syncthreads();

  double sum[rows][columns][parts] = {};
  for (int first = 0; first < m;) {
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      if (first + i >= m) break;
      const double* const c = small + (first + i) * columns * parts;
#pragma unroll
      for (int j = 0; j < columns; ++j) {
#pragma unroll
        for (int r = 0; r < rows; ++r) {
          const double re = left[i][r][0];
          sum[r][j][0] += re * c[parts * j];
          if constexpr (parts == 2) {
            const double im = left[i][r][1];
            sum[r][j][0] -= im * c[parts * j + 1];
            sum[r][j][1] += re * c[parts * j + 1];
            sum[r][j][1] += im * c[parts * j];
          }
        }
      }
    }
    first += batch;
    if (first < m) load(first);
  }
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    if (row[r] >= p.k) break;
    Real* to = p.b.data + row[r] * p.b.row_stride;
#pragma unroll
    for (int j = 0; j < columns; ++j, to += p.b.column_stride) {
      if (j >= p.n) break;
      if (!beta.is_zero()) {
        const Factor old = scale(beta, {static_cast<double>(to[0]), static_cast<double>(to[parts - 1])});
        sum[r][j][0] += old.re;
        if constexpr (parts == 2) sum[r][j][1] += old.im;
      }
#pragma unroll
      for (int part = 0; part < parts; ++part) to[part] = static_cast<Real>(sum[r][j][part]);
    }
  }
}

}  // namespace blockvec::kernels::cuda

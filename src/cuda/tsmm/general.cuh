#pragma once

#include "src/cuda/operands/matrix.cuh"

/// tsmm for any layout and stride, except in place; it serves calls that no faster kernel takes. A block of 256 threads
/// computes 32 x 32 tiles of the result, 2 x 2 entries a thread. Operands pass through shared memory in double
/// precision.
namespace blockvec::kernels::cuda {

inline constexpr int piece_size = 32;
inline constexpr int general_threads = 256;
using Piece = double[piece_size][piece_size + 1];

/// Sets piece[i][j] to entry (row0 + i, column0 + j) of a tall matrix, or to 0 beyond its extents. Neighbouring threads
/// read neighbouring numbers.
template <class Real>
__device__ inline void load_piece(Piece& piece, const Tall<const Real>& a, std::int64_t row0, std::int64_t rows,
                                  std::int64_t column0, std::int64_t columns) {
  for (int index = static_cast<int>(threadIdx.x); index < piece_size * piece_size; index += general_threads) {
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

template <class Real>
struct TsmmGeneral {
  Tall<const Real> a;
  Tall<Real> b;
  Small<Real> c;
  Coefficient<Real> alpha, beta;
  std::int64_t k;
  std::int64_t m, n;
};

/// Blocks take row tiles of 32 rows in turn, and compute all columns of B for each.
template <class Real>
__global__ void __launch_bounds__(general_threads) tsmm_general_kernel(const TsmmGeneral<Real> p) {
  __shared__ Piece a;
  __shared__ Piece c;
  const Factor alpha = p.alpha.read();
  const Factor beta = p.beta.read();
  const std::int64_t depths = alpha.is_zero() ? 0 : p.m;
  const int i = static_cast<int>(threadIdx.x) / 16;
  const int j = static_cast<int>(threadIdx.x) % 16 * 2;  // two neighbours hold both parts of a complex entry
  for (std::int64_t row0 = static_cast<std::int64_t>(blockIdx.x) * piece_size; row0 < p.k;
       row0 += static_cast<std::int64_t>(gridDim.x) * piece_size) {
    for (std::int64_t column0 = 0; column0 < p.n; column0 += piece_size) {
      double sum[2][2] = {};
      for (std::int64_t depth0 = 0; depth0 < depths; depth0 += piece_size) {
        load_piece(a, p.a, row0, p.k, depth0, p.m);
        for (int index = static_cast<int>(threadIdx.x); index < piece_size * piece_size; index += general_threads) {
          const std::int64_t row = depth0 + index / piece_size;
          const std::int64_t column = column0 + index % piece_size;
          c[index / piece_size][index % piece_size] =
              row < p.m && column < p.n ? p.c.scaled(static_cast<int>(row), static_cast<int>(column), alpha) : 0.0;
        }
        __syncthreads();
        const int depth_end = static_cast<int>(min(static_cast<std::int64_t>(piece_size), p.m - depth0));
        for (int depth = 0; depth < depth_end; ++depth) {
#pragma unroll
          for (int x = 0; x < 2; ++x) {
#pragma unroll
            for (int y = 0; y < 2; ++y) sum[x][y] += a[i + 16 * x][depth] * c[depth][j + y];
          }
        }
        __syncthreads();
      }
#pragma unroll
      for (int x = 0; x < 2; ++x) {
        const std::int64_t row = row0 + i + 16 * x;
        const std::int64_t column = column0 + j;
        if (row >= p.k || column >= p.n) continue;
        Real* const first = p.b.data + p.b.offset(row, column);
        const bool has_second = column + 1 < p.n;
        Real* const second = has_second ? p.b.data + p.b.offset(row, column + 1) : first;
        Factor values{sum[x][0], sum[x][1]};
        if (!beta.is_zero()) {
          const Factor old = scale(beta, {static_cast<double>(*first), static_cast<double>(*second)});
          values.re += old.re;
          values.im += old.im;
        }
        *first = static_cast<Real>(values.re);
        if (has_second) *second = static_cast<Real>(values.im);
      }
    }
  }
}

}  // namespace blockvec::kernels::cuda

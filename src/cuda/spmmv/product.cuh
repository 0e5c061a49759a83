#pragma once

#include <cstdint>

#include "src/cuda/spmmv/scalars.cuh"

/// What all kernels of sparse products share: the operands, and the end of a row.
namespace blockvec::kernels::cuda {

/// Y = alpha (A - shift) X + beta Z. Pointers and strides count real numbers, widths count scalars.
template <class Real>
struct SparseProduct {
  const std::int64_t* chunk_begin;
  const std::int32_t* row;  ///< null: rows in order
  const std::int32_t* column;
  const Real* value;
  const std::int32_t* long_row;
  const std::int64_t* long_begin;
  std::int64_t chunks, rows;
  int width;
  const Real* x;
  const Real* diagonal_x;  ///< the row of X that the shift of row 0 takes
  const Real* z;
  Real* y;
  std::int64_t x_row, x_column;  ///< strides
  std::int64_t z_row, z_column;
  std::int64_t y_row, y_column;
  Real alpha[2], shift[2], beta[2];
  bool multiplies;  ///< alpha is not zero
  bool shifts;      ///< the shift is not zero, and alpha is not
  bool adds;        ///< beta is not zero

  /// The row at a place of the chunks; -1: none.
  __device__ std::int64_t row_at(std::int64_t place) const {
    if (row != nullptr) return __ldg(row + place);
    return place < rows ? place : -1;
  }
};

/// Turns sums of `vector` neighbouring columns, whose shift, Z and Y stand at x, z and y, into results, and writes them.
template <bool whole, int vector, class Real, int parts>
__device__ inline void finish(const SparseProduct<Real>& p, Scalar<Real, parts> (&sum)[vector], const Real* x,
                              const Real* z, Real* y) {
  using S = Scalar<Real, parts>;
  S result[vector];
  S old[vector];
  if (p.shifts) {
    load<whole>(old, x);
    S minus;
#pragma unroll
    for (int i = 0; i < parts; ++i) minus.part[i] = -p.shift[i];
#pragma unroll
    for (int v = 0; v < vector; ++v) add_product(sum[v], minus, old[v]);
  }
  if (p.multiplies) {
    const S alpha = S::of(p.alpha);
#pragma unroll
    for (int v = 0; v < vector; ++v) add_product(result[v], alpha, sum[v]);
  }
  if (p.adds) {
    load_written<whole>(old, z);
    const S beta = S::of(p.beta);
#pragma unroll
    for (int v = 0; v < vector; ++v) add_product(result[v], beta, old[v]);
  }
  store<whole>(y, result);
}

}  // namespace blockvec::kernels::cuda

#pragma once

#include <cstdint>

#include "src/dispatch/cuda/constants.hpp"

/// Operands and scalars as device code sees them. Every operand is a matrix of real numbers there. A complex operand
/// has its real and imaginary parts alternate; products of such real views hold all that complex products need.
/// Extents, widths and strides count real numbers.
namespace blockvec::kernels::cuda {

/// alpha or beta in device code, for every scalar type. It is double because sums are kept in double precision.
struct Factor {
  double re;
  double im;
  __host__ __device__ bool is_zero() const { return re == 0 && im == 0; }
};

/// factor times x. A real factor multiplies the two parts of x separately, so that Inf stays Inf.
__device__ inline Factor scale(Factor factor, Factor x) {
  if (factor.im == 0) return {factor.re * x.re, factor.re * x.im};
  return {factor.re * x.re - factor.im * x.im, factor.re * x.im + factor.im * x.re};
}

/// alpha or beta of a call: a host value, or a value in device memory that is read when the kernel runs.
template <class Real>
struct Coefficient {
  Factor value;
  const Real* device;  ///< real and imaginary part; null: `value` counts
  int parts;

  __device__ Factor read() const {
    if (device == nullptr) return value;
    return {static_cast<double>(device[0]), parts == 2 ? static_cast<double>(device[1]) : 0.0};
  }
};

/// Whether a kernel is to write its output: a word in device memory that an earlier kernel may have written. So a
/// kernel reads it after await_previous_kernel. All threads of all blocks find the same, and end together.
struct Condition {
  const unsigned* word;  ///< null: it holds

  __device__ bool holds() const { return word == nullptr || *word != 0; }
};

/// A tall matrix of any layout, addressed by entries (row, column) of its real view.
template <class Real>
struct Tall {
  Real* data;
  std::int64_t row_stride;
  std::int64_t column_stride;  ///< between columns of scalars
  int parts;                   ///< real numbers per scalar: 1, or 2 for complex
  bool row_major;

  __host__ __device__ std::int64_t offset(std::int64_t row, std::int64_t column) const {
    return parts == 1 ? row * row_stride + column * column_stride
                      : row * row_stride + (column >> 1) * column_stride + (column & 1);
  }
};

/// `count` neighbouring numbers, which one access moves.
template <int count, class Real>
struct alignas(count * sizeof(Real)) Neighbouring {
  Real number[count];
};

enum class Half { none, upper, lower };

/// The small matrix C of tsmm as a real matrix. A complex entry c stands for the 2 x 2 block (re c, im c; -im c, re c).
template <class Real>
struct Small {
  const Real* data;
  std::int64_t row_stride;
  std::int64_t column_stride;
  int parts;
  Half half;  ///< the triangle that is read

  /// Entry (row, column) of alpha C. The opposite triangle is not read.
  __device__ double scaled(int row, int column, Factor alpha) const {
    const int i = row / parts;
    const int j = column / parts;
    if ((half == Half::upper && i > j) || (half == Half::lower && i < j)) return 0;
    const Real* const entry = data + i * row_stride + j * column_stride;
    const double re = entry[0];
    if (parts == 1) return alpha.re * re;
    const Factor scaled = scale(alpha, {re, static_cast<double>(entry[1])});
    if (row % 2 == column % 2) return scaled.re;
    return row % 2 == 0 ? scaled.im : -scaled.im;
  }
};

/// What all tsmm kernels share.
template <class Real>
struct TsmmTerms {
  Small<Real> small;  ///< the operand C
  Coefficient<Real> alpha, beta;
  Condition condition;  ///< where it does not hold, nothing is read or written
};

/// Rows of a matrix without gaps in memory, or with small gaps that are loaded too: a row tile is one piece of memory.
template <class Real>
struct Stream {
  const Real* data;
  std::int64_t count;  ///< real numbers from the first entry to the last
  int pitch;           ///< real numbers from row to row
};

using dispatch::ceil_div;
using dispatch::round_up;

}  // namespace blockvec::kernels::cuda

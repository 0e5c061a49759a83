#pragma once

#include <cstdint>

#include "src/cuda/operands/scalar.cuh"
#include "src/dispatch/cuda/constants.hpp"

/// How kernels address their operands. Extents, widths and strides count real numbers (scalar.cuh).
namespace blockvec::kernels::cuda {

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

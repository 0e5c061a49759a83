#pragma once

#include <cstdint>

#include "src/cuda/operands/load_tma.cuh"

namespace blockvec::kernels::cuda {

struct Product;

/// An operand in device memory as lines: rows or columns.
template <class Real>
struct Lines {
  const Real* data;
  std::int64_t length;    ///< real numbers of a line
  std::int64_t count;     ///< lines
  std::int64_t distance;  ///< real numbers from line to line
};

/// Makes TMA tiles (boxes) of `pitch` numbers by `lines_of_class` lines (at most 256) of each of `classes` classes.
/// `pitch` is a multiple of 16 bytes and at most 256. Where lines do not start on multiples of 16 bytes, it is at least
/// a line's share plus 16 bytes. `classes` may be more than the lines' distance needs, so that two operands have
/// equally many. Throws CudaError, naming the operation and its shape, if the driver refuses.
template <class Real>
Boxes boxes(const Lines<Real>& lines, int classes, int pitch, int lines_of_class, const Product& operation);

/// Makes TMA tiles that start at multiples of `cut` numbers (a multiple of 16 bytes, at most a line's length) and take
/// at most `cut` numbers of a line. Lines must have one class and start on multiples of 16 bytes.
template <class Real>
Boxes cut_boxes(const Lines<Real>& lines, int cut, int pitch, int lines_of_box, const Product& operation);

/// Makes TMA tiles of 128 bytes of each of `lines_of_piece` lines (at most 256), which begin at multiples of 16 bytes.
/// In shared memory, at a multiple of 1024 bytes, unit u of 16 bytes of line i stands at place u ^ (i % 8) of the
/// line's 128 bytes, so that lanes that read the same units of eight lines meet different banks.
template <class Real>
CUtensorMap piece_map(const Lines<Real>& lines, int lines_of_piece, const Product& operation);

}  // namespace blockvec::kernels::cuda

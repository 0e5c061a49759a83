#pragma once

#include <cstdint>

#include "src/cuda/operands/load_tma.cuh"

namespace blockvec::kernels::cuda {

struct Product;

/// An operand in device memory, line by line.
template <class Real>
struct Lines {
  const Real* data;
  std::int64_t length;    ///< real numbers of a line
  std::int64_t count;     ///< lines
  std::int64_t distance;  ///< real numbers from line to line
};

/// Classes that lines of this distance fall into: 1, 2 or 4.
int box_classes(std::int64_t distance, int real_bytes);

/// Boxes of `pitch` numbers (a multiple of 16 bytes, at most 256, at least a line's share plus 16 bytes where lines do
/// not start on multiples of 16 bytes) by `lines_of_class` (at most 256) lines of each of `classes` classes, which may
/// be more than box_classes says so that two operands go together.
/// `long_pieces`: of several lines of memory of 128 bytes, which the cache asks for at once.
/// Throws CudaError, naming the operation and its shape, if the driver refuses.
template <class Real>
Boxes boxes(const Lines<Real>& lines, int classes, int pitch, int lines_of_class, const Product& operation,
            bool long_pieces = false);

/// The same where boxes start at multiples of `cut` numbers (a multiple of 16 bytes, at most a line's length) and take
/// no more of a line. For lines of a single class that start on multiples of 16 bytes.
template <class Real>
Boxes cut_boxes(const Lines<Real>& lines, int cut, int pitch, int lines_of_box, const Product& operation);

/// Boxes of `pitch` numbers (128 bytes) of `lines_of_box` lines each, for lines that begin at multiples of 16 bytes. In
/// shared memory, at a multiple of 1024 bytes, the 16 bytes numbered i of line l stand where i xor l % 8 would.
template <class Real>
Boxes swizzled_boxes(const Lines<Real>& lines, int pitch, int lines_of_box, const Product& operation);

/// The map of boxes of `numbers` by `lines_of_box`, for lines that begin at multiples of 16 bytes.
template <class Real>
CUtensorMap box_map(const Lines<Real>& lines, int numbers, int lines_of_box, const Product& operation);

}  // namespace blockvec::kernels::cuda

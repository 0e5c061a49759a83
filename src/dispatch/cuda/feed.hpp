#pragma once

#include <cstdint>

/// How an operand of a CUDA kernel comes into shared memory; nothing here needs a device.
/// Lines are the rows of a row-major matrix or the columns of a column-major one. Lengths count real numbers.
namespace blockvec::kernels::dispatch {

/// Flat: chunks are pieces of memory without gaps, or with gaps that are read along.
/// Boxed: chunks are cut out by tensor maps (src/cuda/operands/load_tma.cuh).
/// Columns: a piece of each for itself, or in boxes (src/cuda/operands/load_columns.cuh).
struct CudaFeed {
  bool boxed;
  int classes;       ///< of lines, so that those of a class have a stride that tensor maps take
  int pitch;         ///< numbers from line to line in a stage (of one class)
  int panel;         ///< from box to box: numbers of a row, or columns
  int panels;        ///< boxes side by side
  int lines;         ///< of a class in a box, or columns in a stage
  int stage_bytes;   ///< a multiple of 128
  int bytes_beyond;  ///< of other things that lanes may read behind these, without effect
  int class_step;    ///< columns in boxes: numbers from a class's first column to the next one's in a stage
};

/// Boxes have at most so many numbers or lines a side.
inline constexpr int longest_box = 256;
inline constexpr int most_box_classes = 4;

/// Rows of a chunk stand in a stage in so many segments at most, each of one class.
inline constexpr int most_segments = 8;

/// Classes that lines of this distance fall into: 1, 2 or 4.
constexpr int box_classes(std::int64_t distance, int real_bytes) {
  int classes = 1;
  while (classes * distance * real_bytes % 16 != 0) classes *= 2;
  return classes;
}

/// What a product wants of an operand in a stage.
struct CudaFeedRequest {
  std::int64_t width;    ///< real columns
  std::int64_t pitch;    ///< real numbers from line to line in memory
  std::int64_t reached;  ///< columns that the warps' tiles cover: some lanes read beyond the width
  int rows;              ///< of a chunk
  int step;              ///< panels are multiples of so many columns
  int lead;              ///< numbers that a line may begin after a multiple of 16 bytes
  int real_bytes;
  int apart = 0;       ///< numbers between columns of a class in boxes, for lanes to meet different banks
  bool flips = false;  ///< lanes read one part of complex numbers in 4 rows of 4 columns (banks.hpp)
};

/// A chunk is one piece.
CudaFeed flat_feed(const CudaFeedRequest& request);

/// Rows in boxes whose pitch is an odd multiple of `bank_step` numbers (a multiple of 16 bytes): lanes that read
/// columns of several rows meet different banks. 0: in the tightest boxes.
CudaFeed row_feed(const CudaFeedRequest& request, int classes, int bank_step);

/// Columns, each a piece for itself; `parts` real numbers a scalar. `lines` is how many there are.
CudaFeed column_feed(const CudaFeedRequest& request, int parts);
/// The same in boxes of `panel` columns of a class: classes lie one after the other.
CudaFeed boxed_column_feed(const CudaFeedRequest& request, int parts);
/// Columns of numbers of 8 bytes that begin at multiples of 16, in swizzled boxes of 16 rows of all of them.
inline constexpr int swizzled_rows = 16;
CudaFeed swizzled_column_feed(const CudaFeedRequest& request);

}  // namespace blockvec::kernels::dispatch

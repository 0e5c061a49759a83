#pragma once

#include <cstdint>

#include "src/dispatch/cuda/constants.hpp"

/// Load modes (feeds): how an operand of a CUDA kernel comes into shared memory. Nothing here needs a device.
/// Lines are the rows of a row-major matrix or the columns of a column-major one. Lengths count real numbers.
namespace blockvec::kernels::dispatch {

/// The load mode of an operand, and where its row tiles (chunks) lie in a stage.
/// Flat: a chunk is one piece of memory. If it has gaps between rows, these are read too.
/// Boxed: tensor maps load a chunk as TMA tiles (boxes, src/cuda/operands/load_tma.cuh).
/// Columns: each column's piece comes by itself, or TMA tiles bring many (src/cuda/operands/load_columns.cuh).
struct CudaFeed {
  bool boxed;
  int classes;       ///< classes of lines: within a class the stride suits tensor maps
  int pitch;         ///< numbers from line to line of a class in a stage
  int panel;         ///< numbers of a row, or columns, from TMA tile to TMA tile
  int panels;        ///< TMA tiles side by side
  int lines;         ///< lines of a class in a TMA tile, or columns in a stage
  int stage_bytes;   ///< a multiple of 128
  int bytes_beyond;  ///< bytes of other data behind it that lanes may read, without effect
  int class_step;    ///< columns in TMA tiles: numbers from a class's first column to the next class's
};

/// The number of classes that lines of this distance fall into: 1, 2 or 4.
constexpr int box_classes(std::int64_t distance, int real_bytes) {
  int classes = 1;
  while (classes * distance * real_bytes % 16 != 0) classes *= 2;
  return classes;
}

/// What a product needs of an operand in a stage.
struct CudaFeedRequest {
  std::int64_t width;    ///< real columns
  std::int64_t pitch;    ///< real numbers from line to line in memory
  std::int64_t reached;  ///< columns that the warps' tiles cover; some lanes read beyond the width
  int rows;              ///< rows of a chunk
  int step;              ///< panels are multiples of `step` columns
  int lead;              ///< misalignment: the most numbers between a multiple of 16 bytes and the start of a line
  int real_bytes;
  int apart = 0;       ///< padding between columns in TMA tiles, so that lanes meet different banks
  bool flips = false;  ///< lanes read re or im of complex numbers in 4 rows of 4 columns (banks.hpp)
};

/// The feed for a chunk that is one piece of memory.
CudaFeed flat_feed(const CudaFeedRequest& request);

/// The feed for rows in TMA tiles. Their pitch is an odd multiple of `bank_step` numbers (a multiple of 16 bytes), so
/// that lanes that read columns of several rows meet different banks. `bank_step` 0: the pitch is as small as possible.
CudaFeed row_feed(const CudaFeedRequest& request, int classes, int bank_step);

/// The feed for columns, each a piece by itself, with `parts` real numbers per scalar. `lines` counts the columns.
CudaFeed column_feed(const CudaFeedRequest& request, int parts);
/// The feed for columns in TMA tiles of `panel` columns of a class. Classes lie one after the other.
CudaFeed boxed_column_feed(const CudaFeedRequest& request, int parts);
/// The feed for columns of 8-byte numbers that begin at multiples of 16 bytes. Swizzled TMA tiles have 16 rows of all
/// columns.
CudaFeed swizzled_column_feed(const CudaFeedRequest& request);

}  // namespace blockvec::kernels::dispatch

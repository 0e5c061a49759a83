#pragma once

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/stages.hpp"

/// Configurations of tsmm for column-major operands whose row tiles (chunks) are pieces of columns
/// (src/cuda/tsmm/column_pieces.cuh). They serve any stride, any alignment, and widths whose C fits into shared memory.
namespace blockvec::kernels::dispatch {

/// Bytes of `columns` columns in a stage, with `pitch` numbers from one to the next. They begin anywhere in 16 bytes.
constexpr std::int64_t piece_bytes(std::int64_t columns, int pitch, int real_bytes) {
  return round_up(columns * pitch * real_bytes + 16, line_bytes);
}

/// Whether the 3xTF32 kernel can take the old values of B from its stages. Its chunks have `steps` steps of 64 rows,
/// its tiles `tile_n` x 8 columns of B. In the other cases it has too few registers.
constexpr bool may_hold_old(int parts, int steps, int tile_n) { return parts == 1 || steps > 1 || tile_n <= 4; }

}  // namespace blockvec::kernels::dispatch

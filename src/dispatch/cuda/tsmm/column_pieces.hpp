#pragma once

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/stages.hpp"

/// tsmm's configurations for column-major operands whose chunks are pieces of columns (src/cuda/
/// tsmm/column_pieces.cuh): any stride, any alignment, widths whose C fits into shared memory.
namespace blockvec::kernels::dispatch {

/// Bytes of so many columns in a stage, `pitch` numbers from one to the next; they start anywhere in 16 bytes.
constexpr std::int64_t piece_bytes(std::int64_t columns, int pitch, int real_bytes) {
  return round_up(columns * pitch * real_bytes + 16, line_bytes);
}

/// Whether the kernel of split products whose chunks have so many steps of 64 rows, and tiles so many eights of B's
/// columns, can find in its stages what B held: registers do not go further.
constexpr bool may_hold_old(int parts, int steps, int tile_n) { return parts == 1 || steps > 1 || tile_n <= 4; }

}  // namespace blockvec::kernels::dispatch

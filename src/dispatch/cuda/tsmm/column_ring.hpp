#pragma once

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/stages.hpp"

/// tsmm's candidates for column-major operands on tensor cores (src/cuda/tsmm/column_ring.cuh; in single precision
/// those of dispatch/cuda/tsmm/column_pieces.hpp): any stride, any alignment, widths whose C fits into shared memory.
namespace blockvec::kernels::dispatch {

/// Bytes of so many columns in a stage, `pitch` numbers from one to the next; they start anywhere in a line.
constexpr std::int64_t column_bytes(std::int64_t columns, int pitch, int real_bytes) {
  return round_up(columns * pitch * real_bytes, line_bytes) + line_bytes;
}

/// Lanes of a warp read eight numbers of each of four columns of a stage: 2^k neighbours belong to one lane, so that
/// the others' columns lie a quarter of the banks further on each, or nearly so where `pitch` is odd.
constexpr int column_neighbours(int pitch, int real_bytes) {
  const int banks = pitch * real_bytes / 4;
  return banks % 16 == 8 ? 0 : banks % 8 == 4 ? 1 : 2;
}

}  // namespace blockvec::kernels::dispatch

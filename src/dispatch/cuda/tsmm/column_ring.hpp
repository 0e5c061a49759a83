#pragma once

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/stages.hpp"

/// Candidates of tsmm for column-major operands on tensor cores (src/cuda/tsmm/column_ring.cuh). They serve any stride,
/// any alignment, and widths whose C fits into shared memory. In single precision, dispatch/cuda/tsmm/column_pieces.hpp
/// has the candidates.
namespace blockvec::kernels::dispatch {

/// Bytes of `columns` columns in a stage, with `pitch` numbers from one to the next. They begin anywhere in a line.
constexpr std::int64_t column_bytes(std::int64_t columns, int pitch, int real_bytes) {
  return round_up(columns * pitch * real_bytes, line_bytes) + line_bytes;
}

/// Returns k: 2^k neighbouring columns belong to one lane. The lanes of a warp read eight numbers of each of four
/// columns of a stage. With this k, each of the four columns lies a quarter of the banks further on, or nearly so if
/// `pitch` is odd.
constexpr int column_neighbours(int pitch, int real_bytes) {
  const int banks = pitch * real_bytes / 4;
  return banks % 16 == 8 ? 0 : banks % 8 == 4 ? 1 : 2;
}

}  // namespace blockvec::kernels::dispatch

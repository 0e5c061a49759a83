#pragma once

/// tsmttsm of a few columns by threads that own rows (src/cuda/tsmttsm_columns_narrow.cu).
namespace blockvec::kernels::dispatch {

inline constexpr int narrow_threads = 256;
/// Rows of a thread that are on their way at a time.
inline constexpr int narrow_rows = 4;

/// Blocks of a multiprocessor that have registers for their sums, these rows and all else.
constexpr int narrow_blocks(int real_bytes, int parts, int columns) {
  constexpr int registers_of_a_multiprocessor = 65536;
  const int sums = 2 * columns * columns * parts;
  const int rows = 2 * columns * parts * narrow_rows * real_bytes / 4;
  return registers_of_a_multiprocessor / narrow_threads / (sums + rows + 18);
}

}  // namespace blockvec::kernels::dispatch

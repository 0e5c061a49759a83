#pragma once

#include <cstdint>

#include "src/dispatch/cuda/configuration.hpp"

/// Shared memory has 32 banks of 4 bytes; numbers of one bank that a warp wants at a time come one after the other.
namespace blockvec::kernels::dispatch {

/// Which rows of a group of 16 a lane takes, so that the lanes of a warp meet different banks: row
/// by_lane (lane % 4) + by_first (j % 2) + by_second (j / 2) for j = 0..3; where by_lane is 8, of the first or second
/// half of 32 rows, which begin 4 rows apart.
struct RowMap {
  int by_lane;
  int by_first;
  int by_second;
};

/// Lanes of a warp read 4 rows of 4 columns or so at a time: rows whose distance in banks keeps them apart.
constexpr RowMap row_map(std::int64_t pitch) {
  if (pitch % 2 != 0) return {4, 1, 2};
  if (pitch % 4 != 0) return {2, 1, 8};
  return {1, 4, 8};
}

/// The same for columns, one number after the other, of this pitch.
constexpr RowMap column_map(std::int64_t pitch) { return pitch % 2 != 0 ? RowMap{4, 1, 2} : RowMap{1, 4, 8}; }
/// And where a lane reads complex numbers of 16 bytes: columns an odd number of these apart share no banks in every
/// other row.
constexpr RowMap complex_column_map(std::int64_t pitch) {
  return pitch / 2 % 2 != 0 ? RowMap{2, 1, 8} : RowMap{1, 4, 8};
}
/// Lanes that read the parts of complex numbers one by one, half of them the imaginary part first, all four rows in
/// other banks: which bit of a lane's number tells, for rows or columns of this pitch.
constexpr int flipping_bit(std::int64_t pitch, bool row_major) {
  return pitch / 2 % 2 != 0 || (row_major && pitch / 2 % 4 != 0) ? 1 : 2;
}
/// And where a lane reads 16 bytes of a column at a time, or columns of several classes fill 16 bytes between them.
constexpr RowMap wide_column_map(std::size_t bytes) { return bytes == 4 ? RowMap{4, 1, 2} : RowMap{2, 1, 8}; }

/// For tsmttsm, whose lanes read 8 columns of 4 rows: twice as many numbers of 4 bytes as of 8 fill the banks. Either
/// operand may want another map; the one that is read more often decides.
constexpr RowMap row_map_of(const CudaTsmttsm& c, std::int64_t pitch_a, std::int64_t pitch_b, std::size_t real_bytes) {
  const bool by_a = c.whole_warpgroups() || c.warps_n * c.tile_m * 2 >= c.warps_m * c.tile_n;
  const std::int64_t pitch = by_a ? pitch_a : pitch_b;
  if (c.whole_warpgroups() && pitch % 2 != 0) return {8, 1, 2};
  return row_map(real_bytes == 4 && pitch % 2 == 0 ? pitch / 2 : pitch);
}

/// Rows that begin in the same bank, or in two of them: half of tsmttsm's lanes may read their columns in another order
/// than the others do, which halves the clocks. Where a chunk is one piece and products are not split.
constexpr bool lanes_turn(std::int64_t pitch) { return pitch % 16 == 0; }
constexpr bool may_turn(int tile_m, int tile_n) {
  return tile_n == 0 && tile_m <= 12;  // Gram matrices' tiles leave registers for it
}
constexpr bool lanes_may_turn(const CudaTsmttsm& c) {
  return c.split == 1 && c.rows == c.segment && c.kernel == TsmttsmKernel::gram && may_turn(c.tile_m, c.tile_n);
}

/// Columns may come swizzled, 16 rows at a time (src/cuda/math/f64_tiles.cuh): for wide results, which many lanes read.
constexpr bool may_swizzle(int tile_m, int tile_n) {
  return (tile_m == 4 && tile_n == 4) || (tile_m == 16 && tile_n == 0);
}

/// Clocks in which a warp reads one number a lane for the fragments of tsmttsm: lane l row by_lane (l % 4), column l
/// / 4.
int fragment_read_clocks(const RowMap& map, std::int64_t pitch, int real_bytes);

}  // namespace blockvec::kernels::dispatch

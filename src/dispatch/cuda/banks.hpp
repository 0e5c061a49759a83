#pragma once

#include <cstdint>

#include "src/dispatch/cuda/configuration.hpp"

/// Bank conflicts. Shared memory has 32 banks of 4 bytes. Numbers of one bank that a warp reads at a time come one
/// after the other.
namespace blockvec::kernels::dispatch {

/// The map for columns of this pitch, of which a lane reads one number at a time.
constexpr RowMap column_map(std::int64_t pitch) { return pitch % 2 != 0 ? RowMap{4, 1, 2} : RowMap{1, 4, 8}; }
/// The map for columns of which a lane reads complex numbers of 16 bytes. If columns are an odd number of these apart,
/// lanes that take every other row meet different banks.
constexpr RowMap complex_column_map(std::int64_t pitch) {
  return pitch / 2 % 2 != 0 ? RowMap{2, 1, 8} : RowMap{1, 4, 8};
}
/// The bit of a lane's number that flips the lane, for rows or columns of this pitch. Lanes read real and imaginary
/// parts of complex numbers separately. Half of them are flipped: they read the imaginary part first, so that all four
/// rows are in different banks.
constexpr int flipping_bit(std::int64_t pitch, bool row_major) {
  return pitch / 2 % 2 != 0 || (row_major && pitch / 2 % 4 != 0) ? 1 : 2;
}
/// The map for columns of which a lane reads 16 bytes at a time, or for columns of several classes, which together fill
/// 16 bytes.
constexpr RowMap wide_column_map(std::size_t bytes) { return bytes == 4 ? RowMap{4, 1, 2} : RowMap{2, 1, 8}; }

/// The map for rows in tsmttsm, whose lanes read 8 columns of 4 rows. The banks hold twice as many numbers of 4 bytes
/// as of 8. A and B may need different maps; the operand that is read more often decides.
constexpr RowMap row_map_of(const RingTsmttsm& c, std::int64_t pitch_a, std::int64_t pitch_b, std::size_t real_bytes) {
  const bool by_a = c.whole_warpgroups() || c.warps_n * c.tile_m * 2 >= c.warps_m * c.tile_n;
  const std::int64_t pitch = by_a ? pitch_a : pitch_b;
  if (c.whole_warpgroups() && pitch % 2 != 0) return {8, 1, 2};
  return row_map(real_bytes == 4 && pitch % 2 == 0 ? pitch / 2 : pitch);
}

/// Whether all rows begin in one bank, or in two. Then half of tsmttsm's lanes may be `turned`: they read their columns
/// in another order than the other lanes, which halves the clocks. `lanes_may_turn` wants a chunk of one segment, and
/// one group per stage.
constexpr bool lanes_turn(std::int64_t pitch) { return pitch % 16 == 0; }
constexpr bool lanes_may_turn(const RingTsmttsm& c) {
  return c.split == 1 && c.rows == c.segment && c.kernel == TsmttsmKernel::gram && may_turn(c.tile_m, c.tile_n);
}

/// Clocks in which a warp reads one number per lane for the fragments of tsmttsm. Lane l reads row by_lane (l % 4) of
/// column l / 4.
int fragment_read_clocks(const RowMap& map, std::int64_t pitch, int real_bytes);

}  // namespace blockvec::kernels::dispatch

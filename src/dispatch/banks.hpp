#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "src/dispatch/cuda_configuration.hpp"

/// Shared memory has 32 banks of 4 bytes; numbers of one bank that a warp wants at a time come one after the other.
namespace blockvec::kernels::dispatch {

/// Which rows of a group of 16 a lane takes, so that the lanes of a warp meet different banks: row
/// by_lane (lane % 4) + by_first (j % 2) + by_second (j / 2) for j = 0..3.
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

/// Either operand of tsmttsm may want another map; the one that is read more often decides.
constexpr RowMap row_map_of(const CudaTsmttsm& c, std::int64_t pitch_a, std::int64_t pitch_b) {
  return row_map(c.warps_n * c.tile_m * 2 >= c.warps_m * c.tile_n ? pitch_a : pitch_b);
}

/// Clocks in which a warp reads one number a lane, lane l from place[l].
constexpr int read_clocks(const std::array<std::int64_t, 32>& place, int real_bytes) {
  const int lanes = 128 / real_bytes;  // that are served together at best, from as many places
  int clocks = 0;
  for (int first = 0; first < 32; first += lanes) {
    int longest = 0;
    std::array<int, 32> count{};
    for (int lane = first; lane < first + lanes; ++lane) {
      const auto at = place[static_cast<std::size_t>(lane)];
      bool again = false;
      for (int other = first; other < lane; ++other) again = again || place[static_cast<std::size_t>(other)] == at;
      if (!again) longest = std::max(longest, ++count[static_cast<std::size_t>(at % lanes)]);
    }
    clocks += longest;
  }
  return clocks;
}

/// For the fragments of tsmttsm: lane l reads row by_lane (l % 4), column l / 4.
constexpr int fragment_read_clocks(const RowMap& map, std::int64_t pitch, int real_bytes) {
  std::array<std::int64_t, 32> place{};
  for (int lane = 0; lane < 32; ++lane)
    place[static_cast<std::size_t>(lane)] = map.by_lane * (lane % 4) * pitch + lane / 4;
  return read_clocks(place, real_bytes);
}

}  // namespace blockvec::kernels::dispatch

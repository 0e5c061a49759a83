#pragma once

#include <cstdint>

#include "src/dispatch/cuda/constants.hpp"

/// How dense products are cut up: what the host's configurations and the kernels share. All sizes count real numbers.
namespace blockvec::kernels::dispatch {

/// A line of A is a row of a row-major matrix, or a column of a column-major one. Lines come in pieces of 128 bytes.
constexpr int dense_piece(int real_bytes) { return line_bytes / real_bytes; }

/// gemm: rows of Y in a tile, whose sums a thread block keeps in registers, and the most columns of X.
inline constexpr int gemm_rows = 256;
inline constexpr int gemm_columns = 64;
/// hemm: lines of a strip, numbers of each that a stage holds (a panel), and the most columns of X.
inline constexpr int hemm_lines = 16;
inline constexpr int hemm_panel = 512;
inline constexpr int hemm_columns = 16;
/// The most strips whose sums wait in shared memory to be added over the warps.
inline constexpr int hemm_exchanges = 2;

/// The triangle of a hemm as strips of 16 lines in panels of 512 numbers of a line: the units, panel by panel. Line i
/// has the numbers of column i and before (lower), or of column i and after it.
struct HemmUnits {
  bool lower;
  std::int64_t strips, panels;
  int strips_of_panel;  ///< strips on the diagonal of a panel

  constexpr std::int64_t first_strip(std::int64_t panel) const { return lower ? panel * strips_of_panel : 0; }
  /// The units of panels before this one.
  constexpr std::int64_t before(std::int64_t panel) const {
    if (lower) return panel * strips - strips_of_panel * (panel * (panel - 1) / 2);
    const bool all = panel == panels && panel > 0;  // the last panel may have fewer strips than its square
    return all ? strips_of_panel * ((panel - 1) * panel / 2) + strips : strips_of_panel * (panel * (panel + 1) / 2);
  }
  constexpr std::int64_t count() const { return before(panels); }
};

/// The first unit of thread block `block`, and the block that takes a unit: as equal shares as can be.
constexpr std::int64_t first_unit(std::int64_t units, std::int64_t blocks, std::int64_t block) {
  return units * block / blocks;
}
constexpr std::int64_t block_of_unit(std::int64_t units, std::int64_t blocks, std::int64_t unit) {
  return ((unit + 1) * blocks - 1) / units;
}

}  // namespace blockvec::kernels::dispatch

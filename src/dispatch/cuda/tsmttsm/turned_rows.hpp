#pragma once

#include <algorithm>
#include <cstdint>

/// Transposed (turned) rows of B, which tsmttsm in single precision keeps in shared memory. The kernels are
/// src/cuda/tsmttsm/tf32_warpgroup.cuh and, for complex numbers, src/cuda/tsmttsm/tf32_3m_warpgroup.cuh.
namespace blockvec::kernels::dispatch {

/// tf32_warpgroup: four warps transpose 16 rows at a time. Each warp has two buffers of its own.
inline constexpr int buffers_of_turning_warp = 2;
constexpr std::int64_t turned_rows_bytes(int columns) {
  constexpr int parts = 2;
  return std::int64_t{4} * buffers_of_turning_warp * 16 * parts * columns * 4;
}

/// tf32_3m_warpgroup: two warpgroups multiply units of gauss_unit_rows rows in turn. For each of them, two warps
/// transpose the rows.
inline constexpr int gauss_groups = 2;
inline constexpr int gauss_unit_rows = 16;

/// Whether those two warps share each unit. They do if nearly all lanes then have the same work; else they take units
/// in turn.
constexpr bool gauss_shares_units(int columns) { return columns >= 48; }
/// Buffers of a warpgroup, the same number for each warp that takes units, and the rows of a buffer. Besides them,
/// stages must fit that hold the rows of a microsecond.
inline constexpr int gauss_buffers = 2;
constexpr int gauss_buffer_rows(int columns) { return columns <= 56 ? 16 : 8; }

/// Bytes of all buffers and of a double-precision sum, for `columns` complex columns of B and `sets` x 64 of A.
constexpr std::int64_t gauss_extra_bytes(int columns, int sets) {
  constexpr int numbers = 3 * 2;  // per complex number: re, im and re + im, each high and low
  const int rows = gauss_groups * gauss_buffers * gauss_buffer_rows(columns);
  return std::int64_t{columns} * (rows * numbers * 4 + sets * 64 * 2 * 8);
}

/// The number of stages is a multiple of this, so that warps that skip chunks always come back to the same stages. The
/// number of units in a chunk is a power of two.
constexpr int gauss_stages_step(int columns, int rows) {
  const int apart = gauss_shares_units(columns) ? gauss_groups : 2 * gauss_groups;  // units from one to a warp's next
  return std::max(1, apart * gauss_unit_rows / rows);
}

}  // namespace blockvec::kernels::dispatch

#pragma once

#include <algorithm>
#include <cstdint>

/// Rows of B that tsmttsm of single precision keeps turned in shared memory (src/cuda/tsmttsm/tf32_warpgroup.cuh and,
/// for complex numbers, src/cuda/tsmttsm/tf32_3m_warpgroup.cuh).
namespace blockvec::kernels::dispatch {

/// Real numbers: four warps turn 16 rows at a time, each into two buffers of its own.
inline constexpr int buffers_of_turning_warp = 2;
constexpr std::int64_t turned_rows_bytes(int columns) {
  constexpr int parts = 2;
  return std::int64_t{4} * buffers_of_turning_warp * 16 * parts * columns * 4;
}

/// Two warpgroups multiply units of so many rows in turn; for each, two warps turn them.
inline constexpr int gauss_groups = 2;
inline constexpr int gauss_unit_rows = 16;

/// Whether those two warps share each unit: where most lanes have the same to do. Else they take units in turn.
constexpr bool gauss_shares_units(int columns) { return columns >= 48; }
/// Buffers of a warpgroup, as many for each warp that takes units; and rows of one. Beside them, stages for a
/// microsecond's rows must fit.
inline constexpr int gauss_buffers = 2;
constexpr int gauss_buffer_rows(int columns) { return columns <= 56 ? 16 : 8; }

/// Of all buffers and of a sum of double precision, for so many complex columns of B and `sets` of 64 of A.
constexpr std::int64_t gauss_extra_bytes(int columns, int sets) {
  constexpr int numbers = 3 * 2;  // of a complex one: re, im and their sum, in two parts each
  const int rows = gauss_groups * gauss_buffers * gauss_buffer_rows(columns);
  return std::int64_t{columns} * (rows * numbers * 4 + sets * 64 * 2 * 8);
}

/// Warps that skip chunks must come back to the same stages: of so many, a multiple of this. Chunks have powers of two
/// of units.
constexpr int gauss_stages_step(int columns, int rows) {
  const int apart = gauss_shares_units(columns) ? gauss_groups : 2 * gauss_groups;  // units of a warp
  return std::max(1, apart * gauss_unit_rows / rows);
}

}  // namespace blockvec::kernels::dispatch

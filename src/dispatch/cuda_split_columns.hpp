#pragma once

#include <cstdint>

/// How tsmttsm takes column-major operands in single precision to whole warpgroups
/// (src/cuda/tsmttsm_columns_warpgroup.cuh): in pieces of 32 rows, 128 bytes of every column.
namespace blockvec::kernels::dispatch {

inline constexpr int piece_rows = 32;
inline constexpr int piece_bytes = 128;
inline constexpr int most_pieces = 4;  ///< of a chunk
/// Warps that align pieces of B's columns in turn.
inline constexpr int aligning_warps = 4;
/// Pieces that are aligned or in use: of few columns, whose pieces come faster, two for each of these warps.
constexpr int aligned_pieces(int columns) { return columns <= 40 ? 2 * aligning_warps : aligning_warps; }
inline constexpr int most_aligned_pieces = 2 * aligning_warps;
/// Columns of A that a warpgroup multiplies.
inline constexpr int split_rows = 64;
/// Numbers that a column may begin after a multiple of 16 bytes take such room.
inline constexpr int split_lead = 4;

/// Of all aligned pieces, in two parts, for so many columns of B.
constexpr std::int64_t aligned_bytes(int columns) {
  return std::int64_t{2} * aligned_pieces(columns) * columns * piece_bytes;
}

}  // namespace blockvec::kernels::dispatch

#pragma once

#include <cstdint>

/// Constants on which the choice of a configuration (dispatch) and the kernels (src/cuda) must agree: the host sizes
/// shared memory by them, and the kernels index it. Every file of device code includes this header, so it includes
/// nothing that takes long to read.
namespace blockvec::kernels::dispatch {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t step) { return ceil_div(a, step) * step; }

// Multistage pipelines

inline constexpr int computing_warps = 8;  ///< consumer warps of a block
inline constexpr int max_stages = 64;
inline constexpr int line_bytes = 128;

/// Bytes of a stage of rows that may begin anywhere in a line of memory.
constexpr std::int64_t stage_bytes(std::int64_t rows, std::int64_t pitch, int real_bytes) {
  return round_up(rows * pitch * real_bytes, line_bytes) + line_bytes;
}

/// The most numbers, or lines, that a TMA tile (box) has along a side.
inline constexpr int longest_box = 256;
inline constexpr int most_box_classes = 4;

/// The most segments of a chunk in a stage. A segment holds the rows of one class.
inline constexpr int most_segments = 8;

/// Which neighbours in memory the direct kernel loads at once (src/cuda/tsmttsm/direct.cuh).
enum class Neighbours : int { by_rule, none, in_columns, in_rows };
/// What its lanes load where these neighbours are wanted. An odd number of blocks of 8 columns cannot be paired.
constexpr Neighbours loaded_neighbours(int neighbours, int tile_m, int tile_n) {
  const bool pairs = tile_m % 2 == 0 || tile_n % 2 == 0;
  const auto wanted = static_cast<Neighbours>(neighbours);
  return wanted == Neighbours::in_rows && !pairs ? Neighbours::none : wanted;
}

// Bank conflicts (tsmttsm/ring.hpp)

/// Which of 16 rows a lane takes, so that the lanes of a warp meet different banks. For j = 0..3 it takes row by_lane
/// (lane % 4) + by_first (j % 2) + by_second (j / 2). If by_lane is 8, the map is for one half of 32 rows; the two
/// halves begin 4 rows apart.
struct RowMap {
  int by_lane;
  int by_first;
  int by_second;
};

/// The map for rows of this pitch. The lanes of a warp read some 4 rows of 4 columns at a time. The map picks rows
/// whose distance in banks keeps them apart.
constexpr RowMap row_map(std::int64_t pitch) {
  if (pitch % 2 != 0) return {4, 1, 2};
  if (pitch % 4 != 0) return {2, 1, 8};
  return {1, 4, 8};
}

/// Whether half of the lanes of a Gram matrix of so many blocks of columns may be turned. An odd number of blocks puts
/// rows into different banks, few blocks wait for memory, and many leave no registers for it.
constexpr bool may_turn(int blocks) { return blocks % 2 == 0 && blocks >= 6 && blocks <= 12; }

// Kernels

struct TileShape {
  int m, n;
};

/// Largest number of rows that are summed in single precision (tsmttsm_tf32_warpgroup, tsmttsm_tf32_warpgroup_3m).
inline constexpr int rows_of_early_sums = 256;
/// Consumer warps of a block (tsmttsm_ring_3m). If a warp has few sums, a block has more warps.
constexpr int gauss_warps(const TileShape& tile) { return tile.m * tile.n <= 3 ? 12 : 8; }
/// Warps that share a square result of `blocks` blocks of 8 complex columns (tsmttsm_ring_square_3m).
constexpr int gauss_square_warps(int blocks) { return blocks == 5 ? 4 : 8; }
/// The squares of a Gram matrix that is wider than one CTA tile and the number of parts into which
/// their rows are divided. Two squares on the diagonal have 17/16 times the products of one square above it. So their
/// rows are divided into as many times more parts.
struct SquarePairs {
  int on_diagonal, above;  ///< pairs of squares on the diagonal, and squares above it
  int parts, parts_above;  ///< parts of the rows for each of them

  constexpr SquarePairs(int side, std::int64_t parts_of_rows)
      : on_diagonal((side + 1) / 2),
        above(side * (side - 1) / 2),
        parts(static_cast<int>(parts_of_rows)),
        parts_above((16 * parts + 16) / 17) {}
  constexpr std::int64_t blocks() const {
    return std::int64_t{on_diagonal} * parts + std::int64_t{above} * parts_above;
  }
};

/// The tile of a warp above the diagonal, and the warps that cover a square.
inline constexpr TileShape pair_tile{4, 4};
inline constexpr int pair_warps_m = 2;
inline constexpr int pair_warps_n = 4;
/// Consumer warps of a block of tsmm by 3xTF32 (tsmm_row_ring_tf32). If a warp has few sums, more warps hide more of
/// its waiting.
constexpr int split_warps(const TileShape& tile) { return tile.m * tile.n <= 12 ? 12 : 8; }
/// The most columns of A that tsmm_row_ring_fma takes (no tensor cores), for `columns` columns of B.
constexpr int narrow_depth(int columns) { return columns < 4 ? 4 : columns; }
/// The most columns of B for which tsmm_row_ring_fma keeps sums and C in double precision. For more it uses single
/// precision.
inline constexpr int widest_exact_narrow = 8;
/// Consumer warpgroups of a block of tsmm. Below: the warps of a warpgroup, and the rows that it takes at a time.
inline constexpr int tsmm_warpgroups = 3;
/// Barriers that say which stages are full, if `takers` take stages in turn. Each barrier always belongs to the same
/// taker. Otherwise another taker could come to a stage while its last filling is still under way, and mistake that
/// barrier's last phase for its own.
constexpr int full_barriers(int stages, int takers) { return stages % takers == 0 ? stages : stages * takers; }
inline constexpr int warpgroup_warps = 4;
inline constexpr int warpgroup_rows = 64;
/// Blocks per multiprocessor. Where a thread needs few registers there are two: one computes while the other waits.
constexpr int tsmm_box_blocks(const TileShape& tile) { return tile.n == 1 ? 2 : 1; }
constexpr int tsmm_warps_blocks(const TileShape& tile) { return tile.n > 4 ? 1 : 2; }
/// Columns of A in a stage (a K slice), and stages of a block (tsmm_short_k).
inline constexpr int panels_panel = 32;
inline constexpr int panels_stages = 3;
/// Pairs of warps that divide the rows of a TMA tile, and consumer warps of a block (tsmm_registers_3m). Where C is
/// small, two pairs hold the same part of it.
constexpr int gauss_row_pairs(int pieces) { return pieces <= 3 ? 2 : 1; }
constexpr int gauss_register_warps(int pieces) { return 2 * pieces * gauss_row_pairs(pieces); }
/// Shared memory through which the two warps of a pair exchange sums.
inline constexpr int gauss_pair_bytes = 8192;
/// Column-major operands of tsmm_strided_3m: warps along the rows, and real numbers from column to column of a TMA
/// tile. With this pitch, four lanes that read two rows of four columns each meet different banks.
inline constexpr int gauss_column_row_warps = 4;
inline constexpr int gauss_column_pitch = 2 * 16 * gauss_column_row_warps + 4;
/// Whether warps have so many sums that A and C may come in K slices (panels).
constexpr bool gauss_by_panels(const TileShape& tile) { return tile.m * tile.n >= 4; }

// Transposed rows of B, which tsmttsm in single precision keeps in shared memory

/// tf32_warpgroup: four warps transpose 16 rows at a time. Each warp has two buffers of its own.
inline constexpr int buffers_of_transposing_warp = 2;
constexpr std::int64_t transposed_rows_bytes(int columns) {
  constexpr int parts = 2;
  return std::int64_t{4} * buffers_of_transposing_warp * 16 * parts * columns * 4;
}

/// tf32_warpgroup by 3M: two warpgroups multiply units of gauss_unit_rows rows in turn. For each of them, two warps
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

// Columns in a stage of tsmm

/// Bulk copies move whole units of so many bytes.
inline constexpr int bulk_bytes = 16;

/// Bytes of `columns` columns in a stage, with `pitch` numbers from one to the next. They begin anywhere in `lead`
/// bytes.
constexpr std::int64_t column_bytes(std::int64_t columns, int pitch, int real_bytes, int lead) {
  return round_up(columns * pitch * real_bytes + lead, line_bytes);
}

/// Returns k: 2^k neighbouring columns belong to one lane. The lanes of a warp read eight numbers of each of four
/// columns of a stage. With this k, each of the four columns lies a quarter of the banks further on, or nearly so if
/// `pitch` is odd.
constexpr int column_neighbours(int pitch, int real_bytes) {
  const int banks = pitch * real_bytes / 4;
  return banks % 16 == 8 ? 0 : banks % 8 == 4 ? 1 : 2;
}

/// Whether the 3xTF32 kernel can take the old values of B from its stages. Its chunks have `steps` steps of 64 rows,
/// its tiles `tile_n` x 8 columns of B. In the other cases it has too few registers.
constexpr bool may_hold_old(int parts, int steps, int tile_n) { return parts == 1 || steps > 1 || tile_n <= 4; }

}  // namespace blockvec::kernels::dispatch

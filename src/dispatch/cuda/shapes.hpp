#pragma once

#include <cstdint>

/// The tile shapes of warps and threads for which kernels are compiled. Their lists stand in src/tuning/instances.json,
/// which also says what each list serves.
namespace blockvec::kernels::dispatch {

struct TileShape {
  int m, n;
};

/// A shape for Gram matrices: 8-column blocks, and warps that share the MMA tiles on and above the diagonal.
struct GramShape {
  int blocks, warps;
};

/// A shape of tsmttsm's direct kernel: 8-column blocks of A and of B, and warps of a thread block.
struct DirectShape {
  int m, n, warps;
};

/// A shape for kernels whose tile has one free side.
struct Columns {
  int n;
};

/// A shape of tsmm's direct kernel: a thread's rows x columns of B, and the columns of A that it loads at a time.
struct ThreadShape {
  int rows, columns, panel;
};

/// A compiled kernel: the bytes of its real numbers, and a key that tells the kernels of a list apart. The key holds
/// the tile and other values in the order of src/generator/instances.py; zeros follow.
struct CompiledKernel {
  int real_bytes;
  int key[4];
};

#include "cuda_shapes.inc"

/// Largest number of rows that are summed in single precision (tsmttsm_tf32_warpgroup, tsmttsm_tf32_3m_warpgroup).
inline constexpr int rows_of_early_sums = 256;
/// Real numbers of a row that a thread reads at a time (tsmttsm_gram_fma, row-major).
constexpr int narrow_neighbours(int columns) { return columns % 2 == 0 ? 2 : 1; }
/// Consumer warps of a block (tsmttsm_ring_3m). If a warp has few sums, a block has more warps.
constexpr int gauss_warps(const TileShape& tile) { return tile.m * tile.n <= 3 ? 12 : 8; }
/// Warps that share a square result of `blocks` blocks of 8 complex columns (tsmttsm_square_3m).
constexpr int gauss_square_warps(int blocks) { return blocks == 5 ? 4 : 8; }
/// Consumer warps of a block of tsmm by 3xTF32 (tsmm_row_ring_tf32). If a warp has few sums, more warps hide more of
/// its waiting.
constexpr int split_warps(const TileShape& tile) { return tile.m * tile.n <= 12 ? 12 : 8; }
/// The most columns of A that tsmm_row_fma takes (no tensor cores), for `columns` columns of B.
constexpr int narrow_depth(int columns) { return columns < 4 ? 4 : columns; }
/// The most columns of B for which tsmm_row_fma keeps sums and C in double precision. For more it uses single
/// precision.
inline constexpr int widest_exact_narrow = 8;
/// Columns of A per warp, out of m columns (tsmm_row_deep).
constexpr int deep_columns(std::int64_t m) { return m > 512 ? 128 : 64; }
inline constexpr int least_deep_warps = 4;
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

}  // namespace blockvec::kernels::dispatch

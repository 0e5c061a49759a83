#pragma once

/// Shapes of warps' and threads' shares for which kernels are compiled. The lists themselves stand in
/// src/tuning/instances.json, which also says what each of them serves.
namespace blockvec::kernels::dispatch {

struct TileShape {
  int m, n;
};

/// Of Gram matrices: blocks of 8 columns, and warps that share the pieces on and above the diagonal.
struct GramShape {
  int blocks, warps;
};

/// Of the direct kernel: blocks of 8 columns of A and of B, and warps of a block of threads.
struct DirectShape {
  int m, n, warps;
};

/// Of kernels whose tile has one side.
struct Columns {
  int n;
};

/// Of tsmm's direct kernel: rows of a thread x columns of B, and columns of A that it loads at a time.
struct ThreadShape {
  int rows, columns, panel;
};

/// A kernel that is compiled: bytes of its real numbers, and its tile with what else tells kernels of a list apart, in
/// the order of src/generator/instances.py; zeros follow.
struct CompiledKernel {
  int real_bytes;
  int key[4];
};

#include "cuda_shapes.inc"

/// Rows whose products are summed in single precision at most (tsmttsm_tf32_warpgroup, tsmttsm_tf32_3m_warpgroup).
inline constexpr int rows_of_early_sums = 256;
/// Real numbers of a row that threads read at a time (tsmttsm_gram_fma, row-major).
constexpr int narrow_neighbours(int columns) { return columns % 2 == 0 ? 2 : 1; }
/// Computing warps of a block (tsmttsm_ring_3m): the fewer sums a warp has, the more of them there are.
constexpr int gauss_warps(const TileShape& tile) { return tile.m * tile.n <= 3 ? 12 : 8; }
/// Warps that share a square result of so many blocks of 8 complex columns (tsmttsm_square_3m).
constexpr int gauss_square_warps(int blocks) { return blocks == 5 ? 4 : 8; }
/// Computing warps of a block of tsmm whose products are split (tsmm_row_ring_tf32): more of them, where they have few
/// sums, hide more of what they wait for.
constexpr int split_warps(const TileShape& tile) { return tile.m * tile.n <= 12 ? 12 : 8; }
/// Columns of A that tsmm takes at most without tensor cores.
constexpr int narrow_depth(int columns) { return columns < 4 ? 4 : columns; }
/// Columns of B up to which those sums are of double precision, and C with them; beyond, of single precision.
inline constexpr int widest_exact_narrow = 8;
/// Columns of A, of m, for each of the warps that share them out (tsmm_row_deep).
constexpr int deep_columns(std::int64_t m) { return m > 512 ? 128 : 64; }
inline constexpr int least_deep_warps = 4;
/// Of a block of tsmm, their warps, and the rows that each takes at a time.
inline constexpr int tsmm_warpgroups = 3;
/// Barriers that tell of full stages which `takers` take in turn: each of them is the same taker's every time. Another
/// taker could come to a stage while its last filling is still under way, and take that barrier's last phase for its
/// own.
constexpr int full_barriers(int stages, int takers) { return stages % takers == 0 ? stages : stages * takers; }
inline constexpr int warpgroup_warps = 4;
inline constexpr int warpgroup_rows = 64;
/// Blocks of a multiprocessor: two where a thread needs few registers, so that one hides what the other waits for.
constexpr int tsmm_box_blocks(const TileShape& tile) { return tile.n == 1 ? 2 : 1; }
constexpr int tsmm_warps_blocks(const TileShape& tile) { return tile.n > 4 ? 1 : 2; }
/// Columns of A in a stage, and stages of a block (tsmm_short_k).
inline constexpr int panels_panel = 32;
inline constexpr int panels_stages = 3;
/// Pairs of warps that share out the rows of a box, and computing warps of a block (tsmm_registers_3m): where C
/// is small, more of them hold it.
constexpr int gauss_row_pairs(int pieces) { return pieces <= 3 ? 2 : 1; }
constexpr int gauss_register_warps(int pieces) { return 2 * pieces * gauss_row_pairs(pieces); }
/// What a pair of warps hands over in shared memory.
inline constexpr int gauss_pair_bytes = 8192;
/// Warps along the rows of column-major operands (tsmm_strided_3m), and real numbers from column to column of their
/// boxes: four lanes read two rows of four columns each in other banks.
inline constexpr int gauss_column_row_warps = 4;
inline constexpr int gauss_column_pitch = 2 * 16 * gauss_column_row_warps + 4;
/// Whether warps have so many sums that A and C may come panel by panel.
constexpr bool gauss_by_panels(const TileShape& tile) { return tile.m * tile.n >= 4; }

}  // namespace blockvec::kernels::dispatch

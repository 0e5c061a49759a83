#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/dispatch/cuda/feed.hpp"
#include "src/dispatch/cuda/shapes.hpp"

/// Problem -> configuration of the CUDA kernels, in one place; nothing here needs a device.
/// Widths, leading dimensions and results count real numbers: a complex column is two of them.
///
/// A kind of kernel adds its configurations to a product's candidates (dispatch/cuda/tsmttsm/choose.cpp,
/// dispatch/cuda/tsmm/choose.cpp); a model (dispatch/cuda/model.hpp) says what each of them takes.
namespace blockvec::kernels::dispatch {

/// What a configuration depends on of the device that it is for.
struct CudaDevice {
  int multiprocessors;
  int shared_bytes;  ///< of one block at most
  bool bulk_copies;  ///< code for compute capability 9.0 or newer is there and runs
  std::string name;
  int capability = 90;             ///< 90 for 9.0
  double clock = 1.9e9;            ///< of multiprocessors, 1/s
  double read_bandwidth = 4.6e12;  ///< bytes/s that kernels reach
  double copy_bandwidth = 4.2e12;  ///< bytes/s, both ways together
  bool warpgroups = false;         ///< code for 9.0a is there and runs: products of whole warpgroups
};

/// One product C = A^H B as the kernels see it.
struct CudaTsmttsmProblem {
  std::int64_t k;
  std::int64_t m, n;              ///< real widths of A and B
  std::int64_t pitch_a, pitch_b;  ///< real numbers from row to row; 0: unknown
  int real_bytes;
  bool row_major;
  bool same;              ///< B is A
  int parts = 1;          ///< real numbers of a scalar
  bool aligned = false;   ///< operands begin at multiples of 16 bytes
  bool may_split = true;  ///< single precision: three products of TF32 may stand for one
  /// Real columns in double precision that would be aligned if all began a row earlier: chunks of a ring do.
  bool aligned_before = false;
};

/// The kernels of tsmttsm. Each name is that of its list in src/tuning/instances.json (tsmttsm_NAME), of its word in
/// tables and explanations, and of its file.
enum class TsmttsmKernel : std::uint8_t {
  none,               ///< nothing is multiplied
  ring,               ///< FP64 tensor cores, fed by asynchronous copies through a multistage pipeline
  ring_3m,            ///< the ring for complex double precision: three real products for one
  square_3m,          ///< ring_3m for square results of an odd number of 8-column blocks
  gram,               ///< the ring for A^H A: only what lies on and above the diagonal
  gram_wide,          ///< A^H A of more columns than one block of threads holds
  fma,                ///< few columns, column-major: threads own rows, without tensor cores
  gram_fma,           ///< A^H A of few columns likewise, in either layout
  tf32_warpgroup,     ///< single precision: 3xTF32 by wgmma
  tf32_3m_warpgroup,  ///< complex single precision: 3xTF32 by wgmma, three real products for one
  direct              ///< FP64 tensor cores; fragments straight from memory, any layout and stride
};

/// The kernels of tsmm, likewise.
enum class TsmmKernel : std::uint8_t {
  none,
  row_ring,        ///< FP64 tensor cores; flat rows, or narrow views by tensor maps, through a multistage pipeline
  row_ring_tf32,   ///< the same in single precision: 3xTF32
  row_fma,         ///< few columns: threads own rows, without tensor cores
  row_deep,        ///< many columns of A and few of B: C in registers, warps share out A's columns
  column_ring,     ///< FP64 tensor cores; pieces of columns in and out in bulk
  column_tf32,     ///< the same in single precision: 3xTF32 by wgmma
  column_fma,      ///< the same for few columns, without tensor cores
  strided,         ///< FP64 tensor cores; A by tensor maps in K slices, any stride and layout
  strided_3m,      ///< the same for complex double precision: three real products for one
  strided_tf32,    ///< the same in single precision, row-major: 3xTF32 by wgmma
  registers_3m,    ///< complex double precision: three real products for one, C in registers
  wide,            ///< many columns of A and of B: a CTA tile of B at a time; in place by clusters
  per_warp,        ///< every warp copies, multiplies and writes for itself: narrow views of any alignment
  per_warp_tf32,   ///< the same in complex single precision: 3xTF32
  tf32_warpgroup,  ///< single precision, tight rows: 3xTF32 by wgmma
  short_k,         ///< few rows of many columns: one row tile a block
  direct,          ///< a thread owns rows and loads them itself: few columns
  general          ///< any layout and stride
};

/// What limits a configuration, by the model.
enum class CudaBound : std::uint8_t { memory, tensor_cores, arithmetic, shared_memory, latency };

struct CudaPrediction {
  double seconds;
  CudaBound bound;
  double busy_seconds;  ///< of the multiprocessors, whether or not memory takes longer
};

/// A configuration and why it was chosen.
template <class Configuration>
struct CudaChoice {
  Configuration configuration;
  CudaPrediction prediction;
  std::string_view row;  ///< of a tuning table, file:line; empty: the model chose
};

/// Whether candidates are those that a call chooses from, or all within the bounds that tuning searches.
enum class Search : std::uint8_t { usual, all };

/// Which operands come in boxes, or both by columns (dispatch/cuda/feed.hpp).
enum CudaFeeds : int { feeds_by_rule, flat_both, boxes_a, boxes_b, boxes_both, columns_both };

/// Whether boxes of rows are wider than these, so that lanes meet different banks; or boxes of columns have few rows
/// and are swizzled to the same end.
enum CudaPadding : int { padding_by_rule, tight_boxes, padded_boxes, swizzled_boxes };

/// Neighbours in memory that the direct kernel loads at once (src/cuda/operands/load_direct.cuh).
enum class Neighbours : int { by_rule, none, in_columns, in_rows };

struct CudaTsmttsm {
  TsmttsmKernel kernel;
  int fold;                    ///< rows that are taken as one wide row
  int tile_m, tile_n;          ///< pieces of 16 x 8 of P a warp holds; gram: blocks of 8 columns in all; direct: blocks
                               ///< of 8 columns of A and of B; fma: tile_n columns of either
  int warps_m, warps_n;        ///< warps that share the rows of a stage
  int sections_m, sections_n;  ///< of P, where it is too large for one block: each has its own blocks
  int groups;                  ///< such sets of warps
  int split;                   ///< groups that share a stage, in turns of 16 rows
  int feeds;                   ///< CudaFeeds
  int padding;                 ///< CudaPadding
  int turned;                  ///< 1: half of the lanes read in another order (banks.hpp)
  int neighbours;              ///< Neighbours (direct)
  int threads;                 ///< of a block (direct)
  int rows;                    ///< of a chunk
  int segment;                 ///< rows of a chunk that lie together in a stage
  int stages;
  CudaFeed a, b;
  int shared_bytes;
  std::int64_t parts;  ///< partial sums
  std::size_t workspace_bytes;

  constexpr bool gram() const { return kernel == TsmttsmKernel::gram || kernel == TsmttsmKernel::gram_wide; }
  constexpr bool by_fma() const { return kernel == TsmttsmKernel::fma || kernel == TsmttsmKernel::gram_fma; }
  /// Columns of A and B that the warps' tiles cover.
  int reached_m() const { return gram() ? (tile_m + 1) / 2 * 16 : (square() ? 1 : warps_m) * rows_of_tile(); }
  int reached_n() const { return gram() ? tile_m * 8 : warps_n * columns_of_tile(); }
  constexpr bool warpgroup_3m() const { return kernel == TsmttsmKernel::tf32_3m_warpgroup; }
  constexpr bool whole_warpgroups() const { return kernel == TsmttsmKernel::tf32_warpgroup || warpgroup_3m(); }
  constexpr bool square() const { return kernel == TsmttsmKernel::square_3m; }
  constexpr bool ring_3m() const { return kernel == TsmttsmKernel::ring_3m || square(); }
  /// Tiles count complex numbers, whose products are made of three real ones.
  constexpr bool complex_tiles() const { return ring_3m() || warpgroup_3m(); }
  int rows_of_tile() const { return by_fma() ? tile_n : (complex_tiles() && !square() ? 32 : 16) * tile_m; }
  int columns_of_tile() const { return by_fma() ? tile_n : (complex_tiles() ? 16 : 8) * tile_n; }
  /// Of a group's sum in shared memory.
  std::int64_t sum_bytes() const { return std::int64_t{reached_m()} * reached_n() * std::int64_t{sizeof(double)}; }
};

/// The legal configurations, never none of them.
std::vector<CudaTsmttsm> candidates(const CudaDevice& device, const CudaTsmttsmProblem& problem,
                                    Search search = Search::usual);
/// Fills in what follows from kernel and tile; where fold, groups, rows or stages are 0, by the usual rule. False where
/// that is illegal.
bool complete(const CudaDevice& device, const CudaTsmttsmProblem& problem, CudaTsmttsm& configuration);
CudaPrediction predict(const CudaDevice& device, const CudaTsmttsmProblem& problem, const CudaTsmttsm& configuration);
CudaChoice<CudaTsmttsm> choose(const CudaDevice& device, const CudaTsmttsmProblem& problem);
CudaTsmttsm configure_cuda_tsmttsm(const CudaDevice& device, const CudaTsmttsmProblem& problem);

/// Enough for every layout and stride of these extents.
std::size_t cuda_tsmttsm_workspace(const CudaDevice& device, std::int64_t k, std::int64_t m, std::int64_t n);

/// One product B = A C + beta B as the kernels see it.
struct CudaTsmmProblem {
  std::int64_t k;
  std::int64_t m, n;
  std::int64_t pitch_a, pitch_b;  ///< real numbers from row to row, or from column to column
  int real_bytes;
  bool row_major;
  bool in_place;
  bool reads_output;            ///< beta may differ from 0
  int parts = 1;                ///< real numbers of a scalar
  bool aligned = false;         ///< A starts on a multiple of 16 bytes, and so does B where scalars have 16
  bool may_skip_a = false;      ///< alpha is or may be 0: A must not be read then
  bool aligned_output = false;  ///< B starts on a multiple of 32 bytes, a sector of memory
  bool may_split = true;        ///< as for tsmttsm
};

struct CudaTsmm {
  TsmmKernel kernel;
  int tile_n;    ///< row_ring, row_deep: pieces of 16 columns of B that a warp holds; strided, column_ring, wide,
                 ///< per_warp, short_k: of 8 columns; registers_3m: of 16 complex columns; by wgmma: of 8 columns of
                 ///< scalars; row_fma, column_fma, direct: columns, of scalars but for the first
  int blocks_n;  ///< row_ring: sets of 8 rows that a warp holds at a time; strided, column_ring, wide, per_warp: of 16;
                 ///< strided_tf32: of 128, column_tf32: of 64; column_fma, direct: rows of a thread; short_k: warps;
                 ///< registers_3m: fours of C's rows
  int warps;     ///< that share a stage, side by side along the columns of B
  int groups;
  int rows;
  int stages;
  int chunks_per_ticket;
  bool output_in_ring;  ///< B's rows come with A's, to be scaled by beta
  bool boxes_a;         ///< row rings: A comes in boxes
  bool boxes_b;         ///< row rings: B comes and goes in boxes
  int row_warps;        ///< strided, column rings: along the rows; strided: groups are sets of boxes in a stage
  int panel;            ///< strided, per_warp: columns of A in a stage; column rings, direct: of scalars, loaded at a
                        ///< time; short_k: fetched ahead
  int pitch;            ///< strided, per_warp: real numbers from line to line in a stage
  int classes;          ///< strided: that lines are dealt into
  bool small_in_ring;   ///< strided: C comes from a kernel of its own, panel by panel with A
  int staged;           ///< strided, per_warp: 1 if results go through shared memory, to be written in whole sectors;
                        ///< column rings: if they do not take the place of A's numbers in a stage
  int staged_pitch;     ///< strided, column rings: real numbers from line to line of results there
  int early;            ///< column rings: rows of a chunk that it does not store, to store whole sectors or lines
  int shared_bytes;
  std::int64_t parts;  ///< blocks of threads
  int sections;        ///< wide: of B's columns, each for other blocks; in place those of a cluster
  bool in_cluster;     ///< wide: these write once all have read
  std::size_t workspace_bytes;
  /// Of a product in parts (the rest is the configuration of one of them): columns of B at a time, and rows, where
  /// these go through the workspace; 0: all.
  std::int64_t part_columns, part_rows;

  constexpr bool in_parts() const { return part_columns != 0; }
};

/// As for tsmttsm, but for products in parts (`choose`): none of these in place, and none that is fast elsewhere.
std::vector<CudaTsmm> candidates(const CudaDevice& device, const CudaTsmmProblem& problem,
                                 Search search = Search::usual);
bool complete(const CudaDevice& device, const CudaTsmmProblem& problem, CudaTsmm& configuration);
CudaPrediction predict(const CudaDevice& device, const CudaTsmmProblem& problem, const CudaTsmm& configuration);
CudaChoice<CudaTsmm> choose(const CudaDevice& device, const CudaTsmmProblem& problem);
CudaTsmm configure_cuda_tsmm(const CudaDevice& device, const CudaTsmmProblem& problem);
std::size_t cuda_tsmm_workspace(const CudaDevice& device, std::int64_t k, std::int64_t m, std::int64_t n,
                                int real_bytes);

}  // namespace blockvec::kernels::dispatch

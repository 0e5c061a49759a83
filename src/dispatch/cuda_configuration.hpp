#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/dispatch/cuda_feed.hpp"
#include "src/dispatch/cuda_shapes.hpp"

/// Problem -> configuration of the CUDA kernels, in one place; nothing here needs a device.
/// Widths, leading dimensions and results count real numbers: a complex column is two of them.
///
/// A kind of kernel adds its configurations to a product's candidates (cuda_tsmttsm.cpp, cuda_tsmm.cpp); a model
/// (cuda_model.hpp) says what each of them takes.
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

enum class CudaKernel : std::uint8_t {
  none,     ///< nothing is multiplied
  ring,     ///< tensor cores, fed by asynchronous copies through a ring in shared memory, in bulk where the device can
  boxes,    ///< the same for operands of any stride, fed by tensor maps
  wide,     ///< the same for many columns of A and of B (tsmm)
  warps,    ///< tensor cores; every warp feeds itself by plain asynchronous copies of its rows
  columns,  ///< tensor cores, fed by pieces of columns (tsmm)
  panels,   ///< tensor cores; every block takes one chunk of rows, panel by panel of A's columns (tsmm)
  warpgroup,  ///< single precision by split products of whole warpgroups, through a ring as well (tsmm)
  direct,     ///< fed by loads of any layout and stride into registers; tensor cores, but for tsmm
  general     ///< any layout and stride (tsmm)
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

/// Which operands come in boxes, or both by columns (cuda_feed.hpp).
enum CudaFeeds : int { feeds_by_rule, flat_both, boxes_a, boxes_b, boxes_both, columns_both };

/// Whether boxes of rows are wider than these, so that lanes meet different banks; or boxes of columns have few rows
/// and are swizzled to the same end.
enum CudaPadding : int { padding_by_rule, tight_boxes, padded_boxes, swizzled_boxes };

/// Neighbours in memory that the direct kernel loads at once (src/cuda/direct.cuh).
enum class Neighbours : int { by_rule, none, in_columns, in_rows };

struct CudaTsmttsm {
  CudaKernel kernel;
  int fold;                    ///< rows that are taken as one wide row
  int tile_m, tile_n;          ///< pieces of 16 x 8 of P a warp holds; Gram: blocks of 8 columns in all, and 0; direct:
                               ///< blocks of 8 columns of A and of B; threads that own rows: 0, and either's columns
  int warps_m, warps_n;        ///< warps that share the rows of a stage
  int sections_m, sections_n;  ///< of P, where it is too large for one block: each has its own blocks
  int groups;                  ///< such sets of warps
  int split;                   ///< groups that share a stage, in turns of 16 rows
  int feeds;                   ///< CudaFeeds
  int padding;                 ///< CudaPadding
  int turned;                  ///< 1: half of the lanes read in another order (banks.hpp)
  int tf32;                    ///< 3, 4: products of single precision are split, by whole warpgroups, 4 warps for 64
                               ///< columns of A, tile_m times, another turns B; 3: complex ones, tiles count them, in
                               ///< three real products; 4: of real numbers, or of complex columns' parts
  int gauss;                   ///< 1: complex products are made of three real ones; tiles count complex numbers; 2: the
                               ///< same, warps share a square result, tiles count its blocks of 8 columns
  int neighbours;              ///< Neighbours (direct)
  int threads;                 ///< of a block (direct)
  int rows;                    ///< of a chunk
  int segment;                 ///< rows of a chunk that lie together in a stage
  int stages;
  CudaFeed a, b;
  int shared_bytes;
  std::int64_t parts;      ///< partial sums
  std::size_t workspace_bytes;

  bool gram() const { return tile_n == 0; }
  bool narrow() const { return tile_m == 0; }
  /// Columns of A and B that the warps' tiles cover.
  int reached_m() const { return gram() ? (tile_m + 1) / 2 * 16 : (square() ? 1 : warps_m) * rows_of_tile(); }
  int reached_n() const { return gram() ? tile_m * 8 : warps_n * columns_of_tile(); }
  constexpr bool whole_warpgroups() const { return tf32 != 0; }
  constexpr bool complex_tiles() const { return gauss != 0 || tf32 == 3; }
  constexpr bool square() const { return gauss == 2; }
  int rows_of_tile() const { return narrow() ? tile_n : (complex_tiles() && !square() ? 32 : 16) * tile_m; }
  int columns_of_tile() const { return narrow() ? tile_n : (complex_tiles() ? 16 : 8) * tile_n; }
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
  CudaKernel kernel;
  int tile_n;    ///< pieces of 16 columns of B a warp holds; boxes, columns, warps: of 8; warpgroup: of 8 columns of
                 ///< scalars; direct: columns of scalars
  int blocks_n;  ///< sets of 8 rows it holds at a time; 0: one, and warps share out A's columns; boxes, columns, warps:
                 ///< of 16; direct: rows of a thread
  int warps;     ///< that share a stage, side by side along the columns of B
  int groups;
  int rows;
  int stages;
  int chunks_per_ticket;
  bool output_in_ring;  ///< B's rows come with A's, to be scaled by beta
  bool boxes_a;         ///< ring: A comes in boxes
  bool boxes_b;         ///< ring: B comes and goes in boxes
  int row_warps;        ///< boxes, columns: along the rows; boxes: groups are sets of boxes in a stage
  int panel;            ///< boxes, warps: columns of A in a stage; columns, direct: of scalars, loaded at a time;
                        ///< panels: fetched ahead
  int pitch;            ///< boxes, warps: real numbers from line to line in a stage
  int classes;          ///< boxes: that lines are dealt into
  bool small_in_ring;   ///< boxes: C comes from a kernel of its own, panel by panel with A
  int staged;           ///< boxes, warps: 1 if results go through shared memory, to be written in whole sectors;
                        ///< columns: if they do not take the place of A's numbers in a stage
  int staged_pitch;     ///< boxes, columns: real numbers from line to line of results there
  int early;            ///< columns: rows of a chunk that it does not store, to store whole sectors or lines
  int tf32;             ///< ring, columns, warpgroup: as for tsmttsm; boxes: by whole warpgroups, for which tile_n
                        ///< counts 8 columns of scalars, blocks_n boxes of 128 rows
  int gauss;            ///< boxes: as for tsmttsm; tile_n counts complex columns
  int held;             ///< boxes with gauss: 1 if C stays in registers (tsmm_gauss_registers.cuh): blocks_n counts
                        ///< fours of its rows, tile_n sixteens of its columns, row_warps those of a box's rows
  int shared_bytes;
  std::int64_t parts;  ///< blocks of threads
  int sections;        ///< wide: of B's columns, each for other blocks; in place those of a cluster
  bool in_cluster;     ///< wide: these write once all have read
  std::size_t workspace_bytes;
  /// Of a product in parts (the rest is the configuration of one of them): columns of B at a time, and rows, where
  /// these go through the workspace; 0: all.
  std::int64_t part_columns, part_rows;

  constexpr bool in_parts() const { return part_columns != 0; }
  constexpr bool holds_gauss() const { return gauss != 0 && held != 0; }
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

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/dispatch/cuda/feed.hpp"
#include "src/dispatch/cuda/shapes.hpp"

/// Chooses the configuration of a CUDA kernel for a problem. Nothing here needs a device.
/// Widths, leading dimensions and results count real numbers: a complex column is two of them.
///
/// A kind of kernel adds its configurations to a product's candidates (dispatch/cuda/tsmttsm/choose.cpp,
/// dispatch/cuda/tsmm/choose.cpp). A model (dispatch/cuda/model.hpp) predicts the time of each of them.
namespace blockvec::kernels::dispatch {

/// The properties of a device on which a configuration depends.
struct CudaDevice {
  int multiprocessors;
  int shared_bytes;  ///< largest shared memory of a thread block
  bool bulk_copies;  ///< the device runs code that is built for compute capability 9.0 or newer
  std::string name;
  int capability = 90;             ///< 90 for 9.0
  double clock = 1.9e9;            ///< clock rate of the multiprocessors, 1/s
  double read_bandwidth = 4.6e12;  ///< bytes/s that kernels reach when they read
  double copy_bandwidth = 4.2e12;  ///< bytes/s that kernels reach when they read and write, both together
  bool warpgroups = false;         ///< the device runs code that is built for 9.0a: products by warpgroups (wgmma)
};

/// One product C = A^H B as the kernels see it. Its rows are the K rows of A and B.
struct CudaTsmttsmProblem {
  std::int64_t k;
  std::int64_t m, n;              ///< real widths of A and B
  std::int64_t pitch_a, pitch_b;  ///< real numbers from row to row; 0: unknown
  int real_bytes;
  bool row_major;
  bool same;              ///< B is A
  int parts = 1;          ///< real numbers per scalar: 2 for complex
  bool aligned = false;   ///< both operands begin at multiples of 16 bytes
  bool may_split = true;  ///< single precision: three TF32 products (3xTF32) may replace one
  /// Column-major, real, double precision: all columns would be aligned if they began a row earlier. Row tiles (chunks)
  /// of the pipeline do begin there.
  bool aligned_before = false;
};

/// The kernels of tsmttsm. A kernel has one name everywhere: in src/tuning/instances.json (tsmttsm_NAME), in tables and
/// in explanations. Its file has the name, too, unless several kernels share one (src/cuda/README.md).
enum class TsmttsmKernel : std::uint8_t {
  none,               ///< nothing is multiplied
  ring,               ///< FP64 tensor cores; asynchronous copies feed them through a multistage pipeline (ring)
  ring_3m,            ///< the ring for complex double precision by 3M: three real products for a complex one
  square_3m,          ///< ring_3m for square results with an odd number of 8-column blocks
  gram,               ///< the ring for A^H A: computes only what lies on and above the diagonal
  gram_wide,          ///< A^H A of more columns than one thread block holds
  fma,                ///< few columns, column-major: each thread owns rows; no tensor cores
  gram_fma,           ///< A^H A of few columns, in either layout: each thread owns rows; no tensor cores
  tf32_warpgroup,     ///< single precision: 3xTF32 by wgmma
  tf32_3m_warpgroup,  ///< complex single precision: 3M and 3xTF32 by wgmma
  direct              ///< FP64 tensor cores; fragments come straight from memory; any layout and stride
};

/// The kernels of tsmm, named in the same way (tsmm_NAME).
enum class TsmmKernel : std::uint8_t {
  none,
  row_ring,        ///< FP64 tensor cores; a multistage pipeline (ring) of flat rows, or of narrow views by tensor maps
  row_ring_tf32,   ///< row_ring in single precision: 3xTF32
  row_fma,         ///< few columns: each thread owns rows; no tensor cores
  row_deep,        ///< many columns of A and few of B: C stays in registers, each warp has some of A's columns
  column_ring,     ///< FP64 tensor cores; bulk copies load and store pieces of columns
  column_tf32,     ///< column-major single precision: 3xTF32 by wgmma
  column_fma,      ///< few columns, column-major; no tensor cores
  strided,         ///< FP64 tensor cores; tensor maps load A in K slices; any stride and layout
  strided_plain,   ///< strided for short rows, which cp.async copies faster than TMA does
  strided_3m,      ///< strided for complex double precision by 3M
  strided_tf32,    ///< strided for single precision, row-major: 3xTF32 by wgmma
  registers_3m,    ///< complex double precision by 3M; C stays in registers
  wide,            ///< many columns of A and of B: one CTA tile of B at a time; in place by clusters
  per_warp,        ///< narrow views of any alignment: each warp copies, multiplies and writes for itself
  per_warp_tf32,   ///< per_warp in complex single precision: 3xTF32
  tf32_warpgroup,  ///< single precision, tight rows: 3xTF32 by wgmma
  short_k,         ///< few rows of many columns: one row tile per block
  direct,          ///< few columns: each thread owns rows and loads them itself
  general          ///< any layout and stride
};

/// What limits a configuration according to the model.
enum class CudaBound : std::uint8_t { memory, tensor_cores, arithmetic, shared_memory, latency };

struct CudaPrediction {
  double seconds;
  CudaBound bound;
  double busy_seconds;  ///< time for which the multiprocessors compute, even where memory takes longer
};

/// A configuration and why it was chosen.
template <class Configuration>
struct CudaChoice {
  Configuration configuration;
  CudaPrediction prediction;
  std::string_view row;  ///< the tuning table's row that chose it, as file:line; empty: the model chose
};

/// Which configurations are candidates: those that a call chooses from, or all that tuning searches.
enum class Search : std::uint8_t { usual, all };

/// Load modes of tsmttsm (dispatch/cuda/feed.hpp): which operands come as TMA tiles (boxes) and which in flat pieces;
/// or both come by columns.
enum CudaFeeds : int { feeds_by_rule, flat_both, boxes_a, boxes_b, boxes_both, columns_both };

/// How TMA tiles (boxes) avoid bank conflicts. Tiles of rows may be padded: they are wider than the rows. Tiles of
/// columns may be swizzled: they have few rows then.
enum CudaPadding : int { padding_by_rule, tight_boxes, padded_boxes, swizzled_boxes };

/// Which neighbours in memory the direct kernel loads at once (src/cuda/operands/load_direct.cuh).
enum class Neighbours : int { by_rule, none, in_columns, in_rows };

/// A configuration of tsmttsm. P = A^T B is the product in real numbers.
struct CudaTsmttsm {
  TsmttsmKernel kernel;
  int fold;              ///< narrow rows that are taken as one wide row
  int tile_m, tile_n;    ///< MMA tiles of 16 x 8 of P per warp; gram: tile_m is the number of 8-column blocks of A;
                         ///< direct: 8-column blocks of A and of B; fma: tile_n is the number of columns of A and of B
  int warps_m, warps_n;  ///< warps of a consumer warp group along A's and B's columns; all read the same rows
  int sections_m, sections_n;  ///< CTA tiles (sections) of P, if it is too large for one block; each has its own blocks
  int groups;                  ///< consumer warp groups
  int split;                   ///< groups that share a stage: they take its rows in turn, 16 at a time
  int feeds;                   ///< CudaFeeds
  int padding;                 ///< CudaPadding
  int turned;                  ///< 1: half of the lanes read columns in another order (banks.hpp)
  int neighbours;              ///< Neighbours (direct)
  int threads;                 ///< threads of a block (direct)
  int rows;                    ///< rows of a row tile (chunk)
  int segment;                 ///< rows of a row tile that lie together in a stage
  int stages;
  CudaFeed a, b;
  int shared_bytes;
  std::int64_t parts;  ///< partial sums, one for each part of the rows
  std::size_t workspace_bytes;

  constexpr bool gram() const { return kernel == TsmttsmKernel::gram || kernel == TsmttsmKernel::gram_wide; }
  constexpr bool by_fma() const { return kernel == TsmttsmKernel::fma || kernel == TsmttsmKernel::gram_fma; }
  /// Columns of A, and of B, that the warps' tiles cover.
  int reached_m() const { return gram() ? (tile_m + 1) / 2 * 16 : (square() ? 1 : warps_m) * rows_of_tile(); }
  int reached_n() const { return gram() ? tile_m * 8 : warps_n * columns_of_tile(); }
  constexpr bool warpgroup_3m() const { return kernel == TsmttsmKernel::tf32_3m_warpgroup; }
  constexpr bool whole_warpgroups() const { return kernel == TsmttsmKernel::tf32_warpgroup || warpgroup_3m(); }
  constexpr bool square() const { return kernel == TsmttsmKernel::square_3m; }
  constexpr bool ring_3m() const { return kernel == TsmttsmKernel::ring_3m || square(); }
  /// Whether tiles count complex numbers: a complex product is made of three real ones (3M).
  constexpr bool complex_tiles() const { return ring_3m() || warpgroup_3m(); }
  int rows_of_tile() const { return by_fma() ? tile_n : (complex_tiles() && !square() ? 32 : 16) * tile_m; }
  int columns_of_tile() const { return by_fma() ? tile_n : (complex_tiles() ? 16 : 8) * tile_n; }
  /// Bytes of a group's sum in shared memory.
  std::int64_t sum_bytes() const { return std::int64_t{reached_m()} * reached_n() * std::int64_t{sizeof(double)}; }
};

/// The legal configurations. There is at least one.
std::vector<CudaTsmttsm> candidates(const CudaDevice& device, const CudaTsmttsmProblem& problem,
                                    Search search = Search::usual);
/// Computes the other members from kernel and tile. Where fold, groups, rows or stages are 0, the usual rules set them.
/// Returns false if the configuration is illegal.
bool complete(const CudaDevice& device, const CudaTsmttsmProblem& problem, CudaTsmttsm& configuration);
CudaPrediction predict(const CudaDevice& device, const CudaTsmttsmProblem& problem, const CudaTsmttsm& configuration);
CudaChoice<CudaTsmttsm> choose(const CudaDevice& device, const CudaTsmttsmProblem& problem);
CudaTsmttsm configure_cuda_tsmttsm(const CudaDevice& device, const CudaTsmttsmProblem& problem);

/// Workspace bytes that are enough for every layout and stride of these extents.
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
  int parts = 1;                ///< real numbers per scalar: 2 for complex
  bool aligned = false;         ///< A begins at a multiple of 16 bytes; so does B if scalars have 16 bytes
  bool may_skip_a = false;      ///< alpha is or may be 0; if it is, A must not be read
  bool aligned_output = false;  ///< B begins at a multiple of 32 bytes, a sector of memory
  bool may_split = true;        ///< as in CudaTsmttsmProblem
};

/// A configuration of tsmm. What is said of a kernel holds for its variants (_tf32, _3m), unless these are named.
struct CudaTsmm {
  TsmmKernel kernel;
  int tile_n;    ///< sets of columns of B per warp. row_ring, row_deep: of 16; strided, column_ring, wide, per_warp,
                 ///< short_k: of 8; strided_3m: of 8 complex ones; registers_3m: of 16 complex ones; strided_tf32,
                 ///< column_tf32, tf32_warpgroup: of 8 columns of scalars; column_fma, direct: of one column of scalars
  int blocks_n;  ///< sets of rows that a warp has at a time. row_ring: of 8; strided, column_ring, wide, per_warp:
                 ///< of 16. strided_tf32: sets of 128 rows of a block, column_tf32: of 64; column_fma, direct: rows per
                 ///< thread; short_k: warps; registers_3m: sets of 4 rows of C; row_fma: columns of B
  int warps;     ///< warps that share a stage, side by side along B's columns; row_deep: along A's
  int groups;    ///< consumer warp groups; strided: sets of blocks_n TMA tiles in a stage
  int rows;      ///< rows of a row tile (chunk)
  int stages;
  int chunks_per_ticket;
  bool output_in_ring;  ///< B's old rows come with A's, to be scaled by beta
  bool boxes_a;         ///< row rings: A comes as TMA tiles (boxes)
  bool boxes_b;         ///< row rings: B comes and goes as TMA tiles
  int row_warps;        ///< strided, column rings: warps along the rows
  int panel;            ///< strided, per_warp: columns of A in a stage (K slice); column rings, direct: columns of
                        ///< scalars loaded at a time; short_k: columns of A that are prefetched
  int pitch;            ///< strided, per_warp: real numbers from line to line in a stage
  int classes;          ///< strided: classes of A's lines (load_tma.cuh)
  bool small_in_ring;   ///< strided: a kernel of its own packs C; K slices of C come with those of A
  int staged;           ///< strided, per_warp: 1 if results go through shared memory, to be written in whole
                        ///< sectors; column rings: 1 if results do not replace A's numbers in a stage
  int staged_pitch;     ///< strided, column rings: real numbers from line to line of those results
  int early;            ///< column rings: rows that a chunk holds but does not store (overlap rows), so that it
                        ///< stores whole sectors or lines
  int shared_bytes;
  std::int64_t parts;  ///< thread blocks
  int sections;        ///< wide: CTA tiles of B's columns, each for other blocks; in place, for the blocks of a cluster
  bool in_cluster;     ///< wide: the blocks of a cluster compute the same chunks and write when all have read
  std::size_t workspace_bytes;
  /// For a product in parts: the columns of B in a part. Its rows, if the parts go through the workspace; 0: all rows.
  /// The other members are then the configuration of one part.
  std::int64_t part_columns, part_rows;

  constexpr bool in_parts() const { return part_columns != 0; }
};

/// As for tsmttsm, without products in parts, which only `choose` makes. Calls that need these find no candidate in
/// place, and no fast one elsewhere.
std::vector<CudaTsmm> candidates(const CudaDevice& device, const CudaTsmmProblem& problem,
                                 Search search = Search::usual);
bool complete(const CudaDevice& device, const CudaTsmmProblem& problem, CudaTsmm& configuration);
CudaPrediction predict(const CudaDevice& device, const CudaTsmmProblem& problem, const CudaTsmm& configuration);
CudaChoice<CudaTsmm> choose(const CudaDevice& device, const CudaTsmmProblem& problem);
CudaTsmm configure_cuda_tsmm(const CudaDevice& device, const CudaTsmmProblem& problem);
std::size_t cuda_tsmm_workspace(const CudaDevice& device, std::int64_t k, std::int64_t m, std::int64_t n,
                                int real_bytes);

}  // namespace blockvec::kernels::dispatch

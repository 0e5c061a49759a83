#pragma once

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/dispatch/cuda/shapes.hpp"

/// Chooses the configuration of a CUDA kernel for a problem. Nothing here needs a device.
/// Widths, leading dimensions and results count real numbers: a complex column is two of them.
///
/// A configuration is a variant of small structs: kernels that read the same parameters share one. The struct's file in
/// dispatch/cuda/tsmttsm or dispatch/cuda/tsmm defines its entry: the kernel's candidates, what is legal, and the work
/// that the model (dispatch/cuda/model.hpp) counts.
namespace blockvec::kernels::dispatch {

struct CudaWork;  // model.hpp

/// How a kernel makes its products. Floats that are converted to double precision count as double precision.
enum class CudaProducts : std::uint8_t { f64_fma, f64_tensor, f32_fma, tf32_tensor };

/// The clocks that a multiprocessor takes for the 2048 products of an MMA tile of 16 x 8 that is 16 deep, for each kind
/// of products. One product by 3xTF32 is three products of tensor cores.
using CudaProductClocks = std::array<double, 4>;
inline constexpr CudaProductClocks h200_product_clocks{32, 16, 16, 10};

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
  CudaProductClocks product_clocks = h200_product_clocks;  ///< by CudaProducts

  bool operator==(const CudaDevice&) const = default;
};

/// Attributes of a device in CUDA's units. Later drivers, and drivers of virtual devices, may report 0.
struct CudaRates {
  int clock_khz;  ///< clock rate of the multiprocessors
  int memory_clock_khz;
  int bus_bits;
};

/// The clocks that products take on devices of a compute capability, in the form 90 for 9.0.
const CudaProductClocks& product_clocks_of(int capability);

/// Sets the clock rate, the bandwidths that kernels reach, and how fast products are made. Unknown values come from an
/// H200: its clock rate, and its bandwidth per multiprocessor.
void set_rates(CudaDevice& device, const CudaRates& rates);

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

  auto operator<=>(const CudaTsmttsmProblem&) const = default;
};

/// The kernels. A kernel has one name everywhere: it is that of its file in src/cuda/tsmttsm or src/cuda/tsmm and in
/// the folders of the same names in dispatch/cuda, the word in tables and in explanations, and tsmttsm_NAME or
/// tsmm_NAME in src/tuning/instances.json. Both products have kernels tf32_warpgroup and direct.
enum class CudaKernel : std::uint8_t {
  none,            ///< nothing is multiplied, or no kernel has been chosen
  tf32_warpgroup,  ///< single precision: 3xTF32 by wgmma; tsmm: tight rows
  direct,          ///< no pipeline: threads load for themselves. tsmttsm: FP64 tensor cores; tsmm: few columns
  ring,            ///< tsmttsm: FP64 tensor cores; asynchronous copies feed them through a multistage pipeline (ring)
  gram,            ///< the ring for A^H A: computes only what lies on and above the diagonal
  row_ring,        ///< tsmm: FP64 tensor cores; a multistage pipeline of flat rows, or of narrow views by tensor maps
  column_ring,     ///< FP64 tensor cores; bulk copies load and store pieces of columns
  strided,         ///< FP64 tensor cores; tensor maps load A in K slices; any stride and layout
  registers_3m,    ///< complex double precision by 3M; C stays in registers
  wide,            ///< many columns of A and of B: one CTA tile of B at a time; in place by clusters
  per_warp,        ///< narrow views of any alignment: each warp copies, multiplies and writes for itself
  short_k,         ///< few rows of many columns: one row tile per block
  general          ///< any layout and stride
};
inline constexpr std::string_view kernels[] = {"none",     "tf32_warpgroup", "direct",  "ring",         "gram",
                                               "row_ring", "column_ring",    "strided", "registers_3m", "wide",
                                               "per_warp", "short_k",        "general"};

/// How a kernel's template makes products or copies, where it has a choice. instances.json appends the policy to the
/// kernel's name; tables and explanations name it in front of the configuration.
enum class Policy : std::uint8_t {
  usual,      ///< as the kernel's name and description say
  fma,        ///< few columns: each thread owns rows; no tensor cores
  tf32,       ///< single precision by 3xTF32
  three_m,    ///< complex numbers by 3M: three real products for a complex one
  square_3m,  ///< 3M for square results with an odd number of 8-column blocks
  plain,      ///< short rows, which cp.async copies faster than TMA does
  f32         ///< single precision with FMA and sums of single precision; no tensor cores
};
inline constexpr std::string_view policies[] = {"usual", "fma", "tf32", "3m", "square_3m", "plain", "f32"};

/// A kernel with its policy.
struct CudaKind {
  CudaKernel kernel;
  Policy policy = Policy::usual;
  bool operator==(const CudaKind&) const = default;
};

/// What limits a configuration according to the model.
enum class CudaBound : std::uint8_t { memory, tensor_cores, arithmetic, shared_memory, latency };

struct CudaPrediction {
  double seconds;
  CudaBound bound;
  double busy_seconds;  ///< time for which the multiprocessors compute, even where memory takes longer
  CudaProducts products = CudaProducts::f64_fma;
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

/// Load modes of tsmttsm: which operands come as TMA tiles (boxes) and which in flat pieces;
/// or both come by columns.
enum CudaFeeds : int { feeds_by_rule, flat_both, boxes_a, boxes_b, boxes_both, columns_both };

/// The load mode of an operand, and where its row tiles (chunks) lie in a stage.
/// Flat: a chunk is one piece of memory. If it has gaps between rows, these are read too.
/// Boxed: tensor maps load a chunk as TMA tiles (boxes, src/cuda/operands/load_tma.cuh).
/// Columns: each column's piece comes by itself, or TMA tiles bring many (src/cuda/operands/load_columns.cuh).
struct CudaFeed {
  bool boxed;
  int classes = 1;   ///< classes of lines: within a class the stride suits tensor maps
  int pitch;         ///< numbers from line to line of a class in a stage
  int panel;         ///< numbers of a row, or columns, from TMA tile to TMA tile
  int panels = 1;    ///< TMA tiles side by side
  int lines;         ///< lines of a class in a TMA tile, or columns in a stage
  int stage_bytes;   ///< a multiple of 128
  int bytes_beyond;  ///< bytes of other data behind it that lanes may read, without effect
  int class_step;    ///< columns in TMA tiles: numbers from a class's first column to the next class's
};

/// The number of classes that lines of this distance fall into: 1, 2 or 4.
constexpr int box_classes(std::int64_t distance, int real_bytes) {
  int classes = 1;
  while (classes * distance * real_bytes % 16 != 0) classes *= 2;
  return classes;
}

/// How TMA tiles (boxes) of rows avoid bank conflicts: padded ones are wider than the rows.
enum CudaPadding : int { padding_by_rule, tight_boxes, padded_boxes };

/// A number of a configuration.
template <class Configuration>
using Member = int Configuration::*;

/// A number of a configuration in words, or two as in "2x8".
template <class Configuration>
struct Field {
  std::string_view name;
  Member<Configuration> first;
  Member<Configuration> second = nullptr;
};

/// A number of a configuration, and what tuning tries besides the number that a call takes.
template <class Configuration>
struct Values {
  Member<Configuration> member;
  std::initializer_list<int> others;
};

/// The candidates of a kind of kernel for a problem: those that a call chooses from, or all that tuning searches.
template <class Any, class Problem>
struct CudaCandidates {
  CudaKind kind;
  const CudaDevice& device;
  const Problem& problem;
  bool all;
  std::vector<Any>& found;

  /// Completes a configuration of this kind. Returns false if it is illegal.
  template <class Configuration>
  bool completes(Configuration& c) const {
    static_cast<CudaKind&>(c) = kind;
    return complete(device, problem, c);
  }
  /// Adds a configuration if it is legal, and returns whether it is. Tuning also adds it with all combinations of other
  /// numbers.
  template <class Configuration>
  bool add(const Configuration& c, std::span<const Values<Configuration>> lists) const {
    Configuration usual = c;
    if (!completes(usual)) return false;
    found.push_back(usual);
    for (std::size_t i = 0; all && i < lists.size(); ++i) {
      const auto& [member, others] = lists[i];
      for (const int other : others) {
        Configuration changed = c;
        changed.*member = other;
        if (other != usual.*member) add(changed, lists.subspan(i + 1));
      }
    }
    return true;
  }
  template <class Configuration>
  bool add(const Configuration& c, std::initializer_list<Values<Configuration>> lists = {}) const {
    return add(c, std::span(lists.begin(), lists.size()));
  }
};

/// What dispatch asks of the kernels whose configurations have one type.
template <class Configuration, class Any, class Problem>
struct CudaEntry {
  /// The fields that tell the kernel's configurations apart. Texts and tables name them.
  std::span<const Field<Configuration>> fields;
  /// Whether the kernel is compiled for the problem's type. This is known before the configuration is complete.
  bool (*is_compiled)(const Problem& problem,
                      const Configuration& configuration) = [](const Problem&, const Configuration&) { return false; };
  /// Computes the other members, as dispatch::complete does, for a kernel that is compiled.
  bool (*complete)(const CudaDevice& device, const Problem& problem, Configuration& configuration) = nullptr;
  /// Returns the work of a complete configuration, for the model.
  CudaWork (*work)(const CudaDevice& device, const Problem& problem, const Configuration& configuration) = nullptr;
  void (*add)(const CudaCandidates<Any, Problem>& to) = [](const CudaCandidates<Any, Problem>&) {};
  /// If the fields depend on the kind: those of a kind.
  std::span<const Field<Configuration>> (*fields_of)(const CudaKind& kind) = nullptr;
};

/// A configuration of a product: one of these types, of which each begins with Common.
template <class Common, class... Configurations>
struct OneOf {
  std::variant<Configurations...> of_kernel;

  OneOf() = default;
  template <class Configuration>
  requires(std::same_as<Configuration, Configurations> || ...) OneOf(const Configuration& configuration)
      : of_kernel(configuration) {}

  Common* operator->() {
    return std::visit([](auto& c) -> Common* { return &c; }, of_kernel);
  }
  const Common* operator->() const {
    return std::visit([](const auto& c) -> const Common* { return &c; }, of_kernel);
  }
};

struct CudaTsmttsm;
template <class Configuration>
using TsmttsmEntry = CudaEntry<Configuration, CudaTsmttsm, CudaTsmttsmProblem>;
using TsmttsmCandidates = CudaCandidates<CudaTsmttsm, CudaTsmttsmProblem>;

/// What all configurations of tsmttsm have. P = A^T B is the product in real numbers.
struct TsmttsmCommon : CudaKind {
  int fold;  ///< narrow rows that are taken as one wide row
  int rows;  ///< rows of a row tile (chunk)
  int stages;
  int shared_bytes;
  std::int64_t partials;  ///< partial sums, one for each share of the rows
  std::size_t workspace_bytes;
};

struct NoTsmttsm : TsmttsmCommon {
  static constexpr CudaKind kinds[] = {{CudaKernel::none}};
  static const TsmttsmEntry<NoTsmttsm> entry;
};

/// All kernels that a multistage pipeline feeds.
struct RingTsmttsm : TsmttsmCommon {
  static constexpr CudaKind kinds[] = {
      {CudaKernel::ring}, {CudaKernel::ring, Policy::three_m}, {CudaKernel::ring, Policy::square_3m},
      {CudaKernel::gram}, {CudaKernel::tf32_warpgroup},        {CudaKernel::tf32_warpgroup, Policy::three_m}};
  static const TsmttsmEntry<RingTsmttsm> entry;

  int tile_m, tile_n;          ///< MMA tiles of 16 x 8 of P per warp; gram, square_3m: tile_m is the number of 8-column
                               ///< blocks of A
  int warps_m, warps_n;        ///< warps of a consumer warp group along A's and B's columns; all read the same rows
  int sections_m, sections_n;  ///< CTA tiles (sections) of P, if it is too large for one block; each has its own blocks
  int groups;                  ///< consumer warp groups
  int split;                   ///< groups that share a stage: they take its rows in turn, 16 at a time
  int feeds;                   ///< CudaFeeds
  int padding;                 ///< CudaPadding
  int turned;                  ///< gram: 1: half of the lanes read columns in another order (tsmttsm/ring.hpp)
  int segment;                 ///< rows of a row tile that lie together in a stage
  CudaFeed a, b;

  constexpr bool gram() const { return kernel == CudaKernel::gram; }
  /// Columns of A, and of B, that the warps' tiles cover.
  int reached_m() const { return gram() ? (tile_m + 1) / 2 * 16 : (square() ? 1 : warps_m) * rows_of_tile(); }
  int reached_n() const { return gram() ? tile_m * 8 : warps_n * columns_of_tile(); }
  constexpr bool whole_warpgroups() const { return kernel == CudaKernel::tf32_warpgroup; }
  constexpr bool warpgroup_3m() const { return whole_warpgroups() && policy == Policy::three_m; }
  constexpr bool square() const { return policy == Policy::square_3m; }
  constexpr bool ring_3m() const { return kernel == CudaKernel::ring && policy != Policy::usual; }
  /// Whether tiles count complex numbers: a complex product is made of three real ones (3M).
  constexpr bool complex_tiles() const { return ring_3m() || warpgroup_3m(); }
  int rows_of_tile() const { return (complex_tiles() && !square() ? 32 : 16) * tile_m; }
  int columns_of_tile() const { return (complex_tiles() ? 16 : 8) * tile_n; }
  /// Bytes of a group's sum in shared memory.
  std::int64_t sum_bytes() const { return std::int64_t{reached_m()} * reached_n() * std::int64_t{sizeof(double)}; }
};

struct DirectTsmttsm : TsmttsmCommon {
  static constexpr CudaKind kinds[] = {{CudaKernel::direct}, {CudaKernel::direct, Policy::tf32}};
  static const TsmttsmEntry<DirectTsmttsm> entry;

  int tile_m, tile_n;          ///< 8-column blocks of A and of B per warp
  int warps_m, warps_n;        ///< warps of a group along A's and B's columns
  int sections_m, sections_n;  ///< CTA tiles (sections) of P
  int groups;                  ///< groups of warps, each with rows of its own
  int neighbours;              ///< Neighbours
  int threads;                 ///< threads of a block
};

/// A configuration of tsmttsm.
struct CudaTsmttsm : OneOf<TsmttsmCommon, NoTsmttsm, RingTsmttsm, DirectTsmttsm> {
  using OneOf::OneOf;
};

/// The legal configurations. There is at least one.
std::vector<CudaTsmttsm> candidates(const CudaDevice& device, const CudaTsmttsmProblem& problem,
                                    Search search = Search::usual);
/// Computes the other members from kernel and tile. Where fold, groups, rows or stages are 0, the usual rules set them.
/// Returns false if the configuration is illegal.
bool complete(const CudaDevice& device, const CudaTsmttsmProblem& problem, CudaTsmttsm& configuration);
CudaPrediction predict(const CudaDevice& device, const CudaTsmttsmProblem& problem, const CudaTsmttsm& configuration);
CudaChoice<CudaTsmttsm> choose(const CudaDevice& device, const CudaTsmttsmProblem& problem);

/// Workspace bytes that are enough for every layout and stride of these extents. Without rows there are none.
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
  bool may_split = true;        ///< single precision: three TF32 products (3xTF32) may replace one

  auto operator<=>(const CudaTsmmProblem&) const = default;
};

struct CudaTsmm;
template <class Configuration>
using TsmmEntry = CudaEntry<Configuration, CudaTsmm, CudaTsmmProblem>;
using TsmmCandidates = CudaCandidates<CudaTsmm, CudaTsmmProblem>;

/// What all configurations of tsmm have.
struct TsmmCommon : CudaKind {
  int rows;  ///< rows of a row tile (chunk)
  int stages;
  int chunks_per_ticket;
  int shared_bytes;
  std::int64_t blocks;  ///< thread blocks
  std::size_t workspace_bytes;
};

/// There is no kernel, or none has been chosen yet.
struct NoTsmm : TsmmCommon {
  static constexpr CudaKind kinds[] = {{CudaKernel::none}};
  static const TsmmEntry<NoTsmm> entry;
};

struct RowRing : TsmmCommon {
  static constexpr CudaKind kinds[] = {
      {CudaKernel::row_ring}, {CudaKernel::row_ring, Policy::tf32}, {CudaKernel::row_ring, Policy::fma}};
  static const TsmmEntry<RowRing> entry;

  int tile_n;           ///< sets of 16 columns of B per warp
  int blocks_n;         ///< sets of 8 rows that a warp has at a time; fma: columns of B
  int warps;            ///< warps that share a stage, side by side along B's columns
  int groups;           ///< consumer warp groups
  bool output_in_ring;  ///< B's old rows come with A's, to be scaled by beta
  bool boxes_a;         ///< A comes as TMA tiles (boxes)
  bool boxes_b;         ///< B comes and goes as TMA tiles
};

struct Tf32Warpgroup : TsmmCommon {
  static constexpr CudaKind kinds[] = {{CudaKernel::tf32_warpgroup}};
  static const TsmmEntry<Tf32Warpgroup> entry;

  int tile_n;           ///< sets of 8 columns of scalars of B
  bool output_in_ring;  ///< B's old rows come with A's, to be scaled by beta
};

struct ColumnRing : TsmmCommon {
  static constexpr CudaKind kinds[] = {
      {CudaKernel::column_ring}, {CudaKernel::column_ring, Policy::tf32}, {CudaKernel::column_ring, Policy::fma}};
  static const TsmmEntry<ColumnRing> entry;

  int tile_n;    ///< sets of 8 columns of B per warp; tf32: of 8 columns of scalars; fma: columns of scalars
  int blocks_n;  ///< sets of 16 rows that a warp has at a time; tf32: of 64 rows of a chunk; fma: rows per thread
  int row_warps, warps;  ///< usual: warps that share a stage: along the rows, and along B's columns
  int groups;            ///< usual: consumer warp groups
  int pitch;             ///< real numbers from column to column of A in a stage
  int staged_pitch;      ///< real numbers from column to column of B in a stage
  int early;             ///< rows that a chunk holds but does not store (overlap rows), so that it stores whole lines
  bool output_in_ring;   ///< B's old rows come with A's, to be scaled by beta
  bool apart;            ///< results do not replace A's numbers in a stage
};

struct Strided : TsmmCommon {
  static constexpr CudaKind kinds[] = {{CudaKernel::strided},
                                       {CudaKernel::strided, Policy::plain},
                                       {CudaKernel::strided, Policy::three_m},
                                       {CudaKernel::strided, Policy::tf32}};
  static const TsmmEntry<Strided> entry;

  int tile_n;            ///< sets of 8 columns of B per warp; 3m: of 8 complex ones, registers_3m: of 16 complex
                         ///< ones; tf32: of 8 columns of scalars of a block
  int blocks_n;          ///< sets of 16 rows that a warp has at a time; tf32: of 128 rows of a block;
                         ///< registers_3m: sets of 4 rows of C
  int row_warps, warps;  ///< warps that share a stage: along the rows, and along B's columns
  int groups;            ///< sets of blocks_n TMA tiles in a stage
  int panel;             ///< columns of A in a stage (K slice)
  int pitch;             ///< real numbers from line to line in a stage
  int classes;           ///< classes of A's lines (load_tma.cuh)
  bool small_in_ring;    ///< a kernel of its own packs C; K slices of C come with those of A
  int staged;            ///< 1 if results go through shared memory, to be written in whole sectors
  int staged_pitch;      ///< real numbers from line to line of those results
};

struct Registers3m : Strided {
  static constexpr CudaKind kinds[] = {{CudaKernel::registers_3m}};
  static const TsmmEntry<Registers3m> entry;
};

struct Wide : Strided {
  static constexpr CudaKind kinds[] = {{CudaKernel::wide}};
  static const TsmmEntry<Wide> entry;

  int sections;     ///< CTA tiles of B's columns, each for other blocks; in place, for the blocks of a cluster
  bool in_cluster;  ///< the blocks of a cluster compute the same chunks and write when all have read
};

struct PerWarp : TsmmCommon {
  static constexpr CudaKind kinds[] = {{CudaKernel::per_warp}};
  static const TsmmEntry<PerWarp> entry;

  int tile_n;    ///< sets of 8 columns of B
  int blocks_n;  ///< sets of 16 rows that a warp has at a time
  int panel;     ///< columns of A in a stage (K slice)
  int pitch;     ///< real numbers from row to row in a stage
  int staged;    ///< 1 if results go through shared memory, to be written in whole sectors
};

struct ShortK : TsmmCommon {
  static constexpr CudaKind kinds[] = {{CudaKernel::short_k}};
  static const TsmmEntry<ShortK> entry;

  int tile_n;    ///< sets of 8 columns of B
  int blocks_n;  ///< warps of a block, each with 16 rows
  int panel;     ///< columns of A that are prefetched
};

struct DirectTsmm : TsmmCommon {
  static constexpr CudaKind kinds[] = {{CudaKernel::direct}, {CudaKernel::direct, Policy::f32}};
  static const TsmmEntry<DirectTsmm> entry;

  int tile_n;    ///< columns of scalars of B
  int blocks_n;  ///< rows per thread
  int panel;     ///< columns of scalars that a thread loads at a time
};

struct GeneralTsmm : TsmmCommon {
  static constexpr CudaKind kinds[] = {{CudaKernel::general}};
  static const TsmmEntry<GeneralTsmm> entry;
};

/// A configuration of tsmm.
struct CudaTsmm : OneOf<TsmmCommon, NoTsmm, RowRing, Tf32Warpgroup, ColumnRing, Strided, Registers3m, Wide, PerWarp,
                        ShortK, DirectTsmm, GeneralTsmm> {
  using OneOf::OneOf;

  /// For a product in parts: the columns of B in a part. Its rows, if the parts go through the workspace; 0: all rows.
  /// of_kernel is then the configuration of one part, and workspace_bytes that of the whole product.
  std::int64_t part_columns = 0, part_rows = 0;

  constexpr bool in_parts() const { return part_columns != 0; }
};

/// As for tsmttsm, without products in parts, which only `choose` makes. Calls that need these find no candidate in
/// place, and no fast one elsewhere.
std::vector<CudaTsmm> candidates(const CudaDevice& device, const CudaTsmmProblem& problem,
                                 Search search = Search::usual);
bool complete(const CudaDevice& device, const CudaTsmmProblem& problem, CudaTsmm& configuration);
CudaPrediction predict(const CudaDevice& device, const CudaTsmmProblem& problem, const CudaTsmm& configuration);
CudaChoice<CudaTsmm> choose(const CudaDevice& device, const CudaTsmmProblem& problem);
std::size_t cuda_tsmm_workspace(const CudaDevice& device, std::int64_t k, std::int64_t m, std::int64_t n,
                                int real_bytes);

// Configurations as text. Tuning tables, benchmarks and explanations use the same words: "tile 2x8 groups 4 rows 16".

std::string name_of(CudaKernel kernel);
std::string name_of(CudaBound bound);

/// Returns all that a configuration chooses, without commas.
std::string words(const CudaTsmttsm& configuration);
std::string words(const CudaTsmm& configuration);

/// Reads the configuration that a kernel's name and words stand for. Words that are left out give 0; `complete` sets
/// those. Returns false if the text stands for no configuration.
template <class Any>
bool read_words(std::string_view kernel, std::string_view words, Any& configuration);

/// Bytes of A and B that a product reads and writes.
inline double tall_bytes(const CudaTsmttsmProblem& p) {
  return static_cast<double>(p.k) * static_cast<double>(p.m + (p.same ? 0 : p.n)) * p.real_bytes;
}
inline double tall_bytes(const CudaTsmmProblem& p) {
  return static_cast<double>(p.k) * static_cast<double>(p.m + (p.reads_output ? 2 : 1) * p.n) * p.real_bytes;
}

/// Whether a configuration's kernel is compiled for the problem's type.
template <class Problem, class Any>
bool is_compiled(const Problem& problem, const Any& configuration) {
  return std::visit([&](const auto& c) { return c.entry.is_compiled(problem, c); }, configuration.of_kernel);
}

/// dispatch::complete for the configuration of one kernel.
template <class Problem, class Configuration>
requires requires { &Configuration::entry; }
bool complete(const CudaDevice& device, const Problem& problem, Configuration& c) {
  return c.entry.is_compiled(problem, c) && c.entry.complete(device, problem, c);
}

/// Calls act(c) with a configuration of each kind, of which nothing else is known. Any is CudaTsmttsm or CudaTsmm.
template <class Any, class Act>
void for_each_kind(Act&& act) {
  const auto of_type = [&](auto c) {
    for (const CudaKind& kind : c.kinds) {
      static_cast<CudaKind&>(c) = kind;
      act(c);
    }
  };
  [&]<class... Configurations>(const std::variant<Configurations...>*) {
    (of_type(Configurations{}), ...);
  }(static_cast<const decltype(Any::of_kernel)*>(nullptr));
}

}  // namespace blockvec::kernels::dispatch

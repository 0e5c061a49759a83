#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

/// The kernel `sweep` (src/cuda/gram_schmidt/sweep.cuh): which sweeps it serves, and how it runs. Widths and pitches
/// count real numbers.
namespace blockvec::kernels::dispatch {

struct CudaDevice;

inline constexpr int most_sweep_pieces = 4;                        ///< matrices that V comes in
inline constexpr int most_sweep_matrices = most_sweep_pieces + 1;  ///< that V and W come in
inline constexpr int most_sweep_parts = 10;                        ///< of V, of W and of the image of W
inline constexpr int sweep_change_warps = 4;                       ///< warps that change rows of W
inline constexpr int sweep_product_warps = 8;                      ///< warps that add products of rows
inline constexpr int most_sweep_columns = 32;                      ///< of W
inline constexpr int most_sweep_barriers = 24 * 8;                 ///< of each kind
/// MMA tiles of 16 columns of [V W] that a warp keeps, where W has `tiles` tiles of 8 columns.
constexpr int sweep_tiles_m(int tiles) { return tiles == 4 ? 2 : 4; }

/// Columns that come as one TMA tile and stand together in a stage.
struct SweepPart {
  int matrix;  ///< which of the matrices of [V W]; the image follows them
  int first;   ///< its first column in that matrix
  int column;  ///< its first column in [V W]
  int width;
  int pitch;   ///< numbers from row to row in a stage
  int offset;  ///< numbers before it in a stage
  int block;   ///< blocks of 8 columns before it
  int step;    ///< steps of 4 columns before it
};

struct CudaSweepProblem {
  std::int64_t k;
  std::span<const std::int64_t> widths;  ///< of the matrices that stand side by side as [V W]
  std::int64_t n;                        ///< columns of W: the last ones of the last matrix
  int real_bytes;
  bool changes;    ///< W may change
  bool has_image;  ///< the products' right factor is not W
};

/// A configuration.
struct CudaSweep {
  int tiles_n;  ///< MMA tiles of 8 columns that cover W: 1, 2 or 4
  int sharing;  ///< product warps that share the columns of [V W]
  int rows;     ///< of a row tile
  int stages;
  int barriers;  ///< barriers that tell of full stages: each always belongs to the same warps
  int parts;     ///< of V and W, which lies in the last one; that of the image may follow
  int loaded;    ///< parts with that of the image
  SweepPart part[most_sweep_parts];
  int blocks;        ///< blocks of 8 columns of all parts of V and W
  int steps;         ///< their steps of 4 columns
  int stage_bytes;   ///< of a row tile
  int stage_step;    ///< from stage to stage
  int packed_bytes;  ///< of C in shared memory
  int shared_bytes;
  std::int64_t chunks;
  std::int64_t thread_blocks;
};

/// The configuration for a sweep of row-major matrices whose rows begin at multiples of 16 bytes; none if the kernel
/// does not serve it.
std::optional<CudaSweep> configure_sweep(const CudaDevice& device, const CudaSweepProblem& p);

}  // namespace blockvec::kernels::dispatch

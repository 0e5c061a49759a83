#pragma once

#include "src/cuda/operands/load_columns.cuh"
#include "src/cuda/operands/load_flat_rows.cuh"
#include "src/cuda/operands/load_tma.cuh"
#include "src/dispatch/cuda/constants.hpp"

/// How operands come into the stages of a pipeline, and where their entries lie there.
///
/// The rows of a row tile (chunk) stand in a stage in `segments` of equally many rows. A row-major matrix in TMA tiles
/// has one class per segment (load_tma.cuh).
namespace blockvec::kernels::cuda {

using dispatch::most_segments;

/// One operand. Strides and places count real numbers.
template <class Real>
struct Staged {
  Stream<Real> stream;    ///< used where it comes as flat pieces
  Boxes boxes;            ///< used where it comes in TMA tiles, by rows or columns
  Columns<Real> columns;  ///< used where it is column-major
  bool boxed;
  int panels;                  ///< TMA tiles side by side
  int panel;                   ///< numbers of a row from TMA tile to TMA tile
  int panel_places;            ///< from TMA tile to TMA tile in a stage
  int segment[most_segments];  ///< place of a segment's first row
  int row_step;                ///< from row to row in a stage
  int eight_columns;           ///< column-major: from a column to the eighth one after it

  /// Place of column j in the first row of a segment; the stage begins with column `first`.
  template <bool by_columns>
  __device__ int place_of_column(int first, int j) const {
    if constexpr (!by_columns) return j / panel * panel_places + j % panel;
    return columns.shift(first / columns.parts) + columns.place(j / columns.parts) +
           boxes.lead[j / columns.parts % columns.classes] + j % columns.parts;
  }
};

/// Loads row tiles of a row-major operand into stages. Its work per row tile is short: while it computes, it requests
/// no data.
template <class Real>
class RowFeeder {
 public:
  /// `first_column`: where the CTA tile begins in a row; only an operand in TMA tiles may be cut into CTA tiles.
  __device__ RowFeeder(const Staged<Real>& operand, int rows, int first_column)
      : operand_(operand), flat_(operand.stream, rows) {
    if (operand.boxed) {
      first_ = first_column;
      class_bytes_ = operand.boxes.class_numbers() * static_cast<int>(sizeof(Real));
      bytes_ = static_cast<unsigned>(operand.panels * operand.boxes.classes * class_bytes_);
    } else {
      bytes_ = flat_.bytes();
    }
  }

  /// Some row tiles of flat operands are not a multiple of 16 bytes.
  __device__ bool in_bulk(std::uint32_t chunk) const { return operand_.boxed || flat_.in_bulk(chunk); }

  /// All lanes of a warp call this.
  __device__ void start_plain(std::uint32_t chunk, unsigned char* stage) const {
    flat_.start_plain(chunk, stage, static_cast<int>(threadIdx.x) % warp_size);
  }

  __device__ unsigned bytes() const { return bytes_; }

  /// One lane calls this.
  __device__ void start_bulk(std::uint32_t chunk, unsigned char* stage, Barrier& full) const {
    if (!operand_.boxed) return flat_.start_bulk(chunk, stage, full);
    const int start = static_cast<int>(chunk) * operand_.boxes.lines;
    int across = first_;
    for (int panel = 0; panel < operand_.panels; ++panel, across += operand_.panel) {
      for (int c = 0; c < operand_.boxes.classes; ++c, stage += class_bytes_) {
        tensor_load(stage, operand_.boxes.map[c], across, start, full);
      }
    }
  }

  /// Brings the row tile only into the L2 cache.
  __device__ void prefetch(std::uint32_t chunk) const {
    if (!operand_.boxed) return flat_.prefetch(chunk);
    const int start = static_cast<int>(chunk) * operand_.boxes.lines;
    int across = first_;
    for (int panel = 0; panel < operand_.panels; ++panel, across += operand_.panel) {
      for (int c = 0; c < operand_.boxes.classes; ++c) tensor_prefetch(operand_.boxes.map[c], across, start);
    }
  }

 private:
  const Staged<Real>& operand_;
  Feed<Real> flat_;
  int first_ = 0;  ///< the first number of a row that is loaded
  int class_bytes_ = 0;
  unsigned bytes_ = 0;
};

/// A warp fills a stage with its part of a row tile of both operands, or of one where both are the same. A RowFeeder
/// loads whole row tiles; every loading warp has a ColumnFeeder, which loads its own columns of every row tile.
template <bool two, class Feeder>
__device__ inline void fill_stage(const Feeder& a, const Feeder& b, int offset_b, std::uint32_t chunk,
                                  unsigned char* stage, Barrier& full) {
  const bool bulk_a = has_bulk_copies && a.in_bulk(chunk);
  const bool bulk_b = !two || (has_bulk_copies && b.in_bulk(chunk));
  if (!bulk_a || !bulk_b) {
    if (!bulk_a) a.start_plain(chunk, stage);
    if (!bulk_b) b.start_plain(chunk, stage + offset_b);
    full.await_copies();
    __syncwarp();
  }
  if (elected()) {
    if constexpr (has_bulk_copies) {
      full.arrive_and_expect((bulk_a ? a.bytes() : 0) + (two && bulk_b ? b.bytes() : 0));
      if (bulk_a) a.start_bulk(chunk, stage, full);
      if (two && bulk_b) b.start_bulk(chunk, stage + offset_b, full);
    } else {
      full.arrive();
    }
  }
  __syncwarp();
}

}  // namespace blockvec::kernels::cuda

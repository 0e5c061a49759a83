#pragma once

#include "src/cuda/operands/load_tma.cuh"
#include "src/cuda/operands/load_columns.cuh"
#include "src/cuda/operands/load_flat_rows.cuh"
#include "src/dispatch/cuda/feed.hpp"

/// Operands on their way into the stages of a ring, and where their entries lie there.
///
/// A chunk's rows stand in a stage in `segments` of equally many rows: those of a row-major matrix in boxes that fall
/// into one class each (boxes.cuh).
namespace blockvec::kernels::cuda {

using dispatch::most_segments;

/// One operand. Strides and places count real numbers.
template <class Real>
struct Staged {
  Stream<Real> stream;    ///< where it comes as flat pieces
  Boxes boxes;            ///< where it comes in boxes, by rows or columns
  Columns<Real> columns;  ///< where it is column-major
  bool boxed;
  int panels;                  ///< boxes side by side
  int panel;                   ///< from box to box: numbers of a row
  int panel_places;            ///< from box to box in a stage
  int segment[most_segments];  ///< place of a segment's first row
  int row_step;                ///< from row to row
  int eight_columns;           ///< column-major: from a column to the eighth after it

  /// Place of column j in the first row of a segment, where the stage begins with column `first`.
  template <bool by_columns>
  __device__ int place_of_column(int first, int j) const {
    if constexpr (!by_columns) return j / panel * panel_places + j % panel;
    return columns.shift(first / columns.parts) + columns.place(j / columns.parts) +
           boxes.lead[j / columns.parts % columns.classes] + j % columns.parts;
  }
};

/// A loading warp's view of a row-major operand: chunk by chunk into stages. What it does for a chunk is kept short:
/// while it counts, nothing is asked for.
template <class Real>
class RowFeeder {
 public:
  /// From this column on: boxed operands may be cut into sections.
  __device__ RowFeeder(const Staged<Real>& operand, int rows, int first_column)
      : operand_(operand), flat_(operand.stream, rows) {
    if (operand.boxed) {
      first_ = first_column;
      class_bytes_ = operand.boxes.class_numbers() * static_cast<int>(sizeof(Real));
      bytes_ = static_cast<unsigned>(operand.panels * operand.boxes.classes * class_bytes_);
    } else {
#if __CUDA_ARCH__ >= 900
      bytes_ = flat_.bytes();
#endif
    }
  }

  /// Some chunks of flat operands do not come in whole multiples of 16 bytes.
  __device__ bool in_bulk(std::uint32_t chunk) const { return operand_.boxed || flat_.in_bulk(chunk); }

  /// By a warp.
  __device__ void start_plain(std::uint32_t chunk, unsigned char* stage, int lane) const {
    flat_.start_plain(chunk, stage, lane);
  }

  __device__ unsigned bytes() const { return bytes_; }

#if __CUDA_ARCH__ >= 900
  /// By one lane.
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

  /// The same into the cache alone.
  __device__ void prefetch(std::uint32_t chunk) const {
    if (!operand_.boxed) return flat_.prefetch(chunk);
    const int start = static_cast<int>(chunk) * operand_.boxes.lines;
    int across = first_;
    for (int panel = 0; panel < operand_.panels; ++panel, across += operand_.panel) {
      for (int c = 0; c < operand_.boxes.classes; ++c) tensor_prefetch(operand_.boxes.map[c], across, start);
    }
  }
#endif

 private:
  const Staged<Real>& operand_;
  Feed<Real> flat_;
  int first_ = 0;  ///< number of a row
  int class_bytes_ = 0;
  unsigned bytes_ = 0;
};

/// A warp fills a stage with a chunk of both operands, or of one where they are the same.
template <bool two, class Real>
__device__ inline void fill_stage(const RowFeeder<Real>& a, const RowFeeder<Real>& b, int offset_b, std::uint32_t chunk,
                                  unsigned char* stage, Barrier& full) {
#if __CUDA_ARCH__ >= 900
  const bool bulk_a = a.in_bulk(chunk);
  const bool bulk_b = !two || b.in_bulk(chunk);
#else
  constexpr bool bulk_a = false;
  constexpr bool bulk_b = !two;
#endif
  if (!bulk_a || !bulk_b) {
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    if (!bulk_a) a.start_plain(chunk, stage, lane);
    if (!bulk_b) b.start_plain(chunk, stage + offset_b, lane);
    full.await_copies();
    __syncwarp();
  }
  if (elected()) {
#if __CUDA_ARCH__ >= 900
    full.arrive_and_expect((bulk_a ? a.bytes() : 0) + (two && bulk_b ? b.bytes() : 0));
    if (bulk_a) a.start_bulk(chunk, stage, full);
    if (two && bulk_b) b.start_bulk(chunk, stage + offset_b, full);
#else
    full.arrive();
#endif
  }
  __syncwarp();
}

}  // namespace blockvec::kernels::cuda

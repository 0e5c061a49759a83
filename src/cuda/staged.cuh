#pragma once

#include "src/cuda/boxes.cuh"
#include "src/cuda/ring.cuh"
#include "src/dispatch/cuda_feed.hpp"

/// Operands of tsmttsm on their way into the stages of a ring, and where their entries lie there.
///
/// A chunk's rows stand in a stage in `segments` of equally many rows: of a row-major matrix those of one class each
/// (boxes.cuh), of a column-major one those of one box each.
namespace blockvec::kernels::cuda {

using dispatch::most_segments;

/// One operand. Strides and places count real numbers.
template <class Real>
struct Staged {
  Stream<Real> stream;             ///< where it comes as flat pieces
  Boxes boxes;                     ///< where it comes in boxes
  CUtensorMap pieces;              ///< column-major: of whole segments, which come without what follows them
  std::uint32_t chunks_of_pieces;  ///< chunks that come as `pieces`
  bool boxed;
  int panels;                  ///< boxes side by side
  int panel;                   ///< from box to box: numbers of a row or columns
  int panel_places;            ///< from box to box in a stage
  int parts;                   ///< column-major: numbers of a scalar
  int segment[most_segments];  ///< place of a segment's first row
  int row_step;                ///< from row to row
  int eight_columns;           ///< from a column to the eighth after it

  /// Place of column j in the first row of a segment.
  template <bool by_columns>
  __host__ __device__ int place_of_column(int j) const {
    if constexpr (!by_columns) return j / panel * panel_places + j % panel;
    const int line = j / parts;
    const int in_panel = line % panel;
    const int c = in_panel % boxes.classes;
    return line / panel * panel_places + c * boxes.class_numbers() + boxes.lead[c] +
           in_panel / boxes.classes * boxes.pitch + j % parts;
  }
};

/// A loading warp's view of one operand: chunk by chunk into stages. What it does for a chunk is kept short: while it
/// counts, nothing is asked for.
template <bool by_columns, class Real>
class Feeder {
 public:
  /// From this column on: boxed operands may be cut into sections.
  __device__ Feeder(const Staged<Real>& operand, int rows, int segments, int first_column)
      : operand_(operand), flat_(operand.stream, rows), segments_(by_columns ? segments : 1) {
    if (operand.boxed) {
      const Boxes& boxes = operand.boxes;
      chunk_step_ = by_columns ? rows * operand.parts : boxes.lines;
      segment_step_ = rows / segments * operand.parts;
      first_ = by_columns ? first_column / operand.parts / boxes.classes : first_column;
      class_bytes_ = boxes.class_numbers() * static_cast<int>(sizeof(Real));
      bytes_ = static_cast<unsigned>(segments_ * operand.panels * boxes.classes * class_bytes_);
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
    const int start = static_cast<int>(chunk) * chunk_step_;
    int across = first_;
    for (int panel = 0; panel < operand_.panels; ++panel) {
      if (by_columns && chunk < operand_.chunks_of_pieces) {
        tensor_load_pieces(stage, operand_.pieces, across, static_cast<int>(chunk) * segments_, full);
        stage += segments_ * class_bytes_;
        across += operand_.boxes.lines;
        continue;
      }
      for (int s = 0; s < segments_; ++s) {
        for (int c = 0; c < operand_.boxes.classes; ++c, stage += class_bytes_) {
          if constexpr (by_columns) {
            tensor_load(stage, operand_.boxes.map[c], start + s * segment_step_, across, full);
          } else {
            tensor_load(stage, operand_.boxes.map[c], across, start, full);
          }
        }
      }
      across += by_columns ? operand_.boxes.lines : operand_.panel;
    }
  }
#endif

 private:
  const Staged<Real>& operand_;
  Feed<Real> flat_;
  int segments_;
  int chunk_step_ = 0;    ///< lines of a class, or numbers of a column, from chunk to chunk
  int segment_step_ = 0;  ///< numbers of a column
  int first_ = 0;         ///< number of a row, or line of a class
  int class_bytes_ = 0;
  unsigned bytes_ = 0;
};

/// A warp fills a stage with a chunk of both operands, or of one where they are the same.
template <bool two, bool by_columns, class Real>
__device__ inline void fill_stage(const Feeder<by_columns, Real>& a, const Feeder<by_columns, Real>& b, int offset_b,
                                  std::uint32_t chunk, unsigned char* stage, Barrier& full) {
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

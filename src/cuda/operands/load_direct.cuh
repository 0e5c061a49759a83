#pragma once

#include "src/cuda/operands/matrix.cuh"
#include "src/dispatch/cuda/constants.hpp"

/// Loads entries of a tall matrix of any layout from memory directly into the fragments of ptx/mma_f64.cuh.
///
/// A warp takes 16 rows at a time, of all blocks of 8 columns of its tile. Which of the rows a lane takes is free as
/// long as both factors agree, and so is which column. One load brings neighbours in memory where they are aligned.
/// Lane numbers: g = lane / 4, q = lane % 4; w is the count of numbers in a load, l the number of the load.
///
///   neighbours  one load               rows                                  columns of two blocks
///   none        1 number               q + 4 l                               g of each block
///   in_columns  16 bytes of a column   w q .. w q + w - 1, then 4 w more     g of each block
///   in_rows     2 numbers of a row     q + 4 l                               2 g and 2 g + 1, even and odd apart
///
/// A narrow matrix is folded: the lane of column c + s * width takes column c of the rows 16 s further on. The final
/// sum leaves out products of different s.
namespace blockvec::kernels::cuda {

using dispatch::Neighbours;

template <class Real, Neighbours neighbours, int blocks>
class DirectLane {
 public:
  static constexpr int numbers = neighbours == Neighbours::none         ? 1
                                 : neighbours == Neighbours::in_columns ? 16 / static_cast<int>(sizeof(Real))
                                                                        : 2;
  struct alignas(numbers * sizeof(Real)) Load {
    Real number[numbers];
  };
  static constexpr bool in_rows = neighbours == Neighbours::in_rows;
  static constexpr bool in_columns = neighbours == Neighbours::in_columns;
  static constexpr int units = in_rows ? (blocks + 1) / 2 : blocks;  // loads that lie side by side
  static constexpr int loads = in_columns ? 4 / numbers : 4;         // loads that follow one another in a column
  using Loads = Load[loads][units];

  /// The lane's part of the tile at `first_column` of the folded matrix of `width` real columns.
  __device__ DirectLane(const Tall<const Real>& a, int width, int fold, int first_column, int lane) {
    constexpr int unit_columns = in_rows ? 16 : 8;
    int column = first_column + (in_rows ? 2 : 1) * (lane / 4);
    row_ = (in_columns ? numbers : 1) * (lane % 4);
    // A lane beyond the matrix reads entries inside it instead: nothing else is read, and its sums are dropped.
    if (fold > 1) {
      if (column >= fold * width) column = 0;
      row_ += 16 * (column / width);
      column %= width;
    } else if (column < width) {
      last_unit_ = (width - 1 - column) / unit_columns;
    } else {
      column = 0;
    }
    unit_step_ = unit_columns / a.parts * a.column_stride;
    load_step_ = row_step * a.row_stride;
    row_stride_ = a.row_stride;
    first_ = a.offset(row_, column);
    at_ = a.data + first_;
  }

  __device__ void advance(std::int64_t rows) { at_ += rows * row_stride_; }

  /// Loads from the current rows. `guarded`: only the first `rows` of them exist, and the others count as zeros.
  template <bool guarded>
  __device__ void load(Loads& to, int rows = 0) const {
#pragma unroll
    for (int l = 0; l < loads; ++l) {
#pragma unroll
      for (int u = 0; u < units; ++u) {
        const Real* const from = at_ + min(u, last_unit_) * unit_step_ + l * load_step_;
        if constexpr (guarded) {
#pragma unroll
          for (int i = 0; i < numbers; ++i) {
            const bool there = row_ + l * row_step + (in_columns ? i : 0) < rows;
            to[l][u].number[i] = there ? from[i] : Real(0);
          }
        } else {
          to[l][u] = *reinterpret_cast<const Load*>(from);
        }
      }
    }
  }

  /// Loads from a copy of the matrix whose first entry is at `start`; see load().
  __device__ void load_from(const Real* start, Loads& to) const {
    const int unit_step = static_cast<int>(unit_step_);
    const int load_step = static_cast<int>(load_step_);
#pragma unroll
    for (int l = 0; l < loads; ++l) {
#pragma unroll
      for (int u = 0; u < units; ++u) {
        const Real* const from = start + first_ + min(u, last_unit_) * unit_step + l * load_step;
        to[l][u] = *reinterpret_cast<const Load*>(from);
      }
    }
  }

  /// Entry j of a block's column. It belongs to the same row in all blocks and both factors.
  __device__ static double entry(const Loads& loaded, int block, int j) {
    if (block >= blocks) return 0;
    if constexpr (in_rows) return loaded[j][block / 2].number[block % 2];
    return loaded[j / numbers][block].number[j % numbers];
  }

  /// The tile's column that stands at `place` of `block`.
  __device__ static int column_of(int block, int place) {
    return in_rows ? block / 2 * 16 + 2 * place + block % 2 : block * 8 + place;
  }

 private:
  static constexpr int row_step = in_columns ? 4 * numbers : 4;
  const Real* at_;
  std::int64_t unit_step_, load_step_, row_stride_;
  std::int64_t first_;
  int row_;
  int last_unit_ = 0;
};

}  // namespace blockvec::kernels::cuda

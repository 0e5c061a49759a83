#pragma once

#include <cuda.h>

#include <cstdint>

#include "src/cuda/ptx/pipeline.cuh"

/// TMA tiles (boxes) of an operand that lies in memory as separate lines: rows of a row-major view, columns of a
/// column-major matrix. Tensor maps describe them. What a TMA tile covers beyond the matrix arrives as zero and is not
/// fetched. Hence padding of lines against bank conflicts costs no traffic, and a short last row tile needs no special
/// case.
namespace blockvec::kernels::cuda {

/// Tensor maps want strides and addresses that are multiples of 16 bytes. Lines of any other distance are dealt into
/// classes that have such strides: line l belongs to class l % classes. Class c begins `lead[c]` numbers early.
inline constexpr int most_classes = 4;

/// The tensor maps of an operand. In a stage it lies as [class][line of the class][pitch].
struct Boxes {
  CUtensorMap map[most_classes];
  int lead[most_classes];
  int classes;
  int pitch;  ///< real numbers from line to line in a stage: the width of a TMA tile
  int lines;  ///< lines of a class in a TMA tile
  int cut;    ///< 0, or TMA tiles start at multiples of it and take only so many numbers; zeros follow (map[1])
  int uncut;  ///< from here on map[0] loads the remainder of a line

  __host__ __device__ int class_numbers() const { return lines * pitch; }
  __host__ __device__ int numbers() const { return classes * lines * pitch; }

  /// Loads numbers `first` and on of lines `line` (a multiple of `classes`) and on. One lane calls this. The barrier
  /// counts numbers() of them. The Boxes must be a parameter of the kernel (__grid_constant__).
  template <class Real>
  __device__ void start(int first, int line, Real* stage, Barrier& full) const {
    if (cut != 0 && first < uncut) {
      tensor_load_piece(stage, map[1], first / cut, line, full);
      return;
    }
    for (int c = 0; c < classes; ++c) {
      tensor_load(stage + c * class_numbers(), map[c], first, line / classes, full);
    }
  }
};

}  // namespace blockvec::kernels::cuda

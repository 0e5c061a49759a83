#pragma once

#include <cuda.h>

#include <cstdint>

#include "src/cuda/ptx/pipeline.cuh"

/// Boxes: pieces of an operand that lies in memory as separate lines - rows of a row-major view, columns of a
/// column-major matrix - fetched by tensor maps. What a box covers beyond the matrix arrives as zero and is not
/// fetched, so that lines can be padded against bank conflicts for nothing, and short last chunks need no care.
namespace blockvec::kernels::cuda {

/// Tensor maps want strides and addresses that are multiples of 16 bytes. Lines of any other distance are dealt into
/// classes that have such strides: line l belongs to class l % classes, and class c begins `lead[c]` numbers early.
inline constexpr int most_classes = 4;

/// An operand as lines of `length` real numbers. In a stage it lies as [class][line of the class][pitch].
struct Boxes {
  CUtensorMap map[most_classes];
  int lead[most_classes];
  int classes;
  int pitch;  ///< real numbers from line to line in a stage, the width of a box
  int lines;  ///< of a class in a box
  int cut;    ///< 0, or boxes start at multiples of it and are zero behind so many numbers of a line (map[1])
  int uncut;  ///< except for the rest of a line from here on (map[0])

  __host__ __device__ int class_numbers() const { return lines * pitch; }
  __host__ __device__ int numbers() const { return classes * lines * pitch; }

#if __CUDA_ARCH__ >= 900
  /// Numbers `first` and on of lines `line` (a multiple of `classes`) and on, by one lane; the barrier counts
  /// numbers() of them. Boxes must be in parameters of the kernel (__grid_constant__).
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
#endif
};

}  // namespace blockvec::kernels::cuda

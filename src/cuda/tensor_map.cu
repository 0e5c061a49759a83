#include <cuda.h>
#include <cuda_runtime.h>

#include <string>
#include <type_traits>

#include "src/cuda/check.cuh"
#include "src/cuda/tensor_map.hpp"

namespace blockvec::kernels::cuda {
namespace {

constexpr int unit_bytes = 16;

/// The driver's encoder, found at run time: nothing links the driver's library.
using Encode = decltype(&cuTensorMapEncodeTiled);
Encode find_encoder(const char* operation) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result),
        operation);
#else
  check(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result), operation);
#endif
  if (result != cudaDriverEntryPointSuccess) {
    throw CudaError(std::string(operation) + ": the driver has no cuTensorMapEncodeTiled");
  }
  return reinterpret_cast<Encode>(found);
}

Encode encoder(const char* operation) {
  static const Encode found = find_encoder(operation);
  return found;
}

}  // namespace

int box_classes(std::int64_t distance, int real_bytes) {
  int classes = 1;
  while (classes * distance * real_bytes % unit_bytes != 0) classes *= 2;
  return classes;
}

template <class Real>
Boxes boxes(const Lines<Real>& lines, int classes, int pitch, int lines_of_class, const char* operation) {
  Boxes made{};
  made.classes = classes;
  made.pitch = pitch;
  made.lines = lines_of_class;
  for (int c = 0; c < classes; ++c) {
    const auto address = reinterpret_cast<std::uintptr_t>(lines.data + c * lines.distance);
    const std::uintptr_t start = address / unit_bytes * unit_bytes;
    made.lead[c] = static_cast<int>((address - start) / sizeof(Real));
    const std::int64_t count = (lines.count - c + classes - 1) / classes;
    if (count <= 0) {  // an empty class; its box is never looked at, but must be one
      made.map[c] = made.map[0];
      continue;
    }
    const cuuint64_t extents[] = {static_cast<cuuint64_t>(made.lead[c] + lines.length), static_cast<cuuint64_t>(count)};
    const cuuint64_t strides[] = {static_cast<cuuint64_t>(classes * lines.distance) * sizeof(Real)};
    const cuuint32_t box[] = {static_cast<cuuint32_t>(pitch), static_cast<cuuint32_t>(lines_of_class)};
    const cuuint32_t steps[] = {1, 1};
    const auto type = std::is_same_v<Real, double> ? CU_TENSOR_MAP_DATA_TYPE_FLOAT64 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    const CUresult result = encoder(operation)(&made.map[c], type, 2, reinterpret_cast<void*>(start), extents, strides,
                                               box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                               CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS) {
      throw CudaError(std::string(operation) + ": cuTensorMapEncodeTiled refused " + std::to_string(extents[0]) +
                      " x " + std::to_string(extents[1]) + " with stride " + std::to_string(strides[0]) +
                      " bytes and boxes of " + std::to_string(pitch) + " x " + std::to_string(lines_of_class) +
                      ": error " + std::to_string(static_cast<int>(result)));
    }
  }
  return made;
}

template Boxes boxes(const Lines<float>&, int, int, int, const char*);
template Boxes boxes(const Lines<double>&, int, int, int, const char*);

}  // namespace blockvec::kernels::cuda

#include <cuda.h>
#include <cuda_runtime.h>

#include <array>
#include <string>
#include <type_traits>

#include "src/cuda/check.cuh"
#include "src/cuda/operands/tensor_map.hpp"

namespace blockvec::kernels::cuda {
namespace {

constexpr int unit_bytes = 16;

/// Finds the driver's encoder at run time, so that nothing links the driver's library.
using Encode = decltype(&cuTensorMapEncodeTiled);
Encode find_encoder(const Product& operation) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result),
        operation);
#else
  check(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result), operation);
#endif
  if (result != cudaDriverEntryPointSuccess) {
    throw CudaError(words(operation) + ": the driver has no cuTensorMapEncodeTiled");
  }
  return reinterpret_cast<Encode>(found);
}

Encode encoder(const Product& operation) {
  static const Encode found = find_encoder(operation);
  return found;
}

/// Encodes a tensor map of `dimensions` dimensions. The first dimension has no gaps.
template <class Real, std::size_t dimensions>
void encode(CUtensorMap& map, const void* start, const std::array<cuuint64_t, dimensions>& extents,
            const std::array<cuuint64_t, dimensions - 1>& stride_bytes, const std::array<cuuint32_t, dimensions>& box,
            const Product& operation) {
  const auto type = std::is_same_v<Real, double> ? CU_TENSOR_MAP_DATA_TYPE_FLOAT64 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  std::array<cuuint32_t, dimensions> steps;
  steps.fill(1);
  const CUresult result =
      encoder(operation)(&map, type, dimensions, const_cast<void*>(start), extents.data(), stride_bytes.data(),
                         box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                         CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result == CUDA_SUCCESS) return;
  std::string tensor;
  for (std::size_t i = 0; i < dimensions; ++i) {
    tensor += (i > 0 ? " x " : " ") + std::to_string(extents[i]) + " in boxes of " + std::to_string(box[i]);
    if (i > 0) tensor += " with stride " + std::to_string(stride_bytes[i - 1]);
  }
  throw CudaError(words(operation) + ": cuTensorMapEncodeTiled refused" + tensor + ": error " +
                  std::to_string(static_cast<int>(result)));
}

}  // namespace

template <class Real>
Boxes boxes(const Lines<Real>& lines, int classes, int pitch, int lines_of_class, const Product& operation) {
  Boxes made{};
  made.classes = classes;
  made.pitch = pitch;
  made.lines = lines_of_class;
  for (int c = 0; c < classes; ++c) {
    const auto address = reinterpret_cast<std::uintptr_t>(lines.data + c * lines.distance);
    const std::uintptr_t start = address / unit_bytes * unit_bytes;
    made.lead[c] = static_cast<int>((address - start) / sizeof(Real));
    const std::int64_t count = (lines.count - c + classes - 1) / classes;
    if (count <= 0) {  // an empty class: its map is never used, but must be valid
      made.map[c] = made.map[0];
      continue;
    }
    encode<Real, 2>(made.map[c], reinterpret_cast<const void*>(start),
                    {static_cast<cuuint64_t>(made.lead[c] + lines.length), static_cast<cuuint64_t>(count)},
                    {static_cast<cuuint64_t>(classes * lines.distance) * sizeof(Real)},
                    {static_cast<cuuint32_t>(pitch), static_cast<cuuint32_t>(lines_of_class)}, operation);
  }
  return made;
}

template <class Real>
Boxes cut_boxes(const Lines<Real>& lines, int cut, int pitch, int lines_of_box, const Product& operation) {
  Boxes made = boxes(lines, 1, pitch, lines_of_box, operation);
  made.cut = cut;
  made.uncut = static_cast<int>(lines.length / cut * cut);
  encode<Real, 3>(
      made.map[1], lines.data,
      {static_cast<cuuint64_t>(cut), static_cast<cuuint64_t>(lines.length / cut), static_cast<cuuint64_t>(lines.count)},
      {static_cast<cuuint64_t>(cut) * sizeof(Real), static_cast<cuuint64_t>(lines.distance) * sizeof(Real)},
      {static_cast<cuuint32_t>(pitch), 1, static_cast<cuuint32_t>(lines_of_box)}, operation);
  return made;
}

template Boxes boxes(const Lines<float>&, int, int, int, const Product&);
template Boxes boxes(const Lines<double>&, int, int, int, const Product&);
template Boxes cut_boxes(const Lines<float>&, int, int, int, const Product&);
template Boxes cut_boxes(const Lines<double>&, int, int, int, const Product&);

}  // namespace blockvec::kernels::cuda

#include <cuda.h>
#include <cuda_runtime.h>

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>

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

/// All that enters the encoding of a tensor map. The first dimension has no gaps. The third one may be missing.
struct Tensor {
  int real_bytes;
  std::size_t dimensions;
  std::uintptr_t start;
  std::array<std::int64_t, 3> extents;
  std::array<std::int64_t, 2> stride_bytes;
  std::array<int, 3> box;
  bool swizzled = false;  ///< 16-byte units change places within 128 bytes, and the cache reads 256 bytes at a time

  auto operator<=>(const Tensor&) const = default;
};

CUtensorMap encode(const Tensor& tensor, const Product& operation) {
  static const Encode encoder = find_encoder(operation);
  const auto& [real_bytes, dimensions, start, extents, stride_bytes, box, swizzled] = tensor;
  constexpr cuuint32_t steps[] = {1, 1, 1};
  CUtensorMap map{};
  const CUresult result = encoder(
      &map, real_bytes == 8 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT64 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
      static_cast<cuuint32_t>(dimensions), reinterpret_cast<void*>(start),
      reinterpret_cast<const cuuint64_t*>(extents.data()), reinterpret_cast<const cuuint64_t*>(stride_bytes.data()),
      reinterpret_cast<const cuuint32_t*>(box.data()), steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      swizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
      swizzled ? CU_TENSOR_MAP_L2_PROMOTION_L2_256B : CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result == CUDA_SUCCESS) return map;
  std::string text;
  for (std::size_t i = 0; i < dimensions; ++i) {
    text += (i > 0 ? " x " : " ") + std::to_string(extents[i]) + " in boxes of " + std::to_string(box[i]);
    if (i > 0) text += " with stride " + std::to_string(stride_bytes[i - 1]);
  }
  throw CudaError(words(operation) + ": cuTensorMapEncodeTiled refused" + text + ": error " +
                  std::to_string(static_cast<int>(result)));
}

/// Returns the tensor map. A map depends on nothing but these values, so it stays right when memory is freed and taken
/// again. A solver's calls repeat, so each thread keeps its last maps.
CUtensorMap tensor_map(const Tensor& tensor, const Product& operation) {
  constexpr std::size_t most = 256;
  thread_local std::map<Tensor, CUtensorMap> last;
  if (const auto known = last.find(tensor); known != last.end()) return known->second;
  const CUtensorMap map = encode(tensor, operation);
  if (last.size() == most) last.clear();
  last.emplace(tensor, map);
  return map;
}

}  // namespace

template <class Real>
Boxes boxes(const Lines<Real>& lines, int classes, int pitch, int lines_of_class, const Product& operation) {
  constexpr int real_bytes = sizeof(Real);
  Boxes made{};
  made.classes = classes;
  made.pitch = pitch;
  made.lines = lines_of_class;
  for (int c = 0; c < classes; ++c) {
    const auto address = reinterpret_cast<std::uintptr_t>(lines.data + c * lines.distance);
    const std::uintptr_t start = address / unit_bytes * unit_bytes;
    made.lead[c] = static_cast<int>((address - start) / real_bytes);
    const std::int64_t count = (lines.count - c + classes - 1) / classes;
    if (count <= 0) {  // an empty class: its map is never used, but must be valid
      made.map[c] = made.map[0];
      continue;
    }
    made.map[c] = tensor_map({real_bytes,
                              2,
                              start,
                              {made.lead[c] + lines.length, count},
                              {classes * lines.distance * real_bytes},
                              {pitch, lines_of_class}},
                             operation);
  }
  return made;
}

template <class Real>
Boxes cut_boxes(const Lines<Real>& lines, int cut, int pitch, int lines_of_box, const Product& operation) {
  Boxes made = boxes(lines, 1, pitch, lines_of_box, operation);
  made.cut = cut;
  made.uncut = static_cast<int>(lines.length / cut * cut);
  constexpr int real_bytes = sizeof(Real);
  made.map[1] = tensor_map({real_bytes,
                            3,
                            reinterpret_cast<std::uintptr_t>(lines.data),
                            {cut, lines.length / cut, lines.count},
                            {std::int64_t{cut} * real_bytes, lines.distance * real_bytes},
                            {pitch, 1, lines_of_box}},
                           operation);
  return made;
}

template <class Real>
CUtensorMap piece_map(const Lines<Real>& lines, int lines_of_piece, const Product& operation) {
  constexpr int real_bytes = sizeof(Real);
  return tensor_map({real_bytes,
                     2,
                     reinterpret_cast<std::uintptr_t>(lines.data),
                     {lines.length, lines.count},
                     {lines.distance * real_bytes},
                     {128 / real_bytes, lines_of_piece},
                     true},
                    operation);
}

template CUtensorMap piece_map(const Lines<float>&, int, const Product&);
template CUtensorMap piece_map(const Lines<double>&, int, const Product&);
template Boxes boxes(const Lines<float>&, int, int, int, const Product&);
template Boxes boxes(const Lines<double>&, int, int, int, const Product&);
template Boxes cut_boxes(const Lines<float>&, int, int, int, const Product&);
template Boxes cut_boxes(const Lines<double>&, int, int, int, const Product&);

}  // namespace blockvec::kernels::cuda

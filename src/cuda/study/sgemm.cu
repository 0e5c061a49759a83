#include <cstddef>
#include <stdexcept>
#include <utility>

#include "src/cuda/study/sgemm.cuh"

namespace blockvec::kernels::cuda::study {
namespace {

void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(std::string("sgemm: ") + cudaGetErrorString(error));
}

template <int stages, bool wide, bool ahead, bool narrow_barriers>
void launch(Order order, const SgemmArguments& p, cudaStream_t stream) {
  const auto kernel = sgemm_kernel<stages, wide, ahead, narrow_barriers>;
  constexpr int bytes = stages * static_cast<int>(sizeof(SgemmStage));
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const int rows = (p.m + tile_m - 1) / tile_m, columns = (p.n + tile_n - 1) / tile_n;
  kernel<<<static_cast<unsigned>(rows * columns), sgemm_threads, bytes, stream>>>(p, order, rows, columns);
  check(cudaGetLastError());
}

bool is_aligned(const void* data, std::int64_t ld) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && ld % piece == 0;
}

}  // namespace

std::string name_of(const SgemmParts& parts) {
  if (parts == SgemmParts{}) return "all";
  if (!parts.wide) return "4 bytes";
  if (!parts.ahead) return "not ahead";
  if (!parts.narrow_barriers) return "whole barriers";
  return "stages " + std::to_string(parts.stages);
}

void sgemm(const SgemmParts& parts, Order order, const SgemmArguments& arguments, CUstream_st* stream) {
  if (arguments.m == 0 || arguments.n == 0) return;
  SgemmParts possible = parts;
  if (!is_aligned(arguments.a, arguments.lda) || !is_aligned(arguments.c, arguments.ldc)) possible = {.wide = false};
  bool found = false;
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (
        [&] {
          constexpr SgemmParts these = sgemm_parts[i];
          if (!(these == possible)) return;
          launch<these.stages, these.wide, these.ahead, these.narrow_barriers>(order, arguments, stream);
          found = true;
        }(),
        ...);
  }
  (std::make_index_sequence<sgemm_parts.size()>{});
  if (!found) throw std::invalid_argument("sgemm: these parts are not compiled");
}

}  // namespace blockvec::kernels::cuda::study

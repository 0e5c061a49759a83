#pragma once

#include <cuda_runtime.h>

#include <blockvec/kernels/cuda.hpp>
#include <cstdint>
#include <string>

namespace blockvec::kernels::cuda {

/// Throws CudaError naming the operation (and its shape) if a CUDA call failed.
inline void check(cudaError_t error, const std::string& operation) {
  if (error == cudaSuccess) return;
  throw CudaError(operation + ": " + cudaGetErrorName(error) + ", " + cudaGetErrorString(error));
}

inline std::string shape_of(const char* product, std::int64_t k, std::int64_t m, std::int64_t n) {
  return std::string(product) + " with K = " + std::to_string(k) + ", M = " + std::to_string(m) +
         ", N = " + std::to_string(n);
}

/// Launches a kernel with any amount of shared memory.
template <class... Arguments>
void launch(void (*kernel)(Arguments...), dim3 grid, int threads, int shared_bytes, cudaStream_t stream,
            const std::string& operation, Arguments... arguments) {
  if (shared_bytes > 48 * 1024) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes), operation);
  }
  void* pointers[] = {&arguments...};
  check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, dim3(static_cast<unsigned>(threads)), pointers,
                         static_cast<std::size_t>(shared_bytes), stream),
        operation);
}

/// The first aligned place of a workspace.
template <class T>
T* workspace_start(const CudaExecution& execution) {
  const auto start = reinterpret_cast<std::uintptr_t>(execution.workspace.data());
  return reinterpret_cast<T*>((start + 15) / 16 * 16);
}

}  // namespace blockvec::kernels::cuda

// What a cuBLAS user has - pointers to device memory, leading dimensions, a stream - and C = V^T W from them.
#include <cuda_runtime.h>

#include <blockvec/kernels/cuda.hpp>
#include <cstdint>
#include <cstdio>
#include <vector>

int main() {
  using namespace blockvec::kernels;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("no CUDA device");
    return 77;
  }
  const std::int64_t k = 1'000'000, m = 5, n = 3, ld = k + 8;  // by columns, as BLAS has it
  std::vector<double> host(static_cast<std::size_t>(ld * (m + n)), 1.0), result(static_cast<std::size_t>(m * n));
  double *v = nullptr, *w = nullptr, *c = nullptr;
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  cudaMalloc(reinterpret_cast<void**>(&v), host.size() * sizeof(double));
  cudaMalloc(reinterpret_cast<void**>(&c), result.size() * sizeof(double));
  cudaMemcpy(v, host.data(), host.size() * sizeof(double), cudaMemcpyHostToDevice);
  w = v + ld * m;

  const std::size_t bytes = cuda_tsmttsm_workspace<double>(k, m, n);
  std::byte* workspace = nullptr;
  cudaMalloc(reinterpret_cast<void**>(&workspace), bytes);
  tsmttsm(Op::transpose, 1.0, {v, k, m, ld, Layout::column_major}, {w, k, n, ld, Layout::column_major}, 0.0,
          Matrix<double>{c, m, n, m, Layout::column_major}, CudaExecution{stream, {workspace, bytes}});

  cudaMemcpyAsync(result.data(), c, result.size() * sizeof(double), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  std::printf("C(0, 0) = %g, C(%lld, %lld) = %g\n", result.front(), static_cast<long long>(m - 1),
              static_cast<long long>(n - 1), result.back());
  for (void* memory : {static_cast<void*>(v), static_cast<void*>(c), static_cast<void*>(workspace)}) cudaFree(memory);
  cudaStreamDestroy(stream);
  return result.front() == static_cast<double>(k) && result.back() == static_cast<double>(k) ? 0 : 1;
}

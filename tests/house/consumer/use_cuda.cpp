// What a cuBLAS user has - pointers to device memory, leading dimensions, a stream - and C = V^T W from them.
#include <cuda_runtime.h>

#include <blockvec/kernels/cuda.hpp>
#include <cstdint>
#include <cstdio>
#include <vector>

int main() try {
  using namespace blockvec::kernels;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("no CUDA device");
    return 77;
  }
  const std::int64_t k = 1'000'000, m = 5, n = 3, ld = k + 8;  // by columns, as BLAS has it
  std::vector<double> host(ld * (m + n)), result(m * n);
  for (std::int64_t i = 0; i < ld * (m + n); ++i) host[i] = 1 + i / ld;  // columns of 1, 2, ..., so that C is exact
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
  const Matrix<const double> a{v, k, m, ld, Layout::column_major}, b{w, k, n, ld, Layout::column_major};
  const Matrix<double> product{c, m, n, m, Layout::column_major};
  const CudaExecution execution{stream, {workspace, bytes}};
  tsmttsm(Op::transpose, 1.0, a, b, 0.0, product, execution);
  std::puts(explain_cuda_tsmttsm(Op::transpose, 1.0, a, b, 0.0, product, execution).text().c_str());

  cudaMemcpyAsync(result.data(), c, result.size() * sizeof(double), cudaMemcpyDeviceToHost, stream);
  int wrong = cudaStreamSynchronize(stream) == cudaSuccess ? 0 : 1;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) wrong += result[i + j * m] != static_cast<double>(k * (1 + i) * (1 + m + j));
  }
  std::printf("C(0, 0) = %.0f, C(4, 2) = %.0f, %d entries are wrong\n", result.front(), result.back(), wrong);
  for (void* memory : {static_cast<void*>(v), static_cast<void*>(c), static_cast<void*>(workspace)}) cudaFree(memory);
  cudaStreamDestroy(stream);
  return wrong == 0 ? 0 : 1;
} catch (const blockvec::Error& error) {
  std::puts(error.what());
  return 1;
}

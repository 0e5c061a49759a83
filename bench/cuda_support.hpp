#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/settings.hpp"
#include "bench/verdict.hpp"

/// What programs that measure on a device share: memory, time, and cuBLAS by one name for its four types.
namespace bench {

inline void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}
inline void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
}

struct Buffer {
  explicit Buffer(std::size_t size) : bytes(size) { check(cudaMalloc(&data, size)); }
  ~Buffer() { cudaFree(data); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data = nullptr;
  std::size_t bytes;
};

class Event {
 public:
  Event() { check(cudaEventCreate(&event_)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream)); }
  double seconds_since(const Event& start) {
    check(cudaEventSynchronize(event_));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start.event_, event_));
    return milliseconds * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }  // NOLINT(google-explicit-constructor)

 private:
  cudaStream_t stream_ = nullptr;
};

/// Seconds of one call, `call(i)` for i = 0, 1, ...
template <class Call>
double seconds_of(cudaStream_t stream, int i, Call&& call) {
  static Event start;
  static Event stop;
  start.record(stream);
  call(i);
  stop.record(stream);
  return stop.seconds_since(start);
}

/// Median of `reps` calls after `warm` others; a call that takes longer than `limit` seconds is the only one. The first
/// one loads the kernel, which takes less than a second.
template <class Call>
double median_seconds(cudaStream_t stream, int warm, int reps, double limit, Call&& call) {
  std::vector<double> seconds;
  for (int i = 0; i < warm + reps; ++i) {
    const double one = seconds_of(stream, i, call);
    if (one > (i == 0 && warm > 0 ? 1 : limit)) return one;
    if (i >= warm) seconds.push_back(one);
  }
  return median(seconds);
}

/// Calls in a CUDA graph, `call(i)` for i = 0, 1, ...: the host launches them all at once.
class Captured {
 public:
  template <class Call>
  Captured(cudaStream_t stream, int calls, Call&& call) : stream_(stream), calls_(calls) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < calls; ++i) call(i);
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&ready_, graph, 0));
    cudaGraphDestroy(graph);
  }
  ~Captured() { cudaGraphExecDestroy(ready_); }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  void launch() const { check(cudaGraphLaunch(ready_, stream_)); }
  /// Of one of the calls.
  double seconds() const {
    return seconds_of(stream_, 0, [&](int) { launch(); }) / calls_;
  }

 private:
  cudaStream_t stream_;
  int calls_;
  cudaGraphExec_t ready_ = nullptr;
};

/// Median seconds of one of `calls` calls in a CUDA graph, `call(i)`; `before` runs ahead of each launch, untimed.
template <class Call, class Before>
double seconds_in_graph(cudaStream_t stream, int calls, int reps, Before&& before, Call&& call) {
  const Captured graph(stream, calls, call);
  std::vector<double> seconds;
  for (int i = 0; i < reps + 2; ++i) {
    before();
    const double one = graph.seconds();
    if (i >= 2) seconds.push_back(one);
  }
  return median(seconds);
}

/// What stands between separators.
inline std::vector<std::string> split(const std::string& list, char separator) {
  std::vector<std::string> items;
  std::stringstream stream(list);
  for (std::string item; std::getline(stream, item, separator);) items.push_back(item);
  return items;
}

/// The numbers in a list of settings.
inline std::vector<int> numbers(const std::string& list) {
  std::vector<int> values;
  for (const std::string& item : split(list, ';')) values.push_back(std::stoi(item));
  return values;
}

/// Where the operands of call number `turn` begin: small ones move on, so that the cache does not hold them.
template <class T>
T* place(const Buffer& buffer, std::size_t bytes, int turn) {
  const std::size_t step = (bytes + 4095) / 4096 * 4096;
  const std::size_t places = std::max<std::size_t>(1, buffer.bytes / step);
  return reinterpret_cast<T*>(static_cast<char*>(buffer.data) + static_cast<std::size_t>(turn) % places * step);
}

/// cuBLAS on a stream, with a workspace of its own, so that graphs can capture its calls.
class Cublas {
 public:
  explicit Cublas(cudaStream_t stream) : workspace_(std::size_t{64} << 20) {
    check(cublasCreate(&handle_));
    check(cublasSetStream(handle_, stream));
    check(cublasSetWorkspace(handle_, workspace_.data, workspace_.bytes));
  }
  ~Cublas() { cublasDestroy(handle_); }
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;
  operator cublasHandle_t() const { return handle_; }  // NOLINT(google-explicit-constructor)

 private:
  Buffer workspace_;
  cublasHandle_t handle_ = nullptr;
};

// clang-format off
inline void gemm(cublasHandle_t h, cublasOperation_t x, cublasOperation_t y, int m, int n, int k, float alpha,
                 const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc) {
  check(cublasSgemm(h, x, y, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc));
}
inline void gemm(cublasHandle_t h, cublasOperation_t x, cublasOperation_t y, int m, int n, int k, double alpha,
                 const double* a, int lda, const double* b, int ldb, double beta, double* c, int ldc) {
  check(cublasDgemm(h, x, y, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc));
}
inline void gemm(cublasHandle_t h, cublasOperation_t x, cublasOperation_t y, int m, int n, int k,
                 std::complex<float> alpha, const std::complex<float>* a, int lda, const std::complex<float>* b,
                 int ldb, std::complex<float> beta, std::complex<float>* c, int ldc) {
  using C = cuComplex;
  check(cublasCgemm(h, x, y, m, n, k, reinterpret_cast<C*>(&alpha), reinterpret_cast<const C*>(a), lda,
                    reinterpret_cast<const C*>(b), ldb, reinterpret_cast<C*>(&beta), reinterpret_cast<C*>(c), ldc));
}
inline void gemm(cublasHandle_t h, cublasOperation_t x, cublasOperation_t y, int m, int n, int k,
                 std::complex<double> alpha, const std::complex<double>* a, int lda, const std::complex<double>* b,
                 int ldb, std::complex<double> beta, std::complex<double>* c, int ldc) {
  using Z = cuDoubleComplex;
  check(cublasZgemm(h, x, y, m, n, k, reinterpret_cast<Z*>(&alpha), reinterpret_cast<const Z*>(a), lda,
                    reinterpret_cast<const Z*>(b), ldb, reinterpret_cast<Z*>(&beta), reinterpret_cast<Z*>(c), ldc));
}
// clang-format on

}  // namespace bench

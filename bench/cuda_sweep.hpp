#pragma once

#include <blockvec/kernels/cuda.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "bench/cuda_support.hpp"
#include "src/cuda/study/kernels.hpp"

/// One device, its operands and its clock: what the studies of cuda_sweep share.
namespace bench {

/// Names and values; others than the known names are refused.
using Settings = std::map<std::string, std::string>;

struct Roofs {
  double read_gbps;
  double copy_gbps;  ///< the better of a copy and a scaling
  double gflops;     ///< FP64 without tensor cores
};

class Sweep {
 public:
  explicit Sweep(const Settings& settings);
  ~Sweep();
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  /// Median seconds of one call, after one that does not count and a pause.
  double median(const std::function<void()>& call);
  /// Seconds of one call where it is one of many in a CUDA graph.
  double in_graph(const std::function<void()>& call);

  const Roofs& roofs() const { return roofs_; }
  /// Machine, versions and roofs, as a comment of a table.
  const std::string& description() const { return description_; }
  bool out_of_time() const;
  bool wants(int width) const { return widths_.empty() || widths_.count(width) != 0; }
  int multiprocessors() const { return multiprocessors_; }
  std::string path(const char* name) const;

  /// Rows that fill the operands.
  std::int64_t rows(char type, int width) const;

  /// C = A^H B, or B = A C, on the first two operands by the library or by cuBLAS. C is in result() and small().
  void blockvec_tsmttsm(char type, int width, std::int64_t k);
  void blockvec_tsmm(char type, int width, std::int64_t k, void* b);
  void cublas_tsmttsm(char type, int width, std::int64_t k);
  void cublas_tsmm(char type, int width, std::int64_t k, void* b);

  void launch(const blockvec::kernels::cuda::study::TsmttsmKernel& kernel, std::int64_t k, int blocks);
  void launch(const blockvec::kernels::cuda::study::TsmmKernel& kernel, std::int64_t k, int blocks);

  void* first() const { return first_.data; }
  void* second() const { return second_.data; }
  void* third() const { return third_.data; }
  void* result() const { return result_.data; }
  double* sink() const { return static_cast<double*>(sink_.data); }
  std::size_t bytes() const { return bytes_; }
  cudaStream_t stream() const { return stream_; }

 private:
  void measure_roofs();
  void describe(const std::string& commit);
  template <class T>
  void blockvec_tsmttsm(int width, std::int64_t k);
  template <class T>
  void blockvec_tsmm(int width, std::int64_t k, void* b);
  template <class T>
  void cublas_tsmttsm(int width, std::int64_t k);
  template <class T>
  void cublas_tsmm(int width, std::int64_t k, void* b);

  std::size_t bytes_;
  int reps_;
  int pause_;
  double seconds_;
  std::string folder_;
  std::set<int> widths_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  Buffer first_, second_, third_, workspace_, small_, result_, sink_;
  std::string host_small_;  ///< what small() holds, for kernels that take it by value
  cudaStream_t stream_ = nullptr;
  cublasHandle_t cublas_ = nullptr;
  int multiprocessors_ = 0;
  Roofs roofs_{};
  std::string description_;
};

/// What a kernel takes of a multiprocessor.
struct Resources {
  int registers;
  std::size_t local_bytes;
  int blocks;  ///< that fit at a time
};
Resources resources_of(const void* function, int threads, std::size_t dynamic_bytes);
std::size_t dynamic_bytes(const blockvec::kernels::cuda::study::TsmmKernel& kernel);

/// printf into a string.
template <class... Arguments>
std::string format(const char* pattern, Arguments... arguments) {
  char text[512];
  const int length = std::snprintf(text, sizeof text, pattern, arguments...);
  return {text, static_cast<std::size_t>(length)};
}

/// The studies: each continues its table. They return how many results were wrong.
int study_widths_tsmttsm(Sweep& sweep);
int study_widths_tsmm(Sweep& sweep);
int study_reduction(Sweep& sweep);
int study_occupancy(Sweep& sweep);
int study_bandwidth(Sweep& sweep);
int study_arithmetic(Sweep& sweep);

}  // namespace bench

#pragma once

#include <map>
#include <string>

#include "bench/cuda_plans.hpp"
#include "bench/cuda_support.hpp"

/// Measurements of products on the current device, beside its memory's roofs and cuBLAS.
namespace bench {

struct VersusSettings {
  std::size_t bytes;  ///< of an operand
  int reps;
  int pause;  ///< ms before a case, and before cuBLAS's calls
  bool cublas;
};

struct Measured {
  double gbps, roof, cublas;  ///< each of calls of its own after a pause
  double ratio;               ///< to cuBLAS; where that is close, of calls that take turns
  std::string kernel, configuration;
  std::string why;  ///< explain_cuda_*, in one line
};

struct MeasuredShort {
  double us, warm_us;  ///< operands in memory, or in the second-level cache where they fit
  double cublas_us, cublas_warm_us;
  std::string kernel, configuration;
  std::string why;  ///< explain_cuda_*, in one line
};

struct MeasuredLoad {
  double seconds, gbps, last_gbps, roof;
  double bare_gbps;             ///< at 64 columns, the same bytes and products without more (read_and_multiply); else 0
  std::string power_and_clock;  ///< "watts,MHz" halfway through
  std::string kernel, configuration;
  std::string why;  ///< explain_cuda_*, in one line
};

class Versus {
 public:
  explicit Versus(const VersusSettings& settings);
  ~Versus();
  Versus(const Versus&) = delete;
  Versus& operator=(const Versus&) = delete;

  std::size_t bytes() const { return settings_.bytes; }
  /// K of a case whose larger operand has so many bytes.
  std::int64_t rows_of(const Case& c, std::size_t bytes) const;

  Measured measure(const Case& c, std::size_t bytes);
  /// tsmttsm of this width in double precision, many times in a CUDA graph: time of one.
  MeasuredShort measure_short(std::int64_t width, std::int64_t k);
  MeasuredLoad measure_load(const Case& c, double seconds);
  /// Useful GB/s of a kernel that only reads, of every 64-byte piece that tsmttsm's operands touch, a number.
  double measure_pieces(const Case& c);

  /// Lines that begin with #: device, date, versions, clocks, roofs.
  std::string header(const std::string& commit, std::size_t bytes);

 private:
  template <class T>
  Measured measure_type(const Case& c, std::size_t bytes);
  template <class T>
  double pieces_of(const Case& c);
  template <class T>
  struct Operands;
  template <class T>
  Operands<T> operands(const Case& c, std::size_t bytes, int turn) const;
  template <class T>
  void ours(const Case& c, const Operands<T>& x);
  template <class T, class Result>
  void explain(const Case& c, const Operands<T>& x, Result& result);
  template <class T>
  void peer(const Case& c, const Operands<T>& x);
  template <class Call>
  double time(std::size_t bytes, int reps, Call&& call);
  template <class Mine, class Theirs>
  double ratio_in_turns(std::size_t bytes, Mine&& mine, Theirs&& theirs);
  struct Load {
    double seconds, of_call, of_last_call;
    std::string power_and_clock;
  };
  template <class Call>
  Load load(double seconds, Call&& call);
  template <class Call>
  double time_in_graph(bool cold, Call&& call);
  template <class T>
  double roof_of(const Case& c, const Operands<T>& x, std::size_t bytes);
  double read_speed(std::size_t bytes);
  double copy_speed(std::size_t bytes);
  void fill(char type);
  void pause() const;

  VersusSettings settings_;
  Buffer first_, second_, small_, result_, workspace_, ticket_, cublas_workspace_;
  cublasHandle_t cublas_ = nullptr;
  cudaStream_t stream_ = nullptr;
  char filled_ = 0;
  std::map<std::size_t, double> read_, copied_;  ///< best GB/s by bytes
  int read_variant_ = 0;
};

}  // namespace bench

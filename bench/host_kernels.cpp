// Both products on the host against this machine's bandwidth and against OpenBLAS, on the same operands in one run.
//   host_kernels --benchmark_filter='tsmm/double/.*' --benchmark_out=tsmm_double.json
// bench/plot_host_kernels.py makes a table and a picture of such files.
#include <benchmark/benchmark.h>
#include <cblas.h>
#include <omp.h>

#include <algorithm>
#include <blockvec/kernels/explain.hpp>
#include <blockvec/kernels/tall_skinny.hpp>
#include <chrono>
#include <complex>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/roofs.hpp"

namespace {

using namespace blockvec::kernels;

constexpr std::size_t operand_bytes = std::size_t{256} << 20;

struct Machine {
  bench::Memory first{operand_bytes};
  bench::Memory second{operand_bytes};
  bench::Roofs roofs{first, second};
};

const Machine& machine() {
  static const Machine instance;
  return instance;
}

enum class Product { tsmttsm, gram, tsmm };

struct Problem {
  Product product;
  Layout layout;
  std::int64_t m, n, k, lda, ldb;
};

double seconds(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void gemm(CBLAS_ORDER order, bool transpose, int m, int n, int k, const float* a, int lda, const float* b, int ldb,
          float* c, int ldc) {
  cblas_sgemm(order, transpose ? CblasTrans : CblasNoTrans, CblasNoTrans, m, n, k, 1, a, lda, b, ldb, 0, c, ldc);
}
void gemm(CBLAS_ORDER order, bool transpose, int m, int n, int k, const double* a, int lda, const double* b, int ldb,
          double* c, int ldc) {
  cblas_dgemm(order, transpose ? CblasTrans : CblasNoTrans, CblasNoTrans, m, n, k, 1, a, lda, b, ldb, 0, c, ldc);
}
void gemm(CBLAS_ORDER order, bool transpose, int m, int n, int k, const std::complex<float>* a, int lda,
          const std::complex<float>* b, int ldb, std::complex<float>* c, int ldc) {
  const std::complex<float> one = 1;
  const std::complex<float> zero = 0;
  cblas_cgemm(order, transpose ? CblasConjTrans : CblasNoTrans, CblasNoTrans, m, n, k, &one, a, lda, b, ldb, &zero, c,
              ldc);
}
void gemm(CBLAS_ORDER order, bool transpose, int m, int n, int k, const std::complex<double>* a, int lda,
          const std::complex<double>* b, int ldb, std::complex<double>* c, int ldc) {
  const std::complex<double> one = 1;
  const std::complex<double> zero = 0;
  cblas_zgemm(order, transpose ? CblasConjTrans : CblasNoTrans, CblasNoTrans, m, n, k, &one, a, lda, b, ldb, &zero, c,
              ldc);
}

template <class T>
void run(benchmark::State& state, const Problem& p) {
  const bool rows = p.layout == Layout::row_major;
  const Matrix<T> a{machine().first.as<T>(), p.k, p.m, p.lda, p.layout};
  const bool tsmm_runs = p.product == Product::tsmm;
  T* const second = p.product == Product::gram ? a.data : machine().second.as<T>();
  const Matrix<T> b{second, p.k, p.n, p.ldb, p.layout};
  // For tsmm small enough that the bench may run on its own results without overflow.
  std::vector<T> small(static_cast<std::size_t>(p.m * p.n), T(1) / static_cast<T>(static_cast<float>(p.m)));
  const Matrix<T> c{small.data(), p.m, p.n, rows ? p.n : p.m, p.layout};
  const std::size_t needed =
      tsmm_runs ? tsmm_workspace<T>(p.k, p.m, p.n, p.layout) : tsmttsm_workspace<T>(p.k, p.m, p.n, p.layout);
  std::vector<std::byte> workspace(needed);
  const HostExecution execution{0, workspace};

  auto ours = [&] {
    if (tsmm_runs) {
      tsmm<T>(T(1), a, c, T(0), b, Triangle::general, execution);
    } else {
      tsmttsm<T>(Op::conjugate_transpose, T(1), a, b, T(0), c, execution);
    }
  };
  auto blas = [&] {
    const CBLAS_ORDER order = rows ? CblasRowMajor : CblasColMajor;
    const auto i = [](std::int64_t x) { return static_cast<int>(x); };
    if (tsmm_runs) {
      gemm(order, false, i(p.k), i(p.n), i(p.m), a.data, i(p.lda), c.data, i(c.ld), b.data, i(p.ldb));
    } else {
      gemm(order, true, i(p.m), i(p.n), i(p.k), a.data, i(p.lda), b.data, i(p.ldb), c.data, i(c.ld));
    }
  };

  const bench::Roofs& roofs = machine().roofs;
  const bool gaps = rows && p.ldb != p.n;
  // The machine's bandwidth drifts: its sample and ours alternate, and medians are compared.
  std::vector<double> samples;
  std::vector<double> bandwidths;
  ours();
  for (auto _ : state) {
    bandwidths.push_back(!tsmm_runs ? roofs.read() : gaps ? roofs.plain_copy() : roofs.copy());
    samples.push_back(seconds(ours));
    state.SetIterationTime(samples.back());
  }
  const double time = bench::median(samples);
  const double bandwidth = bench::median(bandwidths);
  const double blas_time = std::min(seconds(blas), seconds(blas));

  const double bytes =
      tsmm_runs ? tsmm_bytes<T>(p.k, p.m, p.n) : tsmttsm_bytes<T>(p.k, p.m, p.n, p.product == Product::gram);
  // Gaps below a line of memory are read with the rest; what a row-major row of B leaves of its lines must be kept, so
  // that they are read before they are written.
  const auto run_bytes = [&](std::int64_t width, std::int64_t ld) {
    const std::int64_t spanned = rows && (ld - width) * std::int64_t{sizeof(T)} < 64 ? ld : width;
    return static_cast<double>(sizeof(T)) * static_cast<double>(p.k) * static_cast<double>(spanned);
  };
  const double traffic = run_bytes(p.m, p.lda) + (p.product == Product::gram ? 0 : run_bytes(p.n, p.ldb));
  const double flops = product_flops<T>(p.k, p.m, p.n) / (p.product == Product::gram ? 2 : 1);
  const double arithmetic =
      std::is_same_v<T, float> || std::is_same_v<T, std::complex<float>> ? roofs.fma_float : roofs.fma_double;
  const double memory_seconds = traffic / bandwidth * 1e-9;
  const double arithmetic_seconds = flops / arithmetic * 1e-9;
  state.SetLabel(tsmm_runs ? explain_tsmm<T>(p.k, p.m, p.n, p.layout) : explain_tsmttsm<T>(p.k, p.m, p.n, p.layout));
  state.counters["m"] = static_cast<double>(p.m);
  state.counters["n"] = static_cast<double>(p.n);
  state.counters["k"] = static_cast<double>(p.k);
  state.counters["lda"] = static_cast<double>(p.lda);
  state.counters["GB/s"] = bytes / time * 1e-9;
  state.counters["GFLOP/s"] = flops / time * 1e-9;
  state.counters["roof_GB/s"] = bandwidth;
  state.counters["roof_GFLOP/s"] = arithmetic;
  state.counters["share"] = memory_seconds / time;  // of bandwidth
  state.counters["share_of_binding_roof"] = std::max(memory_seconds, arithmetic_seconds) / time;
  state.counters["openblas_GB/s"] = bytes / blas_time * 1e-9;
  state.counters["ratio"] = blas_time / time;
}

template <class T>
void add(const std::string& type, Product product, Layout layout, std::int64_t m, std::int64_t n, std::int64_t gap) {
  const bool rows = layout == Layout::row_major;
  const auto entries = static_cast<std::int64_t>(operand_bytes / sizeof(T));
  const std::int64_t widest = std::max(m, n) + (rows ? gap : 0);
  // An odd leading dimension of tall columns needs room at their ends.
  const std::int64_t k = std::min<std::int64_t>(entries / widest - (rows ? 0 : gap), 1 << 30) / 2 * 2;
  const Problem problem{product, layout, m, n, k, rows ? m + gap : k + gap, rows ? n + gap : k + gap};
  const std::string name = std::string(product == Product::tsmm   ? "tsmm"
                                       : product == Product::gram ? "gram"
                                                                  : "tsmttsm") +
                           "/" + type + "/" + (rows ? "row" : "column") + "/m:" + std::to_string(m) +
                           "/n:" + std::to_string(n) + (gap != 0 ? "/gap:" + std::to_string(gap) : "");
  benchmark::RegisterBenchmark(name.c_str(), [problem](benchmark::State& state) { run<T>(state, problem); })
      ->UseManualTime()
      ->Iterations(3)
      ->Unit(benchmark::kMillisecond);
}

template <class T>
void add_all(const std::string& type) {
  // Every width up to 32 in double, a choice of them in the other types, and some beyond.
  std::vector<std::int64_t> widths;
  for (std::int64_t w = 1; w <= 32; ++w) {
    if (std::is_same_v<T, double> || w <= 8 || w % 4 == 0 || w % 8 == 1 || w % 8 == 7) widths.push_back(w);
  }
  for (const std::int64_t w : {33, 40, 48, 61, 64}) widths.push_back(w);
  for (const Layout layout : {Layout::row_major, Layout::column_major}) {
    for (const Product product : {Product::tsmttsm, Product::tsmm}) {
      for (const std::int64_t w : widths) add<T>(type, product, layout, w, w, 0);
      // Odd leading dimensions: the least one above the width.
      for (const std::int64_t w : {1, 3, 7, 8, 16, 24, 31, 64}) {
        add<T>(type, product, layout, w, w, w % 2 == 0 || layout == Layout::column_major ? 1 : 2);
      }
      for (const auto& [m, n] : {std::pair{64, 8}, {8, 64}, {512, 32}}) add<T>(type, product, layout, m, n, 0);
    }
    for (const std::int64_t w : {1, 8, 32, 64}) add<T>(type, Product::gram, layout, w, w, 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  openblas_set_num_threads(omp_get_max_threads());
  const bench::Roofs& roofs = machine().roofs;
  benchmark::AddCustomContext("read_GB/s", std::to_string(roofs.first_read));
  benchmark::AddCustomContext("copy_GB/s", std::to_string(roofs.first_copy));
  benchmark::AddCustomContext("plain_copy_GB/s", std::to_string(roofs.first_plain_copy));
  benchmark::AddCustomContext("fma_double_GFLOP/s", std::to_string(roofs.fma_double));
  benchmark::AddCustomContext("fma_float_GFLOP/s", std::to_string(roofs.fma_float));
  benchmark::AddCustomContext("threads", std::to_string(omp_get_max_threads()));
  benchmark::AddCustomContext("openblas_threads", std::to_string(openblas_get_num_threads()));
  benchmark::AddCustomContext("openblas", std::string(openblas_get_config()) + ", " + openblas_get_corename());
  benchmark::AddCustomContext("operands_MiB_each", std::to_string(operand_bytes >> 20));
  add_all<float>("float");
  add_all<double>("double");
  add_all<std::complex<float>>("complex_float");
  add_all<std::complex<double>>("complex_double");
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

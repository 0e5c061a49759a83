// The hierarchical single-precision product of src/cuda/study/sgemm.hpp, with one part after the other taken away,
// beside cuBLAS without tensor cores, on one CUDA device.
//   sgemm out=DIRECTORY sizes=1000;1024;2048;4096;8191;8192;16384 large=32768 reps=5 commit=...
// Writes DIRECTORY/sgemm.csv. C = A B, n x n, column-major. parts: all, or the one that is missing; order: of the
// blocks. All cases of a size take turns, reps times; ms: the median. ratio: GFLOP/s over those of cuBLAS. Sizes of
// `large` have the orders alone, sizes below 4096 only the Hilbert curve. once=1 launches each case once, for
// profilers.
#include "src/cuda/study/sgemm.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/cuda_card.hpp"
#include "bench/cuda_report.hpp"
#include "bench/cuda_roofs.hpp"
#include "bench/cuda_support.hpp"

namespace {

namespace study = blockvec::kernels::cuda::study;
using bench::Buffer;
using bench::check;
using Settings = std::map<std::string, std::string>;
using study::Order;

const char* name_of(Order order) {
  return order == Order::hilbert ? "hilbert" : order == Order::rows ? "rows" : "columns";
}

struct Case {
  std::string name;  ///< parts,order
  std::function<void()> call;
};

class Bench {
 public:
  explicit Bench(const Settings& settings) : settings_(settings), cublas_(stream_) {
    check(cublasSetMathMode(cublas_, CUBLAS_PEDANTIC_MATH));
  }

  std::string header() const {
    int runtime = 0, library = 0;
    check(cudaRuntimeGetVersion(&runtime));
    check(cublasGetVersion(cublas_, &library));
    return "# bench/sgemm on " + bench::state_of_card("name,driver_version,clocks.max.sm,power.limit") +
           ", CUDA runtime " + std::to_string(runtime) + ", cuBLAS " + std::to_string(library) +
           " (pedantic), commit " + settings_.at("commit") + "\n";
  }

  void measure(int n, bool is_large, bench::Report& report) {
    const auto numbers = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    const Buffer a(numbers * 4), b(numbers * 4), c(numbers * 4);
    bench::fill_random(static_cast<float*>(a.data), numbers, 1, stream_);
    bench::fill_random(static_cast<float*>(b.data), numbers, 2, stream_);
    const study::SgemmArguments arguments{.a = static_cast<float*>(a.data),
                                          .lda = n,
                                          .b = static_cast<float*>(b.data),
                                          .ldb = n,
                                          .c = static_cast<float*>(c.data),
                                          .ldc = n,
                                          .m = n,
                                          .n = n,
                                          .k = n};
    std::vector<Case> cases;
    const auto add = [&](const study::SgemmParts& parts, Order order) {
      cases.push_back({study::name_of(parts) + ',' + name_of(order),
                       [this, parts, order, &arguments] { study::sgemm(parts, order, arguments, stream_); }});
    };
    const bool has_parts = !is_large && n % 4 == 0;  // other columns take 4 bytes an access, whatever is asked for
    for (const study::SgemmParts& parts : study::sgemm_parts) {
      if (has_parts || parts == study::SgemmParts{}) add(parts, Order::hilbert);
    }
    if (n >= 4096) {
      add({}, Order::rows);
      add({}, Order::columns);
    }
    cases.push_back({"cublas,", [&] {
                       bench::gemm(cublas_, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, 1.0F, arguments.a, n, arguments.b, n,
                                   0.0F, static_cast<float*>(c.data), n);
                     }});
    const std::vector<double> seconds = medians(n, cases);
    const double flops = 2.0 * n * n * n;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      report.add(std::to_string(n) + ',' + cases[i].name, "%.5f,%.1f,%.4f", 1e3 * seconds[i], 1e-9 * flops / seconds[i],
                 seconds.back() / seconds[i]);
    }
  }

 private:
  /// Of a call of each case, cases in turns; short calls many at a time in a graph.
  std::vector<double> medians(int n, const std::vector<Case>& cases) {
    if (settings_.at("once") == "1") {
      for (const Case& one : cases) one.call();
      check(cudaStreamSynchronize(stream_));
      return std::vector<double>(cases.size(), 1);
    }
    const int calls = n <= 1024 ? 20 : n <= 4096 ? 5 : 1;
    std::vector<std::unique_ptr<bench::Captured>> graphs;
    for (const Case& one : cases) {
      graphs.push_back(std::make_unique<bench::Captured>(stream_, calls, [&](int) { one.call(); }));
    }
    std::vector<std::vector<double>> seconds(cases.size());
    for (int round = 0; round <= std::stoi(settings_.at("reps")); ++round) {
      for (std::size_t i = 0; i < cases.size(); ++i) {
        const double one = graphs[i]->seconds();
        if (round > 0) seconds[i].push_back(one);
      }
    }
    std::vector<double> result;
    for (const std::vector<double>& of : seconds) result.push_back(bench::median(of));
    return result;
  }

  const Settings& settings_;
  bench::Stream stream_;
  bench::Cublas cublas_;
};

void run(const Settings& settings) {
  Bench bench(settings);
  bench::Report report(settings.at("out") + "/sgemm.csv", "n,parts,order,ms,gflops,ratio",
                       [&] { return bench.header(); });
  for (const int n : bench::numbers(settings.at("sizes"))) bench.measure(n, false, report);
  for (const int n : bench::numbers(settings.at("large"))) bench.measure(n, true, report);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(bench::read_settings(argc, argv,
                             {{"out", "."},
                              {"sizes", "1000;1024;2048;4096;8191;8192;16384"},
                              {"large", "32768"},
                              {"reps", "5"},
                              {"once", "0"},
                              {"commit", "unknown"}}));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sgemm: %s\n", error.what());
    return 2;
  }
}

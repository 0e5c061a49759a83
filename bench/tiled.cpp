// The naive and the tiled product of src/cuda/study/tiled.hpp, beside the hierarchical one of bench/sgemm and cuBLAS
// without tensor cores, in single precision on one CUDA device.
//   tiled out=DIRECTORY sizes=32;256;1024;2048;8192 reps=9 commit=...
// Writes DIRECTORY/tiled.csv. C = A B, n x n, row-major. ms: median time of a call, small ones many at a time in a CUDA
// graph; speedup: over naive. once=1 launches each of the three steps once, for profilers.
#include "src/cuda/study/tiled.hpp"

#include <cstdio>
#include <map>
#include <string>

#include "bench/cuda_card.hpp"
#include "bench/cuda_report.hpp"
#include "bench/cuda_roofs.hpp"
#include "bench/cuda_support.hpp"
#include "src/cuda/study/sgemm.hpp"

namespace {

namespace study = blockvec::kernels::cuda::study;
using bench::Buffer;
using bench::check;
using Settings = std::map<std::string, std::string>;

void run(const Settings& settings) {
  const bench::Stream stream;
  const bench::Cublas cublas(stream);
  check(cublasSetMathMode(cublas, CUBLAS_PEDANTIC_MATH));
  const bool once = settings.at("once") == "1";
  bench::Report report(settings.at("out") + "/tiled.csv", "n,what,ms,gflops,speedup", [&] {
    int runtime = 0, library = 0;
    check(cudaRuntimeGetVersion(&runtime));
    check(cublasGetVersion(cublas, &library));
    return "# bench/tiled on " + bench::state_of_card("name,driver_version") + ", CUDA runtime " +
           std::to_string(runtime) + ", cuBLAS " + std::to_string(library) + " (pedantic), commit " +
           settings.at("commit") + "\n";
  });
  for (const int n : bench::numbers(settings.at("sizes"))) {
    const auto numbers = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    const Buffer a(numbers * 4), b(numbers * 4), c(numbers * 4);
    auto *const of_a = static_cast<float*>(a.data), *const of_b = static_cast<float*>(b.data),
                *const of_c = static_cast<float*>(c.data);
    bench::fill_random(of_a, numbers, 1, stream);
    bench::fill_random(of_b, numbers, 2, stream);
    double naive = 0;
    const auto measure = [&](const std::string& what, auto&& call) {
      double seconds = 1;
      if (once) {
        call(0);
        check(cudaStreamSynchronize(stream));
      } else {
        const int calls = n <= 256 ? 50 : n <= 1024 ? 10 : 1;
        seconds = bench::seconds_in_graph(
            stream, calls, std::stoi(settings.at("reps")), [] {}, call);
      }
      if (naive == 0) naive = seconds;
      report.add(std::to_string(n) + ',' + what, "%.5f,%.1f,%.3f", 1e3 * seconds, 2e-9 * n * n * n / seconds,
                 naive / seconds);
    };
    for (const study::TiledStep step : study::tiled_steps) {
      measure(study::name_of(step), [&](int) { study::tiled(step, {of_a, of_b, of_c, n, n, n}, stream); });
    }
    if (once) continue;
    // Rows of the one are columns of the other: C^T = B^T A^T.
    measure("hierarchical", [&](int) {
      study::sgemm({}, study::Order::hilbert, {of_b, n, of_a, n, of_c, n, n, n, n}, stream);
    });
    measure("cublas", [&](int) {
      bench::gemm(cublas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, 1.0F, of_b, n, of_a, n, 0.0F, of_c, n);
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(bench::read_settings(
        argc, argv,
        {{"out", "."}, {"sizes", "32;256;1024;2048;8192"}, {"reps", "9"}, {"once", "0"}, {"commit", "unknown"}}));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tiled: %s\n", error.what());
    return 2;
  }
}

// TSM2R and TSM2L (Rivera et al. 2021) step by step, beside cuBLAS and this library, on one CUDA device.
//   tsm2 out=DIRECTORY types=S;D products=tsm2r;depths;tsm2l reps=5 seconds=140 commit=...
// Writes DIRECTORY/tsm2.csv. C = A B, column-major, A m x k, B k x n.
// tsm2r: `sizes` m = k, `widths` n. depths: TSM2R with m = 15360, n = 16, `depths` k. tsm2l: `rows` m, k = n of
// `small`. what: V0 to V3 the paper's steps with its model's tiles; best the fastest tiles of V3, t2 = n or n / 2; rows
// and tiles TSM2L's two orders (algorithms 6 and 7), for each tcf; cublas gemm; blockvec kernels::gemm, for tsm2l
// kernels::tsmm. gbps: A, B and C once in the time of a call, in a CUDA graph; share: of roof_gbps, the fastest plain
// read, for tsm2l the speed of scaling a vector. model_share, model_ms: what the paper's model predicts for the tiles of
// V2 and V3, from the memory's nominal speed; grid_share, grid_ms: the same where a multiprocessor has no more threads
// than the grid, one a row, has for it. once=1 launches each case once, for profilers.
#include "src/cuda/study/tsm2.hpp"

#include <algorithm>
#include <blockvec/kernels/cuda.hpp>
#include <blockvec/kernels/dense.hpp>
#include <blockvec/kernels/tall_skinny.hpp>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>

#include "bench/cuda_card.hpp"
#include "bench/cuda_report.hpp"
#include "bench/cuda_roofs.hpp"
#include "bench/cuda_support.hpp"
#include "src/cuda/study/tsm2_model.hpp"

namespace {

using namespace blockvec::kernels;
namespace study = cuda::study;
using bench::Buffer;
using bench::check;
using Settings = std::map<std::string, std::string>;
using study::Tsm2Tiles;

struct Case {
  std::string product;
  int m, k, n;
};

/// The numbers of the current card, at its highest clock. Latencies are the caller's.
study::Tsm2Card card_of(bool is_double, double memory_latency) {
  cudaDeviceProp p{};
  int clock = 0, memory_clock = 0;
  check(cudaGetDeviceProperties(&p, 0));
  check(cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0));
  check(cudaDeviceGetAttribute(&memory_clock, cudaDevAttrMemoryClockRate, 0));
  const double cycles = 1e3 * clock;
  const int lanes = is_double ? 64 : 128;  // multiply-adds a cycle of a multiprocessor of compute capability 9.0
  const double product_cycles = is_double ? 8 : 4;
  return {.multiprocessors = p.multiProcessorCount,
          .bandwidth = 2e3 * memory_clock * p.memoryBusWidth / 8,
          .rate = 2.0 * lanes * cycles * p.multiProcessorCount,
          .memory_latency = memory_latency,
          .product_latency = product_cycles / cycles,
          .most_threads = p.maxThreadsPerMultiProcessor,
          .registers = p.regsPerMultiprocessor,
          .shared_bytes = static_cast<int>(p.sharedMemPerMultiprocessor)};
}

class Bench {
 public:
  Bench(const Settings& settings, std::size_t a_bytes, std::size_t c_bytes)
      : settings_(settings), a_(a_bytes), c_(c_bytes), sink_(1 << 20), cublas_(stream_) {
    constexpr int reads = 4096;
    bench::write_chain(a_.data, a_.bytes, stream_);
    bench::read_all(a_.data, a_.bytes, sink_.data, 0, stream_);  // so that the cache holds the end of the memory alone
    latency_ =
        bench::seconds_of(stream_, 0, [&](int) { bench::follow_chain(a_.data, reads, sink_.data, stream_); }) / reads;
    const std::size_t bytes = std::min<std::size_t>(a_.bytes, std::size_t{4} << 30);
    double best = 1e9;
    for (int variant = 0; variant < bench::read_variants; ++variant) {
      best = std::min(best, bench::median_seconds(stream_, 2, 9, 1, [&](int) {
                        bench::read_all(a_.data, bytes, sink_.data, variant, stream_);
                      }));
    }
    read_roof_ = 1e-9 * static_cast<double>(bytes) / best;
    const std::size_t scaled = std::min(a_.bytes, c_.bytes) / 4096 * 4096;
    best = bench::median_seconds(stream_, 2, 9, 1, [&](int) {
      bench::scale_all(static_cast<double*>(a_.data), static_cast<double*>(c_.data), scaled / sizeof(double), stream_);
    });
    scale_roof_ = 2e-9 * static_cast<double>(scaled) / best;
  }

  std::string header() const {
    int runtime = 0, library = 0;
    check(cudaRuntimeGetVersion(&runtime));
    check(cublasGetVersion(cublas_, &library));
    char text[512];
    const study::Tsm2Card single = card_of(false, latency_), real = card_of(true, latency_);
    std::snprintf(
        text, sizeof text,
        ", CUDA runtime %d, cuBLAS %d, commit %s\n# nominal memory %.1f GB/s, plain read %.1f GB/s, scale %.1f "
        "GB/s, a lone read %.0f ns; t2 threshold %.0f (S), %.0f (D)\n",
        runtime, library, settings_.at("commit").c_str(), 1e-9 * real.bandwidth, read_roof_, scale_roof_,
        1e9 * latency_, study::tsm2_threshold(single, 4), study::tsm2_threshold(real, 8));
    return "# bench/tsm2 on " + bench::state_of_card("name,driver_version") + text;
  }

  template <class T>
  void measure(char type, const Case& c, bench::Report& report) {
    const std::string key =
        c.product + ',' + type + ',' + std::to_string(c.m) + ',' + std::to_string(c.k) + ',' + std::to_string(c.n);
    if (report.has(key + ",cublas")) return;
    const auto rows = static_cast<std::size_t>(c.m), depth = static_cast<std::size_t>(c.k),
               width = static_cast<std::size_t>(c.n);
    const Buffer b(depth * width * sizeof(T));
    bench::fill_random(static_cast<T*>(b.data), depth * width, 2, stream_);
    bench::fill_random(static_cast<T*>(a_.data), a_.bytes / sizeof(T), 3, stream_);
    const Operands<T> of{this, c, static_cast<T*>(b.data), rows * depth * sizeof(T), rows * width * sizeof(T)};

    const study::Tsm2Card card = card_of(sizeof(T) == 8, latency_);
    const study::Tsm2Problem problem{
        .m = static_cast<double>(c.m), .k = static_cast<double>(c.k), .n = c.n, .bytes = sizeof(T)};
    const bool is_small = c.product == "tsm2l";
    const double bytes = static_cast<double>((rows * depth + depth * width + rows * width) * sizeof(T));
    const double roof = is_small ? scale_roof_ : read_roof_;
    const auto add = [&](const std::string& what, const Tsm2Tiles& tiles, std::int64_t tcf, double seconds) {
      const bool is_modelled = !is_small && tiles.t3 > 0;
      const auto paper = is_modelled ? study::predict_tsm2r(card, problem, tiles) : study::Tsm2Prediction{};
      const double threads = static_cast<double>(c.m) / card.multiprocessors;
      const auto grid = is_modelled ? study::predict_tsm2r(card, problem, tiles, threads) : study::Tsm2Prediction{};
      const double gbps = 1e-9 * bytes / seconds;
      report.add(key + ',' + what, "%d,%d,%d,%lld,%.5f,%.1f,%.1f,%.4f,%.3f,%.5f,%.3f,%.5f", tiles.t1, tiles.t2,
                 tiles.t3, static_cast<long long>(tcf), 1e3 * seconds, gbps, roof, gbps / roof, paper.share,
                 1e3 * paper.seconds, grid.share, 1e3 * grid.seconds);
    };

    if (is_small) {
      measure_small(of, add);
    } else {
      measure_steps(of, study::choose_tsm2r(card, problem), add);
    }
    if (settings_.at("once") == "1") return;
    add("cublas", {}, 0, time(of, [&](const auto& p, T*) {
          bench::gemm(cublas_, CUBLAS_OP_N, CUBLAS_OP_N, c.m, c.n, c.k, T(1), p.a, c.m, p.b, c.k, T(0), p.c, c.m);
        }));
    add("blockvec", {}, 0, seconds_of_library(of));
  }

 private:
  template <class T>
  struct Operands {
    const Bench* bench;
    Case c;
    const T* b;
    std::size_t a_bytes, c_bytes;

    study::Tsm2Arguments<T> at(int turn) const {
      return {bench::place<T>(bench->a_, a_bytes, turn),
              c.m,
              b,
              c.k,
              bench::place<T>(bench->c_, c_bytes, turn),
              c.m,
              c.m,
              c.k,
              c.n};
    }
  };

  /// Median seconds of call(operands, C); short calls many at a time, on different places of memory.
  template <class T, class Call>
  double time(const Operands<T>& of, Call&& call) const {
    const auto at = [&](int turn) {
      const study::Tsm2Arguments<T> p = of.at(turn);
      call(p, p.c);
    };
    if (settings_.at("once") == "1") {
      at(0);
      check(cudaStreamSynchronize(stream_));
      return 1;
    }
    const int calls = static_cast<int>(std::clamp<std::size_t>((std::size_t{1} << 30) / of.a_bytes, 1, 200));
    return bench::seconds_in_graph(
        stream_, calls, std::stoi(settings_.at("reps")), [] {}, at);
  }

  template <class T, class Add>
  void measure_steps(const Operands<T>& of, const Tsm2Tiles& tiles, Add&& add) {
    using Step = study::Tsm2rStep;
    const auto step = [&](Step which, const Tsm2Tiles& with) {
      return time(of, [&](const auto& p, T*) { study::tsm2r<T>(which, with, p, stream_); });
    };
    const auto of_step = [&](const char* what, Step which, const Tsm2Tiles& shown) {
      add(what, shown, 0, step(which, tiles));
    };
    of_step("V0", Step::inner, {tiles.t1, 1, 0});
    of_step("V1", Step::outer, {tiles.t1, tiles.t2, 0});
    of_step("V2", Step::shared, tiles);
    of_step("V3", Step::prefetch, tiles);
    if (settings_.at("once") == "1") return;
    std::pair<double, Tsm2Tiles> best{1e9, {}};
    for (const int t1 : study::tsm2_t1) {
      for (const int t2 : study::tsm2_t2) {
        for (const int t3 : study::tsm2_t3) {
          if (t2 > of.c.n || 2 * t2 < of.c.n) continue;
          const Tsm2Tiles with{t1, t2, t3};
          const double seconds = step(Step::prefetch, with);
          if (seconds < best.first) best = {seconds, with};
        }
      }
    }
    add("best", best.second, 0, best.first);
  }

  template <class T, class Add>
  void measure_small(const Operands<T>& of, Add&& add) {
    using Order = study::Tsm2lOrder;
    const Tsm2Tiles tiles{study::tsm2_t1.front(), std::min(of.c.n, study::tsm2_t2.back()),
                          std::min(of.c.k, study::tsm2_t2.back())};
    for (const Order order : {Order::rows_first, Order::tiles_first}) {
      for (const int tcf : bench::numbers(settings_.at("tcf"))) {
        const double seconds = time(of, [&](const auto& p, T*) { study::tsm2l<T>(order, tiles, tcf, p, stream_); });
        add((order == Order::rows_first ? "rows " : "tiles ") + std::to_string(tcf), tiles, tcf, seconds);
      }
    }
  }

  template <class T>
  double seconds_of_library(const Operands<T>& of) {
    const Case& c = of.c;
    const bool is_small = c.product == "tsm2l";
    const Buffer workspace(std::max<std::size_t>(
        16, is_small ? cuda_tsmm_workspace<T>(c.m, c.k, c.n) : cuda_gemm_workspace<T>(c.m, c.k, c.n)));
    const Buffer ticket(sizeof(unsigned));
    check(cudaMemsetAsync(ticket.data, 0, ticket.bytes, stream_));
    CudaExecution execution{stream_, {static_cast<std::byte*>(workspace.data), workspace.bytes}};
    execution.ticket = static_cast<unsigned*>(ticket.data);
    constexpr Layout layout = Layout::column_major;
    return time(of, [&](const auto& p, T* to) {
      const Matrix<const T> a{p.a, c.m, c.k, c.m, layout}, b{p.b, c.k, c.n, c.k, layout};
      const Matrix<T> y{to, c.m, c.n, c.m, layout};
      if (is_small) {
        tsmm<T>(T(1), a, b, T(0), y, Triangle::general, execution);
      } else {
        gemm<T>(T(1), a, b, T(0), y, execution);
      }
    });
  }

  const Settings& settings_;
  bench::Stream stream_;
  Buffer a_, c_, sink_;
  bench::Cublas cublas_;
  double read_roof_ = 0, scale_roof_ = 0, latency_ = 0;
};

std::vector<Case> cases_of(const Settings& settings) {
  const auto list = [&](const char* name) { return bench::numbers(settings.at(name)); };
  std::vector<Case> cases;
  for (const std::string& product : bench::split(settings.at("products"), ';')) {
    if (product == "tsm2r") {
      for (const int m : list("sizes")) {
        for (const int n : list("widths")) cases.push_back({product, m, m, n});
      }
    } else if (product == "depths") {
      for (const int k : list("depths")) cases.push_back({product, 15360, k, 16});
    } else {
      for (const int m : list("rows")) {
        for (const int n : list("small")) cases.push_back({product, m, n, n});
      }
    }
  }
  return cases;
}

void run(const Settings& settings) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Case> cases = cases_of(settings);
  const auto types = bench::split(settings.at("types"), ';');
  const bool is_double = std::find(types.begin(), types.end(), "D") != types.end();
  std::size_t a_bytes = std::size_t{4} << 30, c_bytes = std::size_t{1} << 30;
  for (const Case& c : cases) {
    const std::size_t of_row = static_cast<std::size_t>(c.m) * (is_double ? 8 : 4);
    a_bytes = std::max(a_bytes, of_row * static_cast<std::size_t>(c.k));
    c_bytes = std::max(c_bytes, of_row * static_cast<std::size_t>(c.n));
  }
  Bench bench(settings, a_bytes, c_bytes);
  bench::Report report(
      settings.at("out") + "/tsm2.csv",
      "product,type,m,k,n,what,t1,t2,t3,tcf,ms,gbps,roof_gbps,share,model_share,model_ms,grid_share,grid_ms",
      [&] { return bench.header(); });
  for (const Case& c : cases) {
    for (const std::string& type : types) {
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
      if (elapsed.count() > std::stod(settings.at("seconds"))) return;
      if (type == "S") {
        bench.measure<float>('S', c, report);
      } else {
        bench.measure<double>('D', c, report);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(bench::read_settings(argc, argv,
                             {{"out", "."},
                              {"types", "S;D"},
                              {"products", "tsm2r;depths;tsm2l"},
                              {"sizes", "10240;15360;20480;25600;30720;40960"},
                              {"widths", "2;4;8;16"},
                              {"depths", "15360;7680;3840;1920;960;480;240;120;64;32;16"},
                              {"rows", "10000;100000;1000000;10000000"},
                              {"small", "8;16"},
                              {"tcf", "1;2;4;8;16;32;64"},
                              {"reps", "5"},
                              {"seconds", "140"},
                              {"once", "0"},
                              {"commit", "unknown"}}));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tsm2: %s\n", error.what());
    return 2;
  }
}

// Large dense matrix times block vector on a CUDA device, beside cuBLAS on the same operands in one run.
//   dense_operator out=DIRECTORY types=D;Z;S;C layouts=row;column sizes=4096;8192;16384;40960
//     widths=1;2;3;4;6;8;12;16;24;32;48;64 kinds=gemm;hemm reps=5 seconds=140 cublas=1 commit=...
// Writes DIRECTORY/dense_operator.csv. layout: of A; X and Y are row-major. kind hemm: the lower triangle. gbps: bytes
// of the least traffic (gemm_bytes, hemm_bytes) in the time of a call, in a CUDA graph. roof_gbps: the fastest plain
// read of 4 GiB. share: gbps / roof_gbps. cublas_gbps: these bytes in the shortest time of gemm with X by rows or by
// columns, for one column also gemv, and for hemm also symm or hemm, symv or hemv. ratio: gbps / cublas_gbps. Begins
// no row after `seconds` seconds, and knows the rows that a file has.
#include <algorithm>
#include <blockvec/kernels/dense.hpp>
#include <chrono>
#include <complex>
#include <cstdio>
#include <map>
#include <string>

#include "bench/cuda_card.hpp"
#include "bench/cuda_report.hpp"
#include "bench/cuda_roofs.hpp"
#include "bench/cuda_support.hpp"
#include "bench/settings.hpp"

namespace {

using namespace blockvec::kernels;
using bench::Buffer;
using bench::check;
using Settings = std::map<std::string, std::string>;

/// cuBLAS's functions for gemv, for symm or hemm, and for symv or hemv.
template <class T>
struct Functions;
#define BLOCKVEC_CUBLAS(T, R, C, Gemv, Hemm, Hemv) \
  template <>                                      \
  struct Functions<T> {                            \
    using Real = R;                                \
    using Entry = C;                               \
    static constexpr auto gemv = &Gemv;            \
    static constexpr auto hemm = &Hemm;            \
    static constexpr auto hemv = &Hemv;            \
  };
BLOCKVEC_CUBLAS(float, float, float, cublasSgemv, cublasSsymm, cublasSsymv)
BLOCKVEC_CUBLAS(double, double, double, cublasDgemv, cublasDsymm, cublasDsymv)
BLOCKVEC_CUBLAS(std::complex<float>, float, cuComplex, cublasCgemv, cublasChemm, cublasChemv)
BLOCKVEC_CUBLAS(std::complex<double>, double, cuDoubleComplex, cublasZgemv, cublasZhemm, cublasZhemv)
#undef BLOCKVEC_CUBLAS

/// What a row of the table is about.
struct Case {
  bool by_rows;
  int n, b;
  bool hermitian;
};

class Bench {
 public:
  Bench(const Settings& settings, std::size_t bytes)
      : settings_(settings), a_(bytes), sink_(1 << 20), cublas_(stream_) {
    bench::fill_random(static_cast<double*>(a_.data), a_.bytes / sizeof(double), 1, stream_);
    const std::size_t read = std::min<std::size_t>(a_.bytes, std::size_t{4} << 30);
    double best = 1e9;
    for (int variant = 0; variant < bench::read_variants; ++variant) {
      best = std::min(best, bench::median_seconds(stream_, 2, 9, 1, [&](int) {
                        bench::read_all(a_.data, read, sink_.data, variant, stream_);
                      }));
    }
    roof_ = 1e-9 * static_cast<double>(read) / best;
  }

  template <class T>
  void measure(char type, const Case& c, bench::Report& report) {
    const std::string key = std::string(1, type) + (c.by_rows ? ",row," : ",column,") + std::to_string(c.n) + ',' +
                            std::to_string(c.b) + (c.hermitian ? ",hemm" : ",gemm");
    if (report.has(key)) return;
    const auto n = static_cast<std::size_t>(c.n), b = static_cast<std::size_t>(c.b);
    const Buffer x(n * b * sizeof(T)), y(n * b * sizeof(T));
    using Real = typename Functions<T>::Real;
    bench::fill_random(static_cast<Real*>(x.data), x.bytes / sizeof(Real), 2, stream_);
    if (sizeof(Real) == 4) bench::fill_random(static_cast<float*>(a_.data), n * n * sizeof(T) / 4, 3, stream_);
    const Buffer workspace(std::max<std::size_t>(
        16, c.hermitian ? cuda_hemm_workspace<T>(c.n, c.b) : cuda_gemm_workspace<T>(c.n, c.n, c.b)));
    const CudaExecution execution{stream_, {static_cast<std::byte*>(workspace.data), workspace.bytes}};
    const Layout layout = c.by_rows ? Layout::row_major : Layout::column_major;
    const std::size_t bytes = n * n * sizeof(T);
    const Matrix<const T> of_x{static_cast<T*>(x.data), c.n, c.b, c.b};
    const Matrix<T> of_y{static_cast<T*>(y.data), c.n, c.b, c.b};
    const double seconds = time(c.n, [&](int turn) {
      const Matrix<const T> a{bench::place<T>(a_, bytes, turn), c.n, c.n, c.n, layout};
      if (c.hermitian) {
        hemm<T>(Triangle::lower, T(1), a, of_x, T(0), of_y, execution);
      } else {
        gemm<T>(T(1), a, of_x, T(0), of_y, execution);
      }
    });
    const double peer = settings_.at("cublas") == "1" ? cublas_seconds<T>(c, of_x.data, of_y.data) : 0;
    const double traffic = 1e-9 * (c.hermitian ? hemm_bytes<T>(c.n, c.b) : gemm_bytes<T>(c.n, c.n, c.b));
    report.add(key, "%.1f,%.1f,%.4f,%.1f,%.3f", traffic / seconds, roof_, traffic / seconds / roof_,
               peer > 0 ? traffic / peer : 0, peer / seconds);
  }

 private:
  /// Median seconds of a call; short ones many at a time, on different places of a large matrix's memory.
  template <class Call>
  double time(int n, Call&& call) {
    const int calls = n <= 4096 ? 20 : n <= 8192 ? 8 : n <= 16384 ? 2 : 1;
    return bench::seconds_in_graph(stream_, calls, std::stoi(settings_.at("reps")), [] {}, call);
  }

  template <class T>
  double cublas_seconds(const Case& c, const T* x, T* y) {
    using F = Functions<T>;
    using Entry = typename F::Entry;
    const T one(1), zero(0);
    const auto* const by = reinterpret_cast<const Entry*>(&one);
    const auto* const and_by = reinterpret_cast<const Entry*>(&zero);
    const auto* const of_x = reinterpret_cast<const Entry*>(x);
    auto* const of_y = reinterpret_cast<Entry*>(y);
    const std::size_t bytes = static_cast<std::size_t>(c.n) * static_cast<std::size_t>(c.n) * sizeof(T);
    const auto a = [&](int turn) { return bench::place<T>(a_, bytes, turn); };
    const auto entries = [&](int turn) { return reinterpret_cast<const Entry*>(a(turn)); };
    const int n = c.n, b = c.b;
    double best = 1e9;
    const auto try_call = [&](auto&& call) { best = std::min(best, time(n, call)); };
    const cublasOperation_t op = c.by_rows ? CUBLAS_OP_T : CUBLAS_OP_N, other = c.by_rows ? CUBLAS_OP_N : CUBLAS_OP_T;
    try_call([&](int turn) { bench::gemm(cublas_, op, CUBLAS_OP_N, n, b, n, one, a(turn), n, x, n, zero, y, n); });
    try_call([&](int turn) { bench::gemm(cublas_, CUBLAS_OP_N, other, b, n, n, one, x, b, a(turn), n, zero, y, b); });
    if (b == 1) {
      try_call([&](int turn) { check(F::gemv(cublas_, op, n, n, by, entries(turn), n, of_x, 1, and_by, of_y, 1)); });
    }
    if (!c.hermitian) return best;
    const cublasFillMode_t half = c.by_rows ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
    try_call([&](int turn) {
      check(F::hemm(cublas_, CUBLAS_SIDE_LEFT, half, n, b, by, entries(turn), n, of_x, n, and_by, of_y, n));
    });
    try_call([&](int turn) {
      check(F::hemm(cublas_, CUBLAS_SIDE_RIGHT, half, b, n, by, entries(turn), n, of_x, b, and_by, of_y, b));
    });
    if (b == 1) {
      try_call([&](int turn) { check(F::hemv(cublas_, half, n, by, entries(turn), n, of_x, 1, and_by, of_y, 1)); });
    }
    return best;
  }

  const Settings& settings_;
  bench::Stream stream_;
  Buffer a_, sink_;
  bench::Cublas cublas_;
  double roof_ = 0;
};

void run(const Settings& settings) {
  const auto start = std::chrono::steady_clock::now();
  std::size_t bytes = std::size_t{4} << 30;
  const auto list = [&](const char* name) { return bench::split(settings.at(name), ';'); };
  for (const std::string& type : list("types")) {
    const std::size_t entry = type == "Z" ? 16 : type == "S" ? 4 : 8;
    for (const std::string& n : list("sizes")) bytes = std::max<std::size_t>(bytes, std::stoull(n) * std::stoull(n) * entry);
  }
  Bench bench(settings, bytes);
  bench::Report report(
      settings.at("out") + "/dense_operator.csv", "type,layout,n,b,kind,gbps,roof_gbps,share,cublas_gbps,ratio",
      [&] { return "# " + bench::state_of_card("name,driver_version") + ", commit " + settings.at("commit") + '\n'; });
  for (const std::string& type : list("types")) {
    for (const std::string& kind : list("kinds")) {
      for (const std::string& layout : list("layouts")) {
        for (const std::string& n : list("sizes")) {
          for (const std::string& b : list("widths")) {
            const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
            if (elapsed.count() > std::stod(settings.at("seconds"))) return;
            const Case c{layout == "row", std::stoi(n), std::stoi(b), kind == "hemm"};
            switch (type.at(0)) {
              case 'S': bench.measure<float>('S', c, report); break;
              case 'D': bench.measure<double>('D', c, report); break;
              case 'C': bench.measure<std::complex<float>>('C', c, report); break;
              case 'Z': bench.measure<std::complex<double>>('Z', c, report); break;
              default: throw std::runtime_error("unknown type " + type);
            }
          }
        }
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(bench::read_settings(argc, argv,
                             {{"out", "."},
                              {"types", "D;Z;S;C"},
                              {"layouts", "row;column"},
                              {"sizes", "4096;8192;16384;40960"},
                              {"widths", "1;2;3;4;6;8;12;16;24;32;48;64"},
                              {"kinds", "gemm;hemm"},
                              {"reps", "5"},
                              {"seconds", "140"},
                              {"cublas", "1"},
                              {"commit", "unknown"}}));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dense_operator: %s\n", error.what());
    return 2;
  }
}

// Large dense matrix times block vector on a CUDA device, beside cuBLAS on the same operands in one run.
//   dense_operator out=DIRECTORY types=D;Z;S;C layouts=row;column sizes=4096;8192;16384;40960
//     widths=1;2;3;4;6;8;12;16;24;32;48;64 kinds=gemm;hemm;packed reps=5 seconds=140 cublas=1 commit=...
// Writes DIRECTORY/dense_operator.csv. layout: of A; X and Y are row-major. kind hemm: the lower triangle; packed: the
// same from kernels/packed.hpp, up to 16 real columns. gbps: bytes of the least traffic (gemm_bytes, hemm_bytes) in the
// time of a call, in a CUDA graph. roof_gbps: the fastest plain read of 4 GiB. share: gbps / roof_gbps. cublas_gbps:
// these bytes in the shortest time of gemm with X by rows or by columns, for one column also gemv; for hemm and packed
// also symm or hemm, symv or hemv, spmv or hpmv. 0: not measured, as for a packed A that does not fit in full. ratio:
// gbps / cublas_gbps. Begins no row after `seconds` seconds, and knows the rows that a file has.
#include <algorithm>
#include <blockvec/kernels/dense.hpp>
#include <blockvec/kernels/packed.hpp>
#include <chrono>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <type_traits>

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

/// cuBLAS's functions for gemv, for symm or hemm, for symv or hemv, and for spmv or hpmv.
template <class T>
struct Functions;
#define BLOCKVEC_CUBLAS(T, R, C, Gemv, Hemm, Hemv, Hpmv) \
  template <>                                            \
  struct Functions<T> {                                  \
    using Real = R;                                      \
    using Entry = C;                                     \
    static constexpr auto gemv = &Gemv;                  \
    static constexpr auto hemm = &Hemm;                  \
    static constexpr auto hemv = &Hemv;                  \
    static constexpr auto hpmv = &Hpmv;                  \
  };
BLOCKVEC_CUBLAS(float, float, float, cublasSgemv, cublasSsymm, cublasSsymv, cublasSspmv)
BLOCKVEC_CUBLAS(double, double, double, cublasDgemv, cublasDsymm, cublasDsymv, cublasDspmv)
BLOCKVEC_CUBLAS(std::complex<float>, float, cuComplex, cublasCgemv, cublasChemm, cublasChemv, cublasChpmv)
BLOCKVEC_CUBLAS(std::complex<double>, double, cuDoubleComplex, cublasZgemv, cublasZhemm, cublasZhemv, cublasZhpmv)
#undef BLOCKVEC_CUBLAS

/// What a row of the table is about.
struct Case {
  bool by_rows;
  int n, b;
  std::string kind;

  bool is_packed() const { return kind == "packed"; }
  bool is_hermitian() const { return kind != "gemm"; }
};

template <class T>
std::size_t matrix_bytes(std::int64_t n, bool is_packed) {
  return static_cast<std::size_t>(is_packed ? packed_entries<T>(n) : n * n) * sizeof(T);
}

/// f(T()) for the type with this letter.
template <class F>
auto with_type(const std::string& type, F&& f) {
  switch (type.at(0)) {
    case 'S':
      return f(float());
    case 'D':
      return f(double());
    case 'C':
      return f(std::complex<float>());
    case 'Z':
      return f(std::complex<double>());
    default:
      throw std::runtime_error("unknown type " + type);
  }
}

class Bench {
 public:
  Bench(const Settings& settings, std::size_t bytes)
      : settings_(settings), a_(bytes), sink_(1 << 20), cublas_(stream_) {
    make_numbers_of_a<double>();
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
  void measure(const std::string& type, const Case& c, bench::Report& report) {
    const std::string key =
        type + (c.by_rows ? ",row," : ",column,") + std::to_string(c.n) + ',' + std::to_string(c.b) + ',' + c.kind;
    if (report.has(key)) return;
    const auto n = static_cast<std::size_t>(c.n), b = static_cast<std::size_t>(c.b);
    const Buffer x(n * b * sizeof(T)), y(n * b * sizeof(T));
    using Real = typename Functions<T>::Real;
    bench::fill_random(static_cast<Real*>(x.data), x.bytes / sizeof(Real), 2, stream_);
    make_numbers_of_a<Real>();
    const Buffer workspace(std::max<std::size_t>(
        16, c.is_hermitian() ? cuda_hemm_workspace<T>(c.n, c.b) : cuda_gemm_workspace<T>(c.n, c.n, c.b)));
    const CudaExecution execution{stream_, {static_cast<std::byte*>(workspace.data), workspace.bytes}};
    const Matrix<const T> of_x{static_cast<T*>(x.data), c.n, c.b, c.b};
    const Matrix<T> of_y{static_cast<T*>(y.data), c.n, c.b, c.b};
    const double seconds = time(c.n, [&](int turn) {
      const T* const entries = bench::place<T>(a_, matrix_bytes<T>(c.n, c.is_packed()), turn);
      const Matrix<const T> a{entries, c.n, c.n, c.n, c.by_rows ? Layout::row_major : Layout::column_major};
      if (c.is_packed()) {
        hemm<T>(T(1), PackedHermitian<const T>{entries, c.n}, of_x, T(0), of_y, execution);
      } else if (c.is_hermitian()) {
        hemm<T>(Triangle::lower, T(1), a, of_x, T(0), of_y, execution);
      } else {
        gemm<T>(T(1), a, of_x, T(0), of_y, execution);
      }
    });
    const bool has_peer = settings_.at("cublas") == "1" && matrix_bytes<T>(c.n, false) <= a_.bytes;
    const double peer = has_peer ? cublas_seconds<T>(c, of_x.data, of_y.data) : 0;
    const double traffic = 1e-9 * (c.is_hermitian() ? hemm_bytes<T>(c.n, c.b) : gemm_bytes<T>(c.n, c.n, c.b));
    report.add(key, "%.1f,%.1f,%.4f,%.1f,%.3f", traffic / seconds, roof_, traffic / seconds / roof_,
               peer > 0 ? traffic / peer : 0, peer / seconds);
  }

 private:
  /// Fills A's memory with numbers of a precision, where it holds others.
  template <class Real>
  void make_numbers_of_a() {
    if (real_bytes_ == sizeof(Real)) return;
    real_bytes_ = sizeof(Real);
    bench::fill_random(static_cast<Real*>(a_.data), a_.bytes / sizeof(Real), 3, stream_);
  }

  /// Median seconds of a call; short ones many at a time, on different places of a large matrix's memory.
  template <class Call>
  double time(int n, Call&& call) {
    const int calls = n <= 4096 ? 20 : n <= 8192 ? 8 : n <= 16384 ? 2 : 1;
    return bench::seconds_in_graph(
        stream_, calls, std::stoi(settings_.at("reps")), [] {}, call);
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
    if (!c.is_hermitian()) return best;
    const cublasFillMode_t half = c.by_rows ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
    try_call([&](int turn) {
      check(F::hemm(cublas_, CUBLAS_SIDE_LEFT, half, n, b, by, entries(turn), n, of_x, n, and_by, of_y, n));
    });
    try_call([&](int turn) {
      check(F::hemm(cublas_, CUBLAS_SIDE_RIGHT, half, b, n, by, entries(turn), n, of_x, b, and_by, of_y, b));
    });
    if (b == 1) {
      try_call([&](int turn) { check(F::hemv(cublas_, half, n, by, entries(turn), n, of_x, 1, and_by, of_y, 1)); });
      try_call([&](int turn) { check(F::hpmv(cublas_, half, n, by, entries(turn), of_x, 1, and_by, of_y, 1)); });
    }
    return best;
  }

  const Settings& settings_;
  bench::Stream stream_;
  Buffer a_, sink_;
  bench::Cublas cublas_;
  double roof_ = 0;
  std::size_t real_bytes_ = 0;  ///< of the numbers in A's memory
};

void run(const Settings& settings) {
  const auto start = std::chrono::steady_clock::now();
  const auto list = [&](const char* name) { return bench::split(settings.at(name), ';'); };
  std::size_t bytes = std::size_t{4} << 30;
  for (const std::string& type : list("types")) {
    for (const std::string& n : list("sizes")) {
      for (const std::string& kind : list("kinds")) {
        bytes = std::max(bytes, with_type(type, [&](auto entry) {
                           return matrix_bytes<decltype(entry)>(std::stoll(n), kind == "packed");
                         }));
      }
    }
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
            const Case c{layout == "row", std::stoi(n), std::stoi(b), kind};
            with_type(type, [&](auto entry) {
              using T = decltype(entry);
              constexpr int most = std::is_floating_point_v<T> ? 16 : 8;
              if (!c.is_packed() || (c.by_rows && c.b <= most)) bench.measure<T>(type, c, report);
            });
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
                              {"kinds", "gemm;hemm;packed"},
                              {"reps", "5"},
                              {"seconds", "140"},
                              {"cublas", "1"},
                              {"commit", "unknown"}}));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dense_operator: %s\n", error.what());
    return 2;
  }
}

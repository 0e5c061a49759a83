// What one call of the orthogonaliser costs on a device: a block W beside a basis V of one allocation, against the
// memory traffic of one sweep, (2 m + 3 b) words a row at `floor` bytes/s, and against cuBLAS and cuSOLVER. Their
// counterpart of an easy block is the same sweep: gemm for V^H W and W^H W - S^H S, gemm for W - V S, potrf and trsm.
// That of a hard one is BCGS2 with CholQR: projection by two gemm, then gemm, potrf and trsm, all of it twice.
//   orth_step rows=262144,1048576 shapes=56+8,24+8 methods=pipi+/cholqr2 layouts=row types=D blocks=easy,hard
//   commit=...
// A hard block lies mostly in the range of V: it takes two sweeps, and the floor is (3 m + 5 b) words. waits: how often
// the host waited for the device in a call. launches: kernels of a call that is queued as a whole, those included that
// find that they have nothing to do; 0 for other calls.
#include <cublas_v2.h>
#include <cusolverDn.h>

#include <blockvec/blockvec.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/cuda_support.hpp"

namespace {

using namespace blockvec;
using Settings = std::map<std::string, std::string>;
using Space = Kokkos::CudaSpace;

const Settings defaults{{"rows", "262144,1048576,4194304,16777216"},
                        {"shapes", "56+8,24+8,124+4,48+16,240+16"},
                        {"methods", "pipi+/cholqr2"},
                        {"layouts", "row"},
                        {"types", "D"},
                        {"blocks", "easy,hard"},
                        {"rounds", "15"},
                        {"floor", "4.3e12"},
                        {"commit", "unknown"}};

void check(cusolverStatus_t status) {
  if (status != CUSOLVER_STATUS_SUCCESS) throw std::runtime_error("cuSOLVER error " + std::to_string(status));
}

/// Median wall-clock seconds of a call that begins and ends with an idle device.
template <class Prepare, class Call>
double median_seconds(const Context& context, int rounds, Prepare&& prepare, Call&& call) {
  std::vector<double> seconds;
  for (int i = -2; i < rounds; ++i) {
    prepare();
    context.fence<Space>();
    const auto begin = std::chrono::steady_clock::now();
    call();
    context.fence<Space>();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    if (i >= 0) seconds.push_back(time.count());
  }
  return bench::median(seconds);
}

/// A stream of its own, so that what is ordered on it can be captured.
class Stream {
 public:
  Stream() { bench::check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

  /// The kernels that call() launches.
  template <class Call>
  std::size_t kernels_of(Call&& call) const {
    bench::check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    call();
    cudaGraph_t graph = nullptr;
    bench::check(cudaStreamEndCapture(stream_, &graph));
    std::size_t count = 0;
    bench::check(cudaGraphGetNodes(graph, nullptr, &count));
    std::vector<cudaGraphNode_t> nodes(count);
    bench::check(cudaGraphGetNodes(graph, nodes.data(), &count));
    std::size_t kernels = 0;
    for (const cudaGraphNode_t node : nodes) {
      cudaGraphNodeType type{};
      bench::check(cudaGraphNodeGetType(node, &type));
      if (type == cudaGraphNodeTypeKernel) ++kernels;
    }
    bench::check(cudaGraphDestroy(graph));
    return kernels;
  }

 private:
  cudaStream_t stream_ = nullptr;
};

/// One sweep by the vendor's libraries, row-major double: a row-major matrix is their transposed one.
class Peer {
 public:
  Peer(const Context& context, std::int64_t m, std::int64_t b) : m_(static_cast<int>(m)), b_(static_cast<int>(b)) {
    bench::check(cublasCreate(&blas_));
    check(cusolverDnCreate(&solver_));
    const auto stream = context.execution_space<Space>().cuda_stream();
    bench::check(cublasSetStream(blas_, stream));
    check(cusolverDnSetStream(solver_, stream));
    s_ = Kokkos::View<double*, Space>("s", static_cast<std::size_t>(m * b));
    g_ = Kokkos::View<double*, Space>("g", static_cast<std::size_t>(b * b));
    info_ = Kokkos::View<int*, Space>("info", 1);
    int size = 0;
    check(cusolverDnDpotrf_bufferSize(solver_, CUBLAS_FILL_MODE_LOWER, b_, g_.data(), b_, &size));
    work_ = Kokkos::View<double*, Space>("work", static_cast<std::size_t>(size));
  }
  ~Peer() {
    cublasDestroy(blas_);
    cusolverDnDestroy(solver_);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  void sweep(const double* v, double* w, std::int64_t rows, std::int64_t pitch) {
    const int k = static_cast<int>(rows), ld = static_cast<int>(pitch);
    const auto none = CUBLAS_OP_N, turned = CUBLAS_OP_T;
    bench::gemm(blas_, none, turned, b_, m_, k, 1.0, w, ld, v, ld, 0.0, s_.data(), b_);
    bench::gemm(blas_, none, turned, b_, b_, k, 1.0, w, ld, w, ld, 0.0, g_.data(), b_);
    bench::gemm(blas_, none, turned, b_, b_, m_, -1.0, s_.data(), b_, s_.data(), b_, 1.0, g_.data(), b_);
    bench::gemm(blas_, none, none, b_, k, m_, -1.0, s_.data(), b_, v, ld, 1.0, w, ld);
    divide(w, k, ld);
  }

  void bcgs2(const double* v, double* w, std::int64_t rows, std::int64_t pitch) {
    const int k = static_cast<int>(rows), ld = static_cast<int>(pitch);
    const auto none = CUBLAS_OP_N, turned = CUBLAS_OP_T;
    for (int sweep = 0; sweep < 2; ++sweep) {
      bench::gemm(blas_, none, turned, b_, m_, k, 1.0, w, ld, v, ld, 0.0, s_.data(), b_);
      bench::gemm(blas_, none, none, b_, k, m_, -1.0, s_.data(), b_, v, ld, 1.0, w, ld);
      bench::gemm(blas_, none, turned, b_, b_, k, 1.0, w, ld, w, ld, 0.0, g_.data(), b_);
      divide(w, k, ld);
    }
  }

 private:
  /// W <- W R^-1 with the Cholesky factor of what lies in g.
  void divide(double* w, int k, int ld) {
    check(cusolverDnDpotrf(solver_, CUBLAS_FILL_MODE_LOWER, b_, g_.data(), b_, work_.data(),
                           static_cast<int>(work_.size()), info_.data()));
    const double one = 1;
    bench::check(cublasDtrsm(blas_, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, b_, k,
                             &one, g_.data(), b_, w, ld));
  }

  int m_, b_;
  cublasHandle_t blas_{};
  cusolverDnHandle_t solver_{};
  Kokkos::View<double*, Space> s_, g_, work_;
  Kokkos::View<int*, Space> info_;
};

template <class Scalar, class Layout>
void measure(const Settings& settings, std::int64_t rows, std::int64_t m, std::int64_t b, const std::string& method,
             bool hard) {
  const Stream stream;
  const Context context(Communicator::self(), 0, {.cuda = Kokkos::Cuda(stream.get())});
  const auto distribution = RowDistribution::uniform(rows, context.communicator());
  const BlockVector<Scalar, Layout, Space> basis(context, distribution, m + b, "basis");
  const BlockVector<Scalar, Layout, Space> saved(context, distribution, b, "saved");
  const auto v = basis.columns(0, m), w = basis.columns(m, m + b);
  fill_random(basis, 1);
  orth::Orthogonalizer orthogonalizer(context, orth::parse_options(method));
  if (orthogonalizer.normalize(v).rank < m) throw Error("the basis has dependent columns");
  if (hard) {
    const SmallMatrix<Scalar, Space> c(context, m, b);
    HostMatrix<Scalar> values("c", static_cast<std::size_t>(m), static_cast<std::size_t>(b));
    for (std::int64_t j = 0; j < b; ++j) {
      for (std::int64_t i = 0; i < m; ++i) {
        values(static_cast<std::size_t>(i), static_cast<std::size_t>(j)) =
            Scalar(static_cast<double>((7 * i + 3 * j) % 11 - 5) * std::sqrt(static_cast<double>(rows)));
      }
    }
    c.from_host(values);
    update(Scalar(10), v, c, Scalar(1), w);
  }
  copy(w, saved);
  const int rounds = std::stoi(settings.at("rounds"));
  orth::Result result;
  std::int64_t waits = 0;
  const double seconds = median_seconds(
      context, rounds, [&] { copy(saved, w); },
      [&] {
        const std::int64_t before = context.waits();
        result = orthogonalizer.project_and_normalize(v, w);
        waits = context.waits() - before;
      });
  if (result.rank != b) throw Error("orth_step: " + result.describe());
  copy(saved, w);
  const std::int64_t before = context.waits();
  using Submitted = decltype(orthogonalizer.submit(v, w));
  std::optional<Submitted> submitted(orthogonalizer.submit(v, w));
  const bool is_queued = context.waits() == before;
  submitted->get();
  submitted.reset();  // its memory serves the next one
  std::size_t launches = 0;
  if (is_queued) {
    std::optional<Submitted> captured;  // is not launched, and lives longer than the capture
    launches = stream.kernels_of([&] { captured.emplace(orthogonalizer.submit(v, w)); });
  }
  const double words = static_cast<double>(result.sweeps > 1 ? 3 * m + 5 * b : 2 * m + 3 * b);
  const double floor = words * static_cast<double>(rows) * sizeof(Scalar) / std::stod(settings.at("floor"));
  double peer = 0;
  if constexpr (std::is_same_v<Scalar, double> && std::is_same_v<Layout, RowMajor>) {
    Peer libraries(context, m, b);
    peer = median_seconds(
        context, rounds, [&] { copy(saved, w); },
        [&] {
          hard ? libraries.bcgs2(v.data(), w.data(), rows, basis.ld())
               : libraries.sweep(v.data(), w.data(), rows, basis.ld());
        });
  }
  std::printf("%lld,%lld,%lld,1,%s,%s,%c,%s,%d,%.4f,%.4f,%.3f,%lld,%zu,%s,%.4f,%s\n", static_cast<long long>(rows),
              static_cast<long long>(m), static_cast<long long>(b), method.c_str(),
              std::is_same_v<Layout, RowMajor> ? "row" : "column", sizeof(Scalar) == 16 ? 'Z' : 'D',
              hard ? "hard" : "easy", static_cast<int>(result.sweeps), 1e3 * seconds, 1e3 * floor, seconds / floor,
              static_cast<long long>(waits), launches, peer > 0 ? (hard ? "cublas bcgs2" : "cublas sweep") : "",
              1e3 * peer, settings.at("commit").c_str());
  std::fflush(stdout);
}

using bench::split;

int run(const Settings& settings) {
  std::printf(
      "rows,m,b,ranks,method,layout,type,block,sweeps,ms,floor_ms,ratio_to_floor,waits,launches,peer,peer_ms,commit\n");
  for (const std::string& method : split(settings.at("methods"), ',')) {
    for (const std::string& layout : split(settings.at("layouts"), ',')) {
      for (const std::string& type : split(settings.at("types"), ',')) {
        for (const std::string& shape : split(settings.at("shapes"), ',')) {
          const auto widths = split(shape, '+');
          for (const std::string& rows : split(settings.at("rows"), ',')) {
            for (const std::string& block : split(settings.at("blocks"), ',')) {
              const auto go = [&](auto scalar, auto as) {
                measure<decltype(scalar), decltype(as)>(settings, std::stoll(rows), std::stoll(widths.at(0)),
                                                        std::stoll(widths.at(1)), method, block == "hard");
              };
              const bool row = layout == "row", real = type == "D";
              if (row && real) go(double(), RowMajor());
              if (row && !real) go(Complex<double>(), RowMajor());
              if (!row && real) go(double(), ColumnMajor());
              if (!row && !real) go(Complex<double>(), ColumnMajor());
            }
          }
        }
      }
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Environment environment(argc, argv);
  return Environment::guard([&] { return run(bench::read_settings(argc, argv, defaults)); });
}

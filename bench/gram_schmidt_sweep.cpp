// Sweeps of block Gram-Schmidt by one kernel, beside products that run one after the other, on a CUDA device: W <- (W -
// V S) X and P = [V W]^H W, alone (change, products) and in one pass (both). Rows of V and W without gaps, W apart or
// behind V in one allocation; medians of calls in CUDA graphs:
//   gram_schmidt_sweep rows=1048576,4194304 shapes=56+8,24+8 pieces=1,2 types=D,Z commit=...
// `share`: of the speed at which this device copies; `peer_ms`: the same by tsmttsm, tsmm_inplace and tsmm.
#include <cuda_runtime.h>

#include <blockvec/kernels/cuda.hpp>
#include <complex>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/cuda_card.hpp"
#include "bench/cuda_roofs.hpp"
#include "bench/settings.hpp"
#include "bench/verdict.hpp"

namespace {

using namespace blockvec::kernels;
using bench::Buffer;

constexpr int calls = 4;
constexpr int reps = 9;

struct Mode {
  const char* name;
  bool changes, multiplies;
};
constexpr Mode modes[] = {{"products", false, true}, {"change", true, false}, {"both", true, true}};

/// Bytes per second of a copy, both ways together.
double copy_speed(cudaStream_t stream, const Buffer& memory) {
  const std::size_t half = memory.bytes / 2;
  auto* const from = static_cast<double*>(memory.data);
  const double seconds = bench::seconds_in_graph(
      stream, calls, reps, [] {},
      [&](int) { bench::scale_all(from, from + half / sizeof(double), half / sizeof(double), stream); });
  return 2.0 * static_cast<double>(half) / seconds;
}

template <class T>
Matrix<T> columns(const Matrix<T>& a, std::int64_t first, std::int64_t count) {
  return {a.data + first, a.rows, count, a.ld, a.layout};
}
template <class T>
Matrix<T> rows(const Matrix<T>& a, std::int64_t first, std::int64_t count) {
  return {a.data + first, count, a.columns, a.ld, a.layout};
}

/// pieces = 0: W lies behind V in one allocation.
template <class T>
void measure(const char* type, std::int64_t k, std::int64_t m, std::int64_t b, int pieces, const Buffer& memory,
             double copy, cudaStream_t stream) {
  T* const data = static_cast<T*>(memory.data);
  using Real = decltype(std::real(T{}));
  bench::fill_random(static_cast<Real*>(memory.data), memory.bytes / sizeof(Real), 7, stream);
  std::vector<Matrix<const T>> v;
  std::vector<std::int64_t> widths;
  Matrix<T> w;
  if (pieces == 0) {
    const Matrix<T> all{data, k, m + b, m + b, Layout::row_major};
    v = {columns(all, 0, m)};
    w = columns(all, m, b);
  } else {
    std::int64_t first = 0;
    for (int i = 0; i < pieces; ++i) {
      const std::int64_t width = (m - first) / (pieces - i) / 4 * 4;
      v.push_back({data + first * k, k, width, width, Layout::row_major});
      first += width;
    }
    m = first;
    w = {data + m * k, k, b, b, Layout::row_major};
  }
  for (const auto& piece : v) widths.push_back(piece.columns);
  if (static_cast<std::size_t>(k * (m + b)) * sizeof(T) > memory.bytes) return;
  const auto entries = static_cast<std::size_t>((m + b) * b);
  std::vector<T> factor(entries, T(0));  // W <- W: numbers stay as they are however often it is done
  for (std::int64_t i = 0; i < b; ++i) factor[static_cast<std::size_t>(m + i + i * (m + b))] = T(1);
  const Buffer small(2 * entries * sizeof(T));
  bench::check(cudaMemcpy(small.data, factor.data(), entries * sizeof(T), cudaMemcpyHostToDevice));
  const Matrix<T> c{static_cast<T*>(small.data), m + b, b, m + b, Layout::column_major};
  const Matrix<T> p{c.data + entries, m + b, b, m + b, Layout::column_major};
  const Buffer workspace(std::max({cuda_gram_schmidt_sweep_workspace<T>(k, widths, b),
                                   cuda_tsmttsm_workspace<T>(k, m + b, b), cuda_tsmm_workspace<T>(k, m + b, b)}));
  const Buffer ticket(sizeof(unsigned));
  bench::check(cudaMemset(ticket.data, 0, sizeof(unsigned)));
  CudaExecution execution{stream, {static_cast<std::byte*>(workspace.data), workspace.bytes}};
  execution.ticket = static_cast<unsigned*>(ticket.data);
  const Matrix<T> all{data, k, m + b, m + b, Layout::row_major};
  for (const Mode& mode : modes) {
    const auto sweep = [&](int) {
      gram_schmidt_sweep<T>(v, mode.changes ? c : Matrix<T>{}, w, mode.multiplies ? p : Matrix<T>{}, execution);
    };
    const auto peer = [&](int) {
      if (pieces == 0) {
        if (mode.changes) tsmm_inplace<T>(all, c, Triangle::general, execution, m);
        if (mode.multiplies) tsmttsm<T>(Op::conjugate_transpose, T(1), all, w, T(0), p, execution);
        return;
      }
      std::int64_t first = 0;
      if (mode.changes) {
        for (const auto& piece : v) {
          tsmm<T>(T(1), piece, rows(c, first, piece.columns), T(1), w, Triangle::general, execution);
          first += piece.columns;
        }
        tsmm_inplace<T>(w, rows(c, m, b), Triangle::upper, execution);
      }
      if (!mode.multiplies) return;
      first = 0;
      for (const auto& piece : v) {
        tsmttsm<T>(Op::conjugate_transpose, T(1), piece, w, T(0), rows(p, first, piece.columns), execution);
        first += piece.columns;
      }
      tsmttsm<T>(Op::conjugate_transpose, T(1), w, w, T(0), rows(p, m, b), execution);
    };
    const double seconds = bench::seconds_in_graph(
        stream, calls, reps, [] {}, sweep);
    const double others = bench::seconds_in_graph(
        stream, calls, reps, [] {}, peer);
    const double bytes =
        static_cast<double>(k * (m + (mode.changes ? 2 : 1) * b) * static_cast<std::int64_t>(sizeof(T)));
    std::printf("%lld,%lld,%lld,%d,%s,%s,%.4f,%.0f,%.3f,%.4f\n", static_cast<long long>(k), static_cast<long long>(m),
                static_cast<long long>(b), pieces, mode.name, type, 1e3 * seconds, 1e-9 * bytes / seconds,
                bytes / seconds / copy, 1e3 * others);
    std::fflush(stdout);
  }
}

int run(const std::map<std::string, std::string>& settings) {
  cudaStream_t stream = nullptr;
  bench::check(cudaStreamCreate(&stream));
  const Buffer memory(static_cast<std::size_t>(std::stod(settings.at("gib")) * 1024) << 20);
  const double copy = copy_speed(stream, memory);
  std::printf("# %s, commit %s, copy %.0f GB/s\n", bench::state_of_card("name").c_str(), settings.at("commit").c_str(),
              1e-9 * copy);
  std::printf("rows,m,b,pieces,mode,type,ms,gbps,share,peer_ms\n");
  for (const std::string& type : bench::split(settings.at("types"), ',')) {
    for (const std::string& shape : bench::split(settings.at("shapes"), ',')) {
      const auto widths = bench::split(shape, '+');
      for (const std::string& pieces : bench::split(settings.at("pieces"), ',')) {
        for (const std::string& rows : bench::split(settings.at("rows"), ',')) {
          const auto with = [&]<class T>(T) {
            measure<T>(type.c_str(), std::stoll(rows), std::stoll(widths.at(0)), std::stoll(widths.at(1)),
                       std::stoi(pieces), memory, copy, stream);
          };
          if (type == "S") with(float{});
          if (type == "D") with(double{});
          if (type == "C") with(std::complex<float>{});
          if (type == "Z") with(std::complex<double>{});
        }
      }
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(bench::read_settings(argc, argv,
                                    {{"rows", "262144,1048576,4194304"},
                                     {"shapes", "56+8,24+8,124+4,48+16,240+16"},
                                     {"pieces", "0,1,2"},
                                     {"types", "D,Z"},
                                     {"gib", "10"},
                                     {"commit", "unknown"}}));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

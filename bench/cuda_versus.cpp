#include "bench/cuda_versus.hpp"

#include <algorithm>
#include <blockvec/kernels/cuda.hpp>
#include <blockvec/kernels/tall_skinny.hpp>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <future>
#include <memory>
#include <random>
#include <thread>

#include "bench/cuda_card.hpp"
#include "bench/cuda_roofs.hpp"

namespace bench {
namespace {

using namespace blockvec::kernels;

// Arithmetic that the roofs count with: double precision on tensor cores, a complex product by three real ones; single
// precision by three products of halves of its numbers on tensor cores.
constexpr double double_flops = 66.1e12;
constexpr double single_flops = 165e12;
constexpr double complex_products = 0.75;

constexpr std::size_t most_in_graph = std::size_t{256} << 20;  // bytes of an operand
constexpr int calls_of_graph = 8;
constexpr double slow_call = 0.03;  // seconds: not repeated
constexpr int rounds_of_close_calls = 5;

/// Whether calls of their own, one kind after the other, do not decide who is faster.
bool is_close(double ratio) { return ratio > 0.96 && ratio < 1.05; }

template <class T>
constexpr bool is_complex = !std::is_floating_point_v<T>;

std::size_t size_of(char type) { return type == 'S' ? 4 : type == 'Z' ? 16 : 8; }

// Useful bytes of a row-major view over those of the 64-byte pieces that it touches.
double useful_part(std::int64_t row_bytes, std::int64_t pitch_bytes, std::int64_t offset_bytes) {
  constexpr std::int64_t piece = 64;
  std::int64_t touched = 0;
  std::int64_t last = -1;
  for (std::int64_t row = 0; row < piece; ++row) {  // as many rows as a piece has bytes: all phases
    const std::int64_t begin = offset_bytes + row * pitch_bytes;
    const std::int64_t first = std::max(begin / piece, last + 1);
    last = (begin + row_bytes - 1) / piece;
    touched += last - first + 1;
  }
  return static_cast<double>(row_bytes) / static_cast<double>(touched);
}

/// visit(a number of the type).
template <class Visit>
auto with_type(char type, Visit&& visit) {
  switch (type) {
    case 'S':
      return visit(float{});
    case 'C':
      return visit(std::complex<float>{});
    case 'Z':
      return visit(std::complex<double>{});
    default:
      return visit(double{});
  }
}

template <class T>
Rows rows_of_view(const Matrix<T>& a) {
  const auto bytes = [](std::int64_t numbers) { return sizeof(T) * static_cast<std::size_t>(numbers); };
  return {a.data, static_cast<std::size_t>(a.rows), bytes(a.columns), bytes(a.ld)};
}

}  // namespace

template <class T>
struct Versus::Operands {
  Matrix<T> a, b, c;
};

Versus::Versus(const VersusSettings& settings)
    : settings_(settings),
      first_(settings.bytes + 65536),
      second_(settings.bytes + 65536),
      small_(std::size_t{16} << 20),
      result_(std::size_t{16} << 20),
      workspace_(std::size_t{320} << 20),
      ticket_(sizeof(unsigned)),
      cublas_workspace_(std::size_t{64} << 20) {
  check(cublasCreate(&cublas_));
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  check(cublasSetStream(cublas_, stream_));
  check(cublasSetWorkspace(cublas_, cublas_workspace_.data, cublas_workspace_.bytes));
  check(cudaMemset(ticket_.data, 0, ticket_.bytes));
  fill('D');
  double best = 0;
  int best_variant = 0;
  for (int variant = 0; variant < read_variants; ++variant) {
    read_variant_ = variant;
    pause();
    if (read_speed(settings.bytes) > best) best_variant = variant;
    best = read_[settings.bytes];
  }
  read_variant_ = best_variant;
}

Versus::~Versus() {
  cublasDestroy(cublas_);
  cudaStreamDestroy(stream_);
}

std::int64_t Versus::rows_of(const Case& c, std::size_t bytes) const {
  const auto entries = static_cast<std::int64_t>(bytes / size_of(c.type));
  return c.row_major ? entries / std::max({c.m, c.n, c.ld}) : entries / std::max(c.m, c.n) - c.ld;
}

Measured Versus::measure(const Case& c, std::size_t bytes) {
  return with_type(c.type, [&](auto zero) { return measure_type<decltype(zero)>(c, bytes); });
}

template <class T>
Versus::Operands<T> Versus::operands(const Case& c, std::size_t bytes, int turn) const {
  const std::int64_t k = rows_of(c, bytes);
  const Layout layout = c.row_major ? Layout::row_major : Layout::column_major;
  const std::int64_t ld_a = c.leading_dimension(k);
  const bool alike = c.in_place() || c.product == "gram" || c.m == c.n;
  const std::int64_t ld_b = alike ? ld_a : c.row_major ? c.n : k;
  const bool one = c.product == "gram" || c.in_place();
  const std::int64_t start_b = ld_b == ld_a ? c.offset : 0;
  return {
      {place<T>(first_, bytes, turn) + c.offset, k, c.m, ld_a, layout},
      {one ? place<T>(first_, bytes, turn) + c.offset : place<T>(second_, bytes, turn) + start_b, k, c.n, ld_b, layout},
      {static_cast<T*>(c.reduces() ? result_.data : small_.data), c.m, c.n, c.row_major ? c.n : c.m, layout}};
}

template <class T>
void Versus::ours(const Case& c, const Operands<T>& x) {
  const CudaExecution execution{stream_,
                                {static_cast<std::byte*>(workspace_.data), workspace_.bytes},
                                SinglePrecision::split,
                                static_cast<unsigned*>(ticket_.data)};
  if (c.reduces()) {
    tsmttsm<T>(Op::conjugate_transpose, T(1), x.a, x.b, T(0), x.c, execution);
  } else if (c.in_place()) {
    tsmm_inplace<T>(x.a, x.c, Triangle::general, execution);
  } else {
    tsmm<T>(T(1), x.a, x.c, T(c.adds() ? 1 : 0), x.b, Triangle::general, execution);
  }
}

// Why the call above runs as it does.
template <class T, class Result>
void Versus::explain(const Case& c, const Operands<T>& x, Result& result) {
  CudaExplanation why;
  if (c.reduces()) {
    why = explain_cuda_tsmttsm<T>(Op::conjugate_transpose, T(1), x.a, x.b, T(0), x.c, {});
  } else if (c.in_place()) {
    why = explain_cuda_tsmm_inplace<T>(x.a, x.c, Triangle::general, {});
  } else {
    why = explain_cuda_tsmm<T>(T(1), x.a, x.c, T(c.adds() ? 1 : 0), x.b, Triangle::general, {});
  }
  result.kernel = why.kernel;
  result.configuration = why.configuration;
  result.why = why.text();
}

// cuBLAS's nearest product; in place, one with a result elsewhere. Row-major matrices are the transposes of its own.
template <class T>
void Versus::peer(const Case& c, const Operands<T>& x) {
  const int m = static_cast<int>(c.m);
  const int n = static_cast<int>(c.n);
  const int k = static_cast<int>(x.a.rows);
  const int lda = static_cast<int>(x.a.ld);
  const int ldb = static_cast<int>(x.b.ld);
  const int ldc = static_cast<int>(x.c.ld);
  T* const b = c.in_place() ? static_cast<T*>(second_.data) : x.b.data;
  const T beta(c.adds() ? 1 : 0);
  if (c.reduces() && c.row_major) {
    gemm(cublas_, CUBLAS_OP_N, CUBLAS_OP_C, n, m, k, T(1), b, ldb, x.a.data, lda, T(0), x.c.data, ldc);
  } else if (c.reduces()) {
    gemm(cublas_, CUBLAS_OP_C, CUBLAS_OP_N, m, n, k, T(1), x.a.data, lda, b, ldb, T(0), x.c.data, ldc);
  } else if (c.row_major) {
    gemm(cublas_, CUBLAS_OP_N, CUBLAS_OP_N, n, k, m, T(1), x.c.data, ldc, x.a.data, lda, beta, b, ldb);
  } else {
    gemm(cublas_, CUBLAS_OP_N, CUBLAS_OP_N, k, n, m, T(1), x.a.data, lda, x.c.data, ldc, beta, b, ldb);
  }
}

// GB/s of useful bytes that memory and arithmetic allow.
template <class T>
double Versus::roof_of(const Case& c, const Operands<T>& x, std::size_t bytes) {
  const std::int64_t k = x.a.rows;
  const bool same = c.product == "gram";
  const double useful = c.reduces() ? tsmttsm_bytes<T>(k, c.m, c.n, same) : tsmm_bytes<T>(k, c.m, c.n, c.adds());
  double memory = c.reduces() ? read_speed(same ? bytes : std::min(2 * bytes, settings_.bytes)) : copy_speed(bytes);
  if (c.row_major) {
    const auto width = [](std::int64_t columns) { return static_cast<std::int64_t>(sizeof(T)) * columns; };
    const double a = static_cast<double>(c.m);
    const double b = same ? 0 : static_cast<double>(c.adds() ? 2 * c.n : c.n);
    const double touched_a = a / useful_part(width(c.m), width(x.a.ld), width(c.offset));
    const double touched_b = b / useful_part(width(c.n), width(x.b.ld), width(x.b.ld == x.a.ld ? c.offset : 0));
    memory *= (a + b) / (touched_a + touched_b);
    if (!c.reduces() && c.m == c.n && c.ld > c.m && sizeof(T) % sizeof(double) == 0) {
      // Memory reads what is written in part, and serves single pieces slowly: the roof is a plain copy of the entries.
      const auto copy = [&](int) { copy_rows(rows_of_view(x.a), rows_of_view(x.b), stream_); };
      memory = tsmm_bytes<T>(k, c.m, c.n, false) * 1e-9 / time(bytes, 3, copy);
    }
  }
  const double flops = product_flops<T>(k, c.m, c.n) * (is_complex<T> ? complex_products : 1) * (same ? 0.5 : 1);
  const double peak = c.type == 'D' || c.type == 'Z' ? double_flops : single_flops;
  return std::min(memory, useful / (flops / peak) * 1e-9);
}

template <class T>
Measured Versus::measure_type(const Case& c, std::size_t bytes) {
  fill(c.type);
  const auto all = [&](int turn) { return operands<T>(c, bytes, turn); };
  const Operands<T> x = all(0);
  const std::int64_t k = x.a.rows;
  const double useful =
      c.reduces() ? tsmttsm_bytes<T>(k, c.m, c.n, c.product == "gram") : tsmm_bytes<T>(k, c.m, c.n, c.adds());
  const auto speed = [&](double seconds) { return useful / seconds * 1e-9; };
  Measured result{};
  pause();
  result.roof = roof_of(c, x, bytes);
  const auto mine = [&](int i) { ours(c, all(i)); };
  const double seconds = time(bytes, settings_.reps, mine);
  result.gbps = speed(seconds);
  if (settings_.cublas) {
    const auto theirs = [&](int i) { peer(c, all(i)); };
    pause();
    const double peer_seconds = time(bytes, settings_.reps, theirs);
    result.cublas = speed(peer_seconds);
    result.ratio = peer_seconds / seconds;
    if (is_close(result.ratio)) result.ratio = ratio_in_turns(bytes, mine, theirs);
  }
  if (c.in_place()) filled_ = 0;  // its numbers have become small
  explain(c, x, result);
  return result;
}

// Seconds of a call: of a short one many times in a graph, so that the host does not matter; of a slow one once.
template <class Call>
double Versus::time(std::size_t bytes, int reps, Call&& call) {
  if (bytes > most_in_graph) return median_seconds(stream_, 2, reps, slow_call, call);
  const double once = median_seconds(stream_, 1, 1, slow_call, call);
  return once > 3e-3 ? once
                     : seconds_in_graph(
                           stream_, calls_of_graph, reps, [] {}, call);
}

// Median seconds of theirs over those of ours where both take turns, so that slow spells and the heat of the card meet
// both; what stays close is decided by more of them. One more call of either goes ahead of the one that counts: what
// the cache holds then is its own.
template <class Mine, class Theirs>
double Versus::ratio_in_turns(std::size_t bytes, Mine&& mine, Theirs&& theirs) {
  std::vector<double> ours;
  std::vector<double> peers;
  const auto take_turns = [&](const auto& one, const auto& other) {
    double ratio = 1;
    for (int round = 0; round < rounds_of_close_calls && is_close(ratio); ++round) {
      pause();
      for (int i = 0; i < 2 * settings_.reps; i += 2) {
        one(i);
        ours.push_back(one(i + 1));
        other(i);
        peers.push_back(other(i + 1));
      }
      ratio = median(peers) / median(ours);
    }
    return ratio;
  };
  if (bytes > most_in_graph) {
    return take_turns([&](int i) { return seconds_of(stream_, i, mine); },
                      [&](int i) { return seconds_of(stream_, i, theirs); });
  }
  const Captured own(stream_, calls_of_graph, mine);
  const Captured peer(stream_, calls_of_graph, theirs);
  return take_turns([&](int) { return own.seconds(); }, [&](int) { return peer.seconds(); });
}

// Seconds of one of many calls in a graph; cold: each takes operands that are not in the cache.
template <class Call>
double Versus::time_in_graph(bool cold, Call&& call) {
  const auto flush = [&] {
    if (cold) read_all(second_.data, std::min(settings_.bytes, std::size_t{512} << 20), small_.data, 0, stream_);
  };
  return seconds_in_graph(stream_, 20, settings_.reps, flush, [&](int i) { call(cold ? i : 0); });
}

MeasuredShort Versus::measure_short(std::int64_t width, std::int64_t k) {
  fill('D');
  const Case c{"tsmttsm", 'D', true, width, width};
  const std::size_t bytes = static_cast<std::size_t>(width * k) * sizeof(double);
  const auto mine = [&](int turn) { ours(c, operands<double>(c, bytes, turn)); };
  const auto theirs = [&](int turn) { peer(c, operands<double>(c, bytes, turn)); };
  theirs(0);  // outside of a graph first: libraries load what they need
  mine(0);
  check(cudaStreamSynchronize(stream_));
  pause();
  MeasuredShort result{};
  result.us = 1e6 * time_in_graph(true, mine);
  result.warm_us = 1e6 * time_in_graph(false, mine);
  result.cublas_us = 1e6 * time_in_graph(true, theirs);
  result.cublas_warm_us = 1e6 * time_in_graph(false, theirs);
  const Operands<double> x = operands<double>(c, bytes, 0);
  explain(c, x, result);
  return result;
}

// Unbroken load for so many seconds, in graphs of a quarter of one: the next ones wait in the queue while one runs,
// whatever the host does meanwhile.
template <class Call>
Versus::Load Versus::load(double seconds, Call&& call) {
  const double guess = median_seconds(stream_, 1, 1, 1, call);
  const int batch = std::max(1, static_cast<int>(0.25 / guess));
  const Captured calls(stream_, batch, call);
  const auto batches = static_cast<std::size_t>(std::max(4.0, seconds / 0.25));
  std::vector<std::unique_ptr<Event>> marks;
  for (std::size_t i = 0; i <= batches; ++i) marks.push_back(std::make_unique<Event>());
  std::future<std::string> state;
  marks[0]->record(stream_);
  for (std::size_t i = 1; i <= batches; ++i) {
    calls.launch();
    marks[i]->record(stream_);
    if (i > 4) marks[i - 4]->seconds_since(*marks[0]);
    if (i == batches / 2) {
      state = std::async(std::launch::async, [] { return state_of_card("power.draw,clocks.sm", ",nounits"); });
    }
  }
  Load result{};
  result.seconds = marks[batches]->seconds_since(*marks[0]);
  result.of_call = result.seconds / batch / static_cast<double>(batches);
  result.of_last_call = marks[batches]->seconds_since(*marks[batches - 4]) / batch / 4;
  result.power_and_clock = state.get();
  if (result.power_and_clock.empty()) result.power_and_clock = "0,0";
  return result;
}

MeasuredLoad Versus::measure_load(const Case& c, double seconds) {
  fill('D');
  const Operands<double> x = operands<double>(c, settings_.bytes, 0);
  const std::int64_t k = x.a.rows;
  const double useful = c.reduces() ? tsmttsm_bytes<double>(k, c.m, c.n) : tsmm_bytes<double>(k, c.m, c.n);
  pause();
  MeasuredLoad result{};
  result.roof = roof_of(c, x, settings_.bytes);
  const Load mine = load(seconds, [&](int) { ours(c, x); });
  result.seconds = mine.seconds;
  result.gbps = useful / mine.of_call * 1e-9;
  result.last_gbps = useful / mine.of_last_call * 1e-9;
  result.power_and_clock = mine.power_and_clock;
  if (c.m == 64) {
    const Load bare = load(seconds / 2, [&](int) {
      if (c.reduces()) read_and_multiply(second_.data, nullptr, settings_.bytes, small_.data, stream_);
      read_and_multiply(first_.data, c.reduces() ? nullptr : second_.data, settings_.bytes, small_.data, stream_);
    });
    result.bare_gbps = useful / bare.of_last_call * 1e-9;
  }
  explain(c, x, result);
  return result;
}

double Versus::measure_pieces(const Case& c) {
  return with_type(c.type, [&](auto zero) { return pieces_of<decltype(zero)>(c); });
}

template <class T>
double Versus::pieces_of(const Case& c) {
  fill(c.type);
  const Operands<T> x = operands<T>(c, settings_.bytes, 0);
  const Rows a = rows_of_view(x.a);
  const Rows b = rows_of_view(x.b);
  pause();
  const double seconds = time(settings_.bytes, settings_.reps, [&](int) {
    if (c.reduces()) {
      read_pieces(a, b, small_.data, stream_);
    } else {
      copy_rows(a, b, stream_);
    }
  });
  return (c.reduces() ? tsmttsm_bytes<T>(x.a.rows, c.m, c.n) : tsmm_bytes<T>(x.a.rows, c.m, c.n)) / seconds * 1e-9;
}

// Numbers of a type are filled in as such: the bits of others might be NaN.
void Versus::fill(char type) {
  const bool single = type == 'S' || type == 'C';
  const char kind = single ? 'S' : 'D';
  if (filled_ == kind) return;
  filled_ = kind;
  for (Buffer* const buffer : {&first_, &second_}) {
    if (single) {
      fill_random(static_cast<float*>(buffer->data), buffer->bytes / 4, 1, stream_);
    } else {
      fill_random(static_cast<double*>(buffer->data), buffer->bytes / 8, 1, stream_);
    }
  }
  // Small enough that products in place do not grow.
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(-0.03, 0.03);
  std::vector<double> doubles(small_.bytes / 8);
  std::vector<float> floats(small_.bytes / 4);
  for (double& x : doubles) x = uniform(random);
  for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(doubles[i / 2]);
  check(cudaMemcpyAsync(small_.data, single ? static_cast<const void*>(floats.data()) : doubles.data(), small_.bytes,
                        cudaMemcpyHostToDevice, stream_));
  check(cudaStreamSynchronize(stream_));
}

// Roofs are the best that was seen in this run: neither side may have the cooler card.
double Versus::read_speed(std::size_t bytes) {
  const double seconds = time(
      bytes, 3, [&](int i) { read_all(place<char>(first_, bytes, i), bytes, small_.data, read_variant_, stream_); });
  double& best = read_[bytes];
  best = std::max(best, static_cast<double>(bytes) / seconds * 1e-9);
  return best;
}

double Versus::copy_speed(std::size_t bytes) {
  const double engine = time(bytes, 3, [&](int i) {
    check(cudaMemcpyAsync(place<char>(second_, bytes, i), place<char>(first_, bytes, i), bytes,
                          cudaMemcpyDeviceToDevice, stream_));
  });
  const double kernel = time(bytes, 3, [&](int i) {
    scale_all(place<double>(first_, bytes, i), place<double>(second_, bytes, i), bytes / 8, stream_);
  });
  double& best = copied_[bytes];
  best = std::max(best, 2 * static_cast<double>(bytes) / std::min(engine, kernel) * 1e-9);
  return best;
}

void Versus::pause() const { std::this_thread::sleep_for(std::chrono::milliseconds(settings_.pause)); }

std::string Versus::header(const std::string& commit, std::size_t bytes) {
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0));
  int runtime = 0;
  int version = 0;
  check(cudaRuntimeGetVersion(&runtime));
  check(cublasGetVersion(cublas_, &version));
  const std::time_t now = std::time(nullptr);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", std::gmtime(&now));
  const std::string card =
      state_of_card("driver_version,clocks.sm,clocks.max.sm,clocks.mem,power.limit,temperature.gpu");
  const double read = read_speed(std::min(2 * bytes, settings_.bytes));
  const double copy = copy_speed(bytes);
  char text[1280];
  std::snprintf(
      text, sizeof text,
      "# %s, %s, commit %s, CUDA runtime %d, cuBLAS %d; driver, clock now, at most, of memory, power limit, "
      "temperature: %s\n"
      "# operands of %zu bytes, median of %d after 2%s, a pause of %d ms before a case and before cuBLAS's calls;\n"
      "# ratios between 0.96 and 1.05: of calls of both that take turns; roofs: read %.0f GB/s, "
      "copy %.0f, double precision %.1f TF (complex: 3/4 of the products), single precision %.0f TF\n"
      "# ld is B's too where m = n; a layout of row+3 starts at column 3\n"
      "# roofs count 64-byte pieces touched; that of tsmm of views with m = n is a plain copy of the entries\n",
      device.name, date, commit.c_str(), runtime, version, card.c_str(), bytes, settings_.reps,
      bytes > most_in_graph ? "" : " in CUDA graphs of 8 calls", settings_.pause, read, copy, double_flops * 1e-12,
      single_flops * 1e-12);
  return text;
}

}  // namespace bench

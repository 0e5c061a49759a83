// Measures configurations of the products on this device and writes rows of its table (src/tuning).
//   cuda_autotune out=FILE products=tsmttsm,gram,tsmm,update,tsmm_inplace types=D widths=1-64 k=0 bytes=1073741824
//   cuda_autotune out=FILE shapes=64x8,128x8,... layout=column
//   cuda_autotune out=FILE products=gemm,hemm types=D,Z widths=1-16 k=16384 bytes=4294967296
// All candidates are measured that the model expects to take at most `bound` times as long as its own choice, and no
// more than `most` of them, evenly; the best ones again, fewer and fewer, at last in turns with what a call chooses
// today. The table says whether the best one is faster or the same against the noise of these repeated runs: the spread
// of the medians of three thirds of them. Where calls are served by a row today, it takes turns with the model's
// choice, too; if it is slower, a row says so, to take its place, and the best one is compared with the model's choice.
// k=0: operands of so many bytes; the row then serves any K from an eighth of that. Else, and where they are small, it
// serves K / 3 to 3 K, and calls are timed in a CUDA graph. Rows that are there already are not measured again; no new
// one is begun after `seconds`. rest=3: the card rests three times as long as it worked, so that its power does not
// limit its clock. load=0.5: the few best ones by the model under unbroken load, so many seconds at a time: there the
// card's power limits its clock, and fewer instructions a byte are faster.
// gemm, and hemm of a lower triangle: a k x k matrix A of this layout, or one of so many bytes, times k x n block
// vectors X, by rows. Their rows have m = k. All of src/dispatch/cuda/dense_candidates.hpp is measured beside the
// model's choice, without a bound; these rows say whether the model should change, as no table serves these products.
#include <blockvec/kernels/cuda.hpp>
#include <blockvec/kernels/tall_skinny.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <random>
#include <thread>

#include "bench/cuda_report.hpp"
#include "bench/cuda_roofs.hpp"
#include "bench/cuda_support.hpp"
#include "src/dispatch/cuda/calls.hpp"
#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/dense_candidates.hpp"
#include "src/dispatch/cuda/launch.hpp"
#include "src/dispatch/cuda/model.hpp"

namespace {

using namespace bench;
using namespace blockvec::kernels;

using Settings = std::map<std::string, std::string>;
const Settings defaults{{"out", "table.csv"}, {"products", "tsmttsm,tsmm"},
                        {"types", "D"},       {"widths", "1-64"},
                        {"shapes", ""},       {"k", "0"},
                        {"ld", "0"},          {"layout", "row"},
                        {"load", "0"},        {"bytes", "1073741824"},
                        {"bound", "1.3"},     {"most", "200"},
                        {"rounds", "15"},     {"seconds", "1e6"},
                        {"rest", "0"},        {"commit", "unknown"}};

struct Shape {
  std::int64_t m, n;
};

std::vector<Shape> shapes_of(const Settings& settings) {
  std::vector<Shape> shapes;
  for (const std::string& item : split(settings.at("shapes"), ',')) {
    const auto sides = split(item, 'x');
    shapes.push_back({std::stoll(sides.at(0)), std::stoll(sides.at(1))});
  }
  if (!shapes.empty()) return shapes;
  for (const std::string& item : split(settings.at("widths"), ',')) {
    const auto ends = split(item, '-');
    for (std::int64_t w = std::stoll(ends.front()); w <= std::stoll(ends.back()); ++w) shapes.push_back({w, w});
  }
  return shapes;
}

template <class T>
struct Operands {
  Matrix<T> a, b, c;
};

bool is_dense(const std::string& product) { return product == "gemm" || product == "hemm"; }

/// A configuration's kernel and parameters, as rows have them.
template <class Configuration>
std::string kernel_of(const Configuration& c) {
  return dispatch::name_of(c->kernel);
}
template <class Configuration>
std::string words_of(const Configuration& c) {
  return dispatch::words(c);
}
std::string kernel_of(const dispatch::GemmConfiguration& c) { return c.by_rows ? "gemm_rows" : "gemm_columns"; }
std::string kernel_of(const dispatch::HemmConfiguration&) { return "hemm"; }
template <class Configuration>
std::string dense_words(const Configuration& c) {
  return "columns " + std::to_string(c.columns()) + " blocks " + std::to_string(c.blocks) + " stages " +
         std::to_string(c.stages);
}
std::string words_of(const dispatch::GemmConfiguration& c) { return dense_words(c); }
std::string words_of(const dispatch::HemmConfiguration& c) {
  return dense_words(c) + " exchanges " + std::to_string(c.exchanges);
}

class Autotune {
 public:
  explicit Autotune(const Settings& settings)
      : settings_(settings),
        device_(cuda::current_device({"cuda_autotune", std::stoll(settings.at("k")), 0, 0})),
        bytes_(std::stoull(settings.at("bytes"))),
        k_(std::stoll(settings.at("k"))),
        load_(std::stod(settings.at("load"))),
        rest_(std::stod(settings.at("rest"))),
        small_operands_(k_ != 0 || bytes_ <= std::size_t{256} << 20),
        first_(std::max(bytes_, std::size_t{1} << 30) + 65536),
        second_(std::max(bytes_, std::size_t{1} << 30) + 65536),
        small_(std::size_t{32} << 20),
        workspace_(std::size_t{320} << 20),
        report_(settings.at("out"),
                "device,capability,multiprocessors,product,type,layout,m,n,k,ld,kernel,configuration,gbps,model_gbps,"
                "noise,verdict,date,commit",
                [] { return std::string(); }) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }

  int run() {
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * std::stod(settings_.at("seconds"))));
    int left_out = 0;
    for (const std::string& type : split(settings_.at("types"), ',')) {
      for (const std::string& product : split(settings_.at("products"), ',')) {
        for (const Shape shape : shapes_of(settings_)) {
          if (std::chrono::steady_clock::now() >= end) {
            ++left_out;
          } else if (type == "S") {
            tune<float>(product, 'S', shape);
          } else if (type == "D") {
            tune<double>(product, 'D', shape);
          } else if (type == "C") {
            tune<std::complex<float>>(product, 'C', shape);
          } else {
            tune<std::complex<double>>(product, 'Z', shape);
          }
        }
      }
    }
    std::printf("%d shapes left out for want of time\n", left_out);
    return 0;
  }

 private:
  template <class T>
  Operands<T> operands(const std::string& product, Shape s, int turn) const {
    const bool rows = settings_.at("layout") == "row";
    const Layout layout = rows ? Layout::row_major : Layout::column_major;
    const std::int64_t ld = std::stoll(settings_.at("ld"));
    const std::int64_t widest = std::max({s.m, s.n, ld});
    const std::int64_t k = k_ != 0 ? k_ : static_cast<std::int64_t>(bytes_ / sizeof(T)) / widest;
    const std::size_t bytes = static_cast<std::size_t>(k * widest) * sizeof(T);
    const bool one = product == "gram" || product == "tsmm_inplace";
    const std::int64_t lda = rows ? std::max(ld, s.m) : k;
    const std::int64_t ldb = one || s.m == s.n || !rows ? lda : s.n;
    return {{place<T>(first_, bytes, turn), k, s.m, lda, layout},
            {place<T>(one ? first_ : second_, bytes, turn), k, s.n, ldb, layout},
            {static_cast<T*>(small_.data), s.m, s.n, rows ? s.n : s.m, layout}};
  }

  template <class Real>
  void fill_large() {
    fill_random(static_cast<Real*>(first_.data), first_.bytes / sizeof(Real), 1, stream_);
    fill_random(static_cast<Real*>(second_.data), second_.bytes / sizeof(Real), 2, stream_);
  }

  // Products in place neither grow nor vanish for long.
  template <class T>
  void fill_small(Shape s) {
    using Real = decltype(std::real(T{}));
    std::mt19937 random(1);
    const double bound = std::sqrt(3.0 * sizeof(Real) / sizeof(T) / static_cast<double>(s.m));
    std::uniform_real_distribution<double> uniform(-bound, bound);
    std::vector<Real> small(static_cast<std::size_t>(s.m * s.n) * (sizeof(T) / sizeof(Real)));
    for (Real& x : small) x = static_cast<Real>(uniform(random));
    check(cudaMemcpyAsync(small_.data, small.data(), small.size() * sizeof(Real), cudaMemcpyHostToDevice, stream_));
    check(cudaStreamSynchronize(stream_));
  }

  template <class T>
  void tune(const std::string& product, char type, Shape s) {
    if (is_dense(product)) return tune_dense<T>(product, type, s.n);
    using Real = decltype(std::real(T{}));
    const Operands<T> x = operands<T>(product, s, 0);
    const Matrix<const T> a = x.a;
    const Matrix<const T> b = x.b;
    const CudaExecution execution{stream_, {static_cast<std::byte*>(workspace_.data), workspace_.bytes}};
    fill_large<Real>();
    fill_small<T>(s);
    if (product == "tsmttsm" || product == "gram") {
      const double useful = tsmttsm_bytes<T>(a.rows, s.m, s.n, product == "gram");
      tune_problem(product, type, s, dispatch::problem_of(a, b), useful, [&](const dispatch::CudaTsmttsm& c, int turn) {
        const Operands<T> y = operands<T>(product, s, turn);
        const Matrix<T> result{static_cast<T*>(small_.data) + (1 << 19), s.m, s.n, y.c.ld, y.c.layout};
        cuda::launch_tsmttsm<T>({Op::transpose, {T(1), nullptr}, {T(0), nullptr}, y.a, y.b, result}, c, execution);
      });
    } else {
      const bool adds = product == "update";
      const double useful = tsmm_bytes<T>(a.rows, s.m, s.n, adds);
      tune_problem(
          product, type, s, dispatch::problem_of(a, b, adds), useful, [&](const dispatch::CudaTsmm& c, int turn) {
            const Operands<T> y = operands<T>(product, s, turn);
            const T beta(static_cast<Real>(adds ? 1 : 0));
            cuda::launch_tsmm<T>({{T(1), nullptr}, {beta, nullptr}, y.a, y.c, y.b, Triangle::general}, c, execution);
          });
    }
  }

  /// Products of a dense matrix; X and Y stand in the second buffer, one behind the other.
  template <class T>
  void tune_dense(const std::string& product, char type, std::int64_t b) {
    const bool rows = settings_.at("layout") == "row", hermitian = product == "hemm";
    const auto most = static_cast<std::int64_t>(std::sqrt(static_cast<double>(bytes_ / sizeof(T))));
    const std::int64_t n = k_ != 0 ? k_ : most / 128 * 128;
    const int columns = static_cast<int>(dispatch::parts<T> * b);
    if (columns > (hermitian ? dispatch::hemm_columns : dispatch::gemm_columns)) return;  // several products
    if (n > most) throw std::runtime_error(product + " with k = " + std::to_string(n) + " needs more bytes");
    const std::size_t bytes = static_cast<std::size_t>(n * n) * sizeof(T);
    const CudaExecution execution{stream_, {static_cast<std::byte*>(workspace_.data), workspace_.bytes}};
    fill_large<decltype(std::real(T{}))>();
    T* const x = static_cast<T*>(second_.data);
    const Matrix<const T> of_x{x, n, b, b};
    const Matrix<T> of_y{x + n * b, n, b, b};
    const auto matrix = [&](int turn) {
      return Matrix<const T>{place<T>(first_, bytes, turn), n, n, n, rows ? Layout::row_major : Layout::column_major};
    };
    const dispatch::DenseLines lines{n, dispatch::parts<T> * n, dispatch::real_bytes<T>};
    const std::string head = head_of(product, type, {n, b}, std::to_string(n) + '-' + std::to_string(n), "tight");
    if (hermitian) {
      tune_candidates(head, dispatch::hemm_candidates(device_, lines, dispatch::parts<T>, rows, columns),
                      hemm_bytes<T>(n, b), [&](const dispatch::HemmConfiguration& c, int turn) {
                        const cuda::HemmCall<T> call{T(1), T(0), n, matrix(turn), of_x, of_y, Triangle::lower, false};
                        cuda::launch_hemm<T>(call, c, execution);
                      });
    } else {
      tune_candidates(head, dispatch::gemm_candidates(device_, lines, rows, columns), gemm_bytes<T>(n, n, b),
                      [&](const dispatch::GemmConfiguration& c, int turn) {
                        const cuda::GemmCall<T> call{T(1), T(0), matrix(turn), of_x, of_y, false, false};
                        cuda::launch_gemm<T>(call, c, execution);
                      });
    }
  }

  /// Measures all candidates, of which a call takes the first.
  template <class Configuration, class Launch>
  void tune_candidates(const std::string& head, const std::vector<Configuration>& candidates, double useful,
                       Launch&& launch) {
    if (report_.has(head)) return;
    std::vector<Entry<Configuration>> entries;
    for (std::size_t i = 1; i < candidates.size(); ++i) {
      if (candidates[i].workspace_bytes() <= workspace_.bytes) entries.push_back({candidates[i], 0, 0});
    }
    keep_best(entries, 12, 1, 1, launch);
    keep_best(entries, 4, 0, 3, launch);
    entries.insert(entries.begin(), {candidates.front(), 0, 0});
    report_findings(head, entries, {}, useful, launch);
  }

  template <class Configuration>
  struct Entry {
    Configuration configuration;
    double expected, seconds;
  };

  template <class Configuration>
  static std::vector<Entry<Configuration>> some_of(const std::vector<Entry<Configuration>>& entries, std::size_t most) {
    if (entries.size() <= most) return entries;
    std::vector<Entry<Configuration>> some;
    for (std::size_t i = 0; i < most; ++i) some.push_back(entries[i * entries.size() / most]);
    return some;
  }

  /// The fastest ones by medians of `reps` calls after `warm` others, at most `count`.
  template <class Configuration, class Launch>
  void keep_best(std::vector<Entry<Configuration>>& entries, std::size_t count, int warm, int reps, Launch&& launch) {
    for (Entry<Configuration>& e : entries) e.seconds = time(e.configuration, warm, reps, launch);
    std::stable_sort(entries.begin(), entries.end(),
                     [](const auto& x, const auto& y) { return x.seconds < y.seconds; });
    entries.resize(std::min(entries.size(), count));
  }

  template <class Problem, class Launch>
  void tune_problem(const std::string& product, char type, Shape s, const Problem& problem, double useful,
                    Launch&& launch) {
    const std::string head =
        head_of(product, type, s,
                small_operands_ ? std::to_string(problem.k / 3) + '-' + std::to_string(3 * problem.k)
                                : std::to_string(problem.k / 8) + "-*",
                settings_.at("layout") == "column" ? "*"
                : settings_.at("ld") == "0"        ? "tight"
                                                   : settings_.at("ld"));
    if (report_.has(head)) return;
    const auto today = dispatch::choose(device_, problem);
    using Configuration = decltype(today.configuration);
    std::vector<Entry<Configuration>> entries;
    const double most_cost = std::stod(settings_.at("bound")) * dispatch::cost(today.prediction);
    std::map<std::string, bool> seen{{name(today.configuration), true}};
    for (const Configuration& c : dispatch::candidates(device_, problem, dispatch::Search::all)) {
      const double expected = dispatch::cost(dispatch::predict(device_, problem, c));
      if (expected > most_cost || seen[name(c)]) continue;
      seen[name(c)] = true;
      entries.push_back({c, expected, 0});
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [](const auto& x, const auto& y) { return x.expected < y.expected; });
    entries = some_of(entries, static_cast<std::size_t>(std::stoull(settings_.at("most"))));
    if (load_ > 0) {
      entries.resize(std::min<std::size_t>(entries.size(), 8));
    } else {
      keep_best(entries, 12, 1, 1, launch);
      keep_best(entries, 4, 0, 3, launch);
    }
    // Ahead of them what calls choose today, and what they would without the table.
    if (!today.row.empty()) {
      const auto usual = dispatch::candidates(device_, problem);
      entries.insert(entries.begin(), {dispatch::cheapest(device_, problem, usual).configuration, 0, 0});
    }
    entries.insert(entries.begin(), {today.configuration, 0, 0});
    report_findings(head, entries, std::string(today.row), useful, launch);
  }

  /// A row's key.
  std::string head_of(const std::string& product, char type, Shape s, const std::string& ks,
                      const std::string& ld) const {
    const std::string device = device_.name + ',' + std::to_string(device_.capability / 10) + '.' +
                               std::to_string(device_.capability % 10) + ',' + std::to_string(device_.multiprocessors);
    const std::string n = s.m == s.n ? "m" : std::to_string(s.n);
    return device + ',' + product + ',' + type + ',' + settings_.at("layout") + ',' + std::to_string(s.m) + ',' + n +
           ',' + ks + ',' + ld;
  }

  /// Measures the last ones, in turns, and adds their rows: first what calls choose, then, if that is the `row` of a
  /// table, what they would without it.
  template <class Configuration, class Launch>
  void report_findings(const std::string& head, const std::vector<Entry<Configuration>>& entries,
                       const std::string& row, double useful, Launch&& launch) {
    const int rounds = load_ > 0 ? 3 : std::stoi(settings_.at("rounds")) / 3 * 3;
    std::vector<std::vector<double>> seconds(entries.size());
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < entries.size(); ++i)
        seconds[i].push_back(time(entries[i].configuration, 0, 1, launch));
    }
    for (const Finding& x : findings(seconds, !row.empty())) {
      const Configuration& c = entries[x.entry].configuration;
      report_.add(head, "%s,%s,%.0f,%.0f,%.4f,%s,%s,%s", kernel_of(c).c_str(), words_of(c).c_str(),
                  useful / median(seconds[x.entry]) * 1e-9, useful / median(seconds[x.reference]) * 1e-9,
                  x.comparison.noise, name_of(x.comparison.verdict), date().c_str(), settings_.at("commit").c_str());
      if (x.comparison.verdict == Verdict::slower)
        std::printf("%s is slower than the model's choice: to be replaced\n", row.c_str());
    }
  }

  template <class Configuration>
  static std::string name(const Configuration& c) {
    return dispatch::name_of(c->kernel) + ' ' + dispatch::words(c);
  }

  /// Median seconds of a call; of short ones in a graph; under load, of those in the second half of its time.
  template <class Configuration, class Launch>
  double time(const Configuration& c, int warm, int reps, Launch&& launch) {
    if (load_ > 0) {
      const double one = seconds_of(stream_, 0, [&](int i) { launch(c, i); });
      const int half = std::max(1, static_cast<int>(load_ / 2 / one));
      const auto run_half = [&](int) {
        for (int i = 0; i < half; ++i) launch(c, i);
      };
      run_half(0);
      return seconds_of(stream_, 0, run_half) / half;
    }
    if (small_operands_)
      return seconds_in_graph(
          stream_, k_ != 0 ? 20 : 8, reps, [] {}, [&](int i) { launch(c, i); });
    const double seconds = median_seconds(stream_, warm, reps, 1, [&](int i) { launch(c, i); });
    std::this_thread::sleep_for(std::chrono::duration<double>(rest_ * (warm + reps) * seconds));
    return seconds;
  }

  static std::string date() {
    const std::time_t now = std::time(nullptr);
    char text[16];
    std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
    return text;
  }

  Settings settings_;
  dispatch::CudaDevice device_;
  std::size_t bytes_;
  std::int64_t k_;
  double load_, rest_;
  bool small_operands_;
  Buffer first_, second_, small_, workspace_;
  Report report_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) try {
  return Autotune(bench::read_settings(argc, argv, defaults)).run();
} catch (const std::exception& error) {
  std::fprintf(stderr, "cuda_autotune: %s\n", error.what());
  return 2;
}

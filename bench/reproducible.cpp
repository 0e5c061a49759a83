// What do sums with the same bits on any number of ranks and threads cost? The same work in a fast and in a
// reproducible context, by turns: medians as CSV.
//   reproducible rows=2000000 shapes=64+8 rounds=9 sites=20 memory=host commit=...
//   reproducible rows=1048576,4194304 shapes=24+8,56+8 sites=24 memory=device commit=...
// inner_products: V^H W and W^H W in one InnerProducts. solver: the main job, the 8 lowest eigenpairs of a Heisenberg
// ring; sites=0: none. Seconds end when the device is idle. Under mpirun the rows are shared by all ranks, whose chunks
// then meet at boundaries that are not theirs; rank 0 reports.
#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <blockvec/solvers/lanczos.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/machine.hpp"
#include "bench/settings.hpp"
#include "examples/problems/heisenberg.hpp"

namespace {

using namespace blockvec;

/// Block vectors of one context and what is done with them.
template <class Layout, class Space>
class Work {
 public:
  Work(Summation summation, std::int64_t global_rows, std::int64_t width, std::int64_t block)
      : context_(Context::world(0, summation)),
        rows_(RowDistribution::uniform(global_rows, context_.communicator())),
        all_(context_, rows_, width + block, "basis and block"),
        basis_(all_.columns(0, width)),
        block_(all_.columns(width, width + block)),
        s_(context_, width, block),
        g_(context_, block, block),
        norms_(context_, 1, block),
        orthogonalizer_(context_) {
    fill_random(basis_, 1);
    for (std::int64_t j = 0; j < width; j += block) {
      const auto w = basis_.columns(j, std::min(width, j + block));
      const auto result = orthogonalizer_.project_and_normalize(basis_.columns(0, j), w);
      if (result.rank < w.width()) throw Error("the basis has dependent columns");
    }
    fill_random(block_, 2);
  }
  const Context& context() const { return context_; }

  void refill() { fill_random(block_, 2); }
  void inner_products() {
    InnerProducts<double, Layout, Space>(context_).add(basis_, block_, s_).add(block_, block_, g_).reduce();
  }
  void norms() { column_norms(block_, norms_); }
  void orthogonalise() { std::ignore = orthogonalizer_.project_and_normalize(basis_, block_); }  // timed

 private:
  Context context_;
  RowDistribution rows_;
  BlockVector<double, Layout, Space> all_, basis_, block_;
  SmallMatrix<double, Space> s_, g_;
  SmallMatrix<double, Space> norms_;
  orth::Orthogonalizer orthogonalizer_;
};

double median(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

struct Problem {
  std::int64_t rows, width, block, rounds;
};

template <class Space>
constexpr const char* memory_name = is_host_space<Space> ? "host" : "device";

template <class Space>
void wait_for_all(const Context& context) {
  context.fence<Space>();
  context.communicator().barrier();
}

/// prepare(mode), then seconds of action(mode), for the fast and for the reproducible mode by turns.
template <class Space, class Prepare, class Action>
void compare(const Context (&contexts)[2], const char* name, const char* layout, const Problem& problem,
             const Prepare& prepare, const Action& action) {
  std::vector<double> seconds[2];
  for (std::int64_t i = -1; i < problem.rounds; ++i) {  // the first to warm up
    for (int mode = 0; mode < 2; ++mode) {
      prepare(mode);
      wait_for_all<Space>(contexts[mode]);
      const auto begin = std::chrono::steady_clock::now();
      action(mode);
      wait_for_all<Space>(contexts[mode]);
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
      if (i >= 0) seconds[mode].push_back(time.count());
    }
  }
  const Context& context = contexts[0];
  if (context.communicator().rank() != 0) return;
  const double fast = median(seconds[0]), reproducible = median(seconds[1]);
  std::printf("%s,%s,%d,%d,%lld,%lld,%lld,%.6f,%.6f,%.3f,%s\n", name, layout, context.communicator().size(),
              context.threads(), static_cast<long long>(problem.rows), static_cast<long long>(problem.width),
              static_cast<long long>(problem.block), fast, reproducible, reproducible / fast, memory_name<Space>);
  std::fflush(stdout);
}

template <class Layout, class Space>
void measure(const Problem& problem) {
  Work<Layout, Space> works[] = {{Summation::fast, problem.rows, problem.width, problem.block},
                                 {Summation::reproducible, problem.rows, problem.width, problem.block}};
  const Context contexts[] = {works[0].context(), works[1].context()};
  const char* const layout = std::is_same_v<Layout, RowMajor> ? "row" : "column";
  const auto refill = [&](int mode) { works[mode].refill(); };
  compare<Space>(contexts, "inner_products", layout, problem, refill, [&](int mode) { works[mode].inner_products(); });
  compare<Space>(contexts, "column_norms", layout, problem, refill, [&](int mode) { works[mode].norms(); });
  compare<Space>(contexts, "project_and_normalize", layout, problem, refill,
                 [&](int mode) { works[mode].orthogonalise(); });
}

template <class Space>
void measure_solver(int sites, std::int64_t rounds) {
  const examples::SpinChain ring(sites, sites / 2, true, 1);
  const Context contexts[] = {Context::world(0), Context::world(0, Summation::reproducible)};
  std::vector<std::unique_ptr<solvers::SparseOperator<double, Space>>> operators;
  for (const Context& context : contexts) {
    const auto rows = RowDistribution::uniform(ring.size(), context.communicator());
    operators.push_back(std::make_unique<solvers::SparseOperator<double, Space>>(context, rows, ring));
  }
  const solvers::LanczosOptions options;
  compare<Space>(
      contexts, "solver", "column", {ring.size(), 0, options.block, rounds}, [](int) {},
      [&](int mode) {
        auto& a = *operators[static_cast<std::size_t>(mode)];
        if (!solvers::block_lanczos<BlockVector<double, ColumnMajor, Space>>({a}, options).converged())
          throw Error("not converged");
      });
}

/// "56+8,24+8": widths of a basis and of the block beside it.
std::vector<std::pair<std::int64_t, std::int64_t>> read_shapes(const std::string& text) {
  std::vector<std::pair<std::int64_t, std::int64_t>> shapes;
  for (std::istringstream items(text); !items.eof();) {
    std::int64_t width = 0, block = 0;
    char plus = 0, comma = 0;
    if (!(items >> width >> plus >> block) || plus != '+') throw Error("shapes=" + text + ": expected 56+8,24+8");
    shapes.emplace_back(width, block);
    items >> comma;
  }
  return shapes;
}

std::vector<std::int64_t> read_numbers(const std::string& text) {
  std::vector<std::int64_t> numbers;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) numbers.push_back(std::stoll(item));
  return numbers;
}

template <class Space>
void measure_all(const std::map<std::string, std::string>& settings) {
  const std::int64_t rounds = std::stoll(settings.at("rounds"));
  for (const std::int64_t rows : read_numbers(settings.at("rows"))) {
    for (const auto& [width, block] : read_shapes(settings.at("shapes"))) {
      measure<RowMajor, Space>({rows, width, block, rounds});
      measure<ColumnMajor, Space>({rows, width, block, rounds});
    }
  }
  const int sites = std::stoi(settings.at("sites"));
  if (sites > 0) measure_solver<Space>(sites, rounds);
}

}  // namespace

int main(int argc, char** argv) {
  const Environment environment(argc, argv);
  return Environment::guard([&] {
    const auto settings = bench::read_settings(argc, argv,
                                               {{"rows", "2000000"},
                                                {"shapes", "64+8"},
                                                {"rounds", "9"},
                                                {"sites", "20"},
                                                {"memory", "host"},
                                                {"commit", "unknown"}});
    if (Context::world().communicator().rank() == 0) {
      std::printf("# %s, Kokkos %d, compiler %s, commit %s; medians of %lld\n", bench::machine().c_str(),
                  KOKKOS_VERSION, __VERSION__, settings.at("commit").c_str(), std::stoll(settings.at("rounds")));
      std::printf("operation,layout,ranks,threads,rows,width,block,fast_seconds,reproducible_seconds,ratio,memory\n");
    }
    const std::string& memory = settings.at("memory");
    if (memory == "host") {
      measure_all<Kokkos::HostSpace>(settings);
#if BLOCKVEC_HAVE_CUDA_SPACE
    } else if (memory == "device") {
      measure_all<Kokkos::CudaSpace>(settings);
#endif
    } else {
      throw Error("memory=" + memory + ": expected host, or device in a build for one");
    }
    return 0;
  });
}

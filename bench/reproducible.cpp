// What do sums with the same bits on any number of ranks and threads cost? The same work in a fast and in a
// reproducible context, by turns: medians as CSV.
//   reproducible rows=2000000 width=64 block=8 rounds=9 sites=20 commit=...
// inner_products: V^H W and W^H W in one InnerProducts. solver: the main job, the 8 lowest eigenpairs of a Heisenberg
// ring. Under mpirun the rows are shared by all ranks, whose chunks then meet at boundaries that are not theirs; rank 0
// reports.
#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <blockvec/solvers/lanczos.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "bench/machine.hpp"
#include "bench/settings.hpp"
#include "examples/problems/heisenberg.hpp"

namespace {

using namespace blockvec;

/// Block vectors of one context and what is done with them.
template <class Layout>
class Work {
 public:
  Work(Summation summation, std::int64_t global_rows, std::int64_t width, std::int64_t block)
      : context_(Context::world(0, summation)),
        rows_(RowDistribution::uniform(global_rows, context_.communicator())),
        basis_(context_, rows_, width, "basis"),
        block_(context_, rows_, block, "block"),
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
    InnerProducts<double, Layout>(context_).add(basis_, block_, s_).add(block_, block_, g_).reduce();
  }
  void norms() { column_norms(block_, norms_); }
  void orthogonalise() { std::ignore = orthogonalizer_.project_and_normalize(basis_, block_); }  // timed

 private:
  Context context_;
  RowDistribution rows_;
  BlockVector<double, Layout> basis_, block_;
  SmallMatrix<double> s_, g_;
  SmallMatrix<double> norms_;
  orth::Orthogonalizer orthogonalizer_;
};

double median(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

struct Problem {
  std::int64_t rows, width, block, rounds;
};

/// prepare(mode), then seconds of action(mode), for the fast and for the reproducible mode by turns.
template <class Prepare, class Action>
void compare(const Context& context, const char* name, const char* layout, const Problem& problem,
             const Prepare& prepare, const Action& action) {
  std::vector<double> seconds[2];
  for (std::int64_t i = -1; i < problem.rounds; ++i) {  // the first to warm up
    for (int mode = 0; mode < 2; ++mode) {
      prepare(mode);
      context.communicator().barrier();
      const auto begin = std::chrono::steady_clock::now();
      action(mode);
      context.communicator().barrier();
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
      if (i >= 0) seconds[mode].push_back(time.count());
    }
  }
  if (context.communicator().rank() != 0) return;
  const double fast = median(seconds[0]), reproducible = median(seconds[1]);
  std::printf("%s,%s,%d,%d,%lld,%lld,%lld,%.6f,%.6f,%.3f\n", name, layout, context.communicator().size(),
              context.threads(), static_cast<long long>(problem.rows), static_cast<long long>(problem.width),
              static_cast<long long>(problem.block), fast, reproducible, reproducible / fast);
  std::fflush(stdout);
}

template <class Layout>
void measure(const Problem& problem) {
  Work<Layout> works[] = {{Summation::fast, problem.rows, problem.width, problem.block},
                          {Summation::reproducible, problem.rows, problem.width, problem.block}};
  const Context context = works[0].context();
  const char* const layout = std::is_same_v<Layout, RowMajor> ? "row" : "column";
  const auto refill = [&](int mode) { works[mode].refill(); };
  compare(context, "inner_products", layout, problem, refill, [&](int mode) { works[mode].inner_products(); });
  compare(context, "column_norms", layout, problem, refill, [&](int mode) { works[mode].norms(); });
  compare(context, "project_and_normalize", layout, problem, refill, [&](int mode) { works[mode].orthogonalise(); });
}

void measure_solver(int sites, std::int64_t rounds) {
  const examples::SpinChain ring(sites, sites / 2, true, 1);
  const Context contexts[] = {Context::world(0), Context::world(0, Summation::reproducible)};
  std::vector<std::unique_ptr<solvers::SparseOperator<double>>> operators;
  for (const Context& context : contexts) {
    const auto rows = RowDistribution::uniform(ring.size(), context.communicator());
    operators.push_back(std::make_unique<solvers::SparseOperator<double>>(context, rows, ring));
  }
  const solvers::LanczosOptions options;
  compare(
      contexts[0], "solver", "column", {ring.size(), 0, options.block, rounds}, [](int) {},
      [&](int mode) {
        auto& a = *operators[static_cast<std::size_t>(mode)];
        if (!solvers::block_lanczos<BlockVector<double, ColumnMajor>>({a}, options).converged())
          throw Error("not converged");
      });
}

}  // namespace

int main(int argc, char** argv) {
  const Environment environment(argc, argv);
  return Environment::guard([&] {
    const auto settings = bench::read_settings(argc, argv,
                                               {{"rows", "2000000"},
                                                {"width", "64"},
                                                {"block", "8"},
                                                {"rounds", "9"},
                                                {"sites", "20"},
                                                {"commit", "unknown"}});
    const auto number = [&](const char* name) { return std::stoll(settings.at(name)); };
    const Problem problem{number("rows"), number("width"), number("block"), number("rounds")};
    if (Context::world().communicator().rank() == 0) {
      std::printf("# %s, Kokkos %d, compiler %s, commit %s; medians of %lld\n", bench::machine().c_str(),
                  KOKKOS_VERSION, __VERSION__, settings.at("commit").c_str(), static_cast<long long>(problem.rounds));
      std::printf("operation,layout,ranks,threads,rows,width,block,fast_seconds,reproducible_seconds,ratio\n");
    }
    measure<RowMajor>(problem);
    measure<ColumnMajor>(problem);
    measure_solver(static_cast<int>(number("sites")), problem.rounds);
    return 0;
  });
}

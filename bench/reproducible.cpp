// What do sums with the same bits on any number of ranks and threads cost? The same operations in a fast and in a
// reproducible context, by turns: medians as CSV.
//   reproducible rows=2000000 width=64 block=8 rounds=9
// Under mpirun the rows are shared by all ranks, whose chunks then meet at boundaries that are not theirs; rank 0
// reports.
#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <chrono>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include "bench/settings.hpp"

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
      orthogonalizer_.project_and_normalize(basis_.columns(0, j), w);
    }
    fill_random(block_, 2);
  }
  const Context& context() const { return context_; }

  void inner_products() {
    InnerProducts<double, Layout>(context_).add(basis_, block_, s_).add(block_, block_, g_).reduce();
  }
  void norms() { column_norms(block_, norms_); }
  void orthogonalisation() {
    orthogonalizer_.project_and_normalize(basis_, block_);
    fill_random(block_, 2);
  }
  void random() { fill_random(block_, 2); }

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

template <class Layout>
void measure(std::int64_t rows, std::int64_t width, std::int64_t block, std::int64_t rounds) {
  Work<Layout> fast(Summation::fast, rows, width, block);
  Work<Layout> reproducible(Summation::reproducible, rows, width, block);
  const Context& context = fast.context();
  const auto seconds_of = [&](auto&& action) {
    context.communicator().barrier();
    const auto begin = std::chrono::steady_clock::now();
    action();
    context.communicator().barrier();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const auto compare = [&](const char* name, auto&& action) {
    std::vector<double> seconds[2];
    for (std::int64_t i = -1; i < rounds; ++i) {  // the first to warm up
      const double one = seconds_of([&] { action(fast); }), other = seconds_of([&] { action(reproducible); });
      if (i < 0) continue;
      seconds[0].push_back(one);
      seconds[1].push_back(other);
    }
    if (context.communicator().rank() != 0) return;
    const double one = median(seconds[0]), other = median(seconds[1]);
    std::printf("%s,%s,%d,%d,%lld,%lld,%lld,%.6f,%.6f,%.3f\n", name,
                std::is_same_v<Layout, RowMajor> ? "row" : "column", context.communicator().size(), context.threads(),
                static_cast<long long>(rows), static_cast<long long>(width), static_cast<long long>(block), one, other,
                other / one);
  };
  compare("inner_products", [](auto& work) { work.inner_products(); });
  compare("column_norms", [](auto& work) { work.norms(); });
  compare("project_and_normalize_and_fill", [](auto& work) { work.orthogonalisation(); });
  compare("fill_random", [](auto& work) { work.random(); });
}

}  // namespace

int main(int argc, char** argv) {
  const Environment environment(argc, argv);
  return Environment::guard([&] {
    const auto settings =
        bench::read_settings(argc, argv, {{"rows", "2000000"}, {"width", "64"}, {"block", "8"}, {"rounds", "9"}});
    const auto number = [&](const char* name) { return std::stoll(settings.at(name)); };
    if (Context::world().communicator().rank() == 0)
      std::printf("operation,layout,ranks,threads,rows,width,block,fast_seconds,reproducible_seconds,ratio\n");
    measure<RowMajor>(number("rows"), number("width"), number("block"), number("rounds"));
    measure<ColumnMajor>(number("rows"), number("width"), number("block"), number("rounds"));
    return 0;
  });
}

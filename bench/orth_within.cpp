// The parts of methods within a block by themselves, on the host: seconds, bandwidth and what it is of reading, as CSV.
//   orth_within rows=1000000 rounds=7 commit=...
//   gram              W^H W; gram-dd: the same in double-double
//   products          V^H W beside 64 columns; products-dd
//   cholqr2 ...       Orthogonalizer().normalize(W) by that method, all of its sweeps
//   dgeqrf            LAPACK's Householder factor of the same block, and with dorgqr Q as well
// The words are those that a method moves at least; ratio: seconds to those of the plain one (gram, products, cholqr2).
// The calls take turns, and bandwidth is sampled after each round.
#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "bench/machine.hpp"
#include "bench/roofs.hpp"
#include "bench/settings.hpp"
#include "orth/dense/lapacke.hpp"

namespace {

using namespace blockvec;

struct Case {
  std::string name;
  std::int64_t words;  // a row
  std::size_t plain;   // the case that it is compared with
  std::function<void()> run;
  std::vector<double> seconds = {};
};

void householder(const BlockVector<double, ColumnMajor>& w, bool with_q) {
  const auto k = static_cast<int>(w.local_rows()), b = static_cast<int>(w.width()), ld = static_cast<int>(w.ld());
  std::vector<double> tau(static_cast<std::size_t>(b));
  int info = LAPACKE_dgeqrf(LAPACK_COL_MAJOR, k, b, w.data(), ld, tau.data());
  if (with_q && info == 0) info = LAPACKE_dorgqr(LAPACK_COL_MAJOR, k, b, b, w.data(), ld, tau.data());
  if (info != 0) throw Error("orth_within: LAPACK failed");
}

template <class Layout>
void measure(const Context& context, std::int64_t rows, std::int64_t b, int rounds, const bench::Roofs& roofs) {
  constexpr std::int64_t m = 64;
  const auto all = RowDistribution::uniform(rows, context.communicator());
  const BlockVector<double, Layout> v(context, all, m, "V"), given(context, all, b, "W"), w(context, all, b, "Q");
  const SmallMatrix<double> s(context, m, b), s_low(context, m, b), g(context, b, b), g_low(context, b, b);
  fill_random(v, 1);
  fill_random(given, 2);
  std::vector<Case> cases{{"gram", b, 0, [&] { inner_product(w, w, g); }},
                          {"gram-dd", b, 0,
                           [&] {
                             inner_product_dd(w, w, {g, g_low});
                           }},
                          {"products", m + b, 2, [&] { inner_product(v, w, s); }},
                          {"products-dd", m + b, 2, [&] {
                             inner_product_dd(v, w, {s, s_low});
                           }}};
  for (const char* method : {"cholqr2", "dd-cholqr2", "tsqr", "rand-cholqr", "pcholqr", "svqb", "cgs2"}) {
    auto options = orth::parse_options(std::string("/") + method);
    options.adaptive = false;
    orth::Orthogonalizer orthogonalizer(context, options);
    copy(given, w);
    const auto words = static_cast<std::int64_t>(orthogonalizer.normalize(w).passes * static_cast<double>(b) + 0.5);
    cases.push_back({method, words, 4, [=] {
                       std::ignore = orth::Orthogonalizer(orthogonalizer).normalize(w);  // its time is what is asked
                     }});
  }
  if constexpr (std::is_same_v<Layout, ColumnMajor>) {
    cases.push_back({"dgeqrf", 2 * b, 4, [&] { householder(w, false); }});
    cases.push_back({"dgeqrf + dorgqr", 4 * b, 4, [&] { householder(w, true); }});
  }
  std::vector<double> read;
  for (int round = -1; round < rounds; ++round) {  // the first to warm up
    for (Case& one : cases) {
      copy(given, w);
      const auto begin = std::chrono::steady_clock::now();
      one.run();
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
      if (round >= 0) one.seconds.push_back(time.count());
    }
    read.push_back(roofs.read());
  }
  for (const Case& one : cases) {
    const double seconds = bench::median(one.seconds), plain = bench::median(cases[one.plain].seconds);
    const double rate = 8e-9 * static_cast<double>(one.words) * static_cast<double>(rows) / seconds;
    std::printf("%s,%s,%lld,%lld,%lld,%.5f,%.2f,%.2f,%.2f\n", one.name.c_str(),
                std::is_same_v<Layout, RowMajor> ? "row" : "column", static_cast<long long>(rows),
                static_cast<long long>(b), static_cast<long long>(one.words), seconds, rate, rate / bench::median(read),
                seconds / plain);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Environment environment(argc, argv);
  return Environment::guard([&] {
    const auto settings =
        bench::read_settings(argc, argv, {{"rows", "1000000"}, {"rounds", "7"}, {"commit", "unknown"}});
    const Context context = Context::self();
    const bench::Memory from(std::size_t{1} << 28), to(std::size_t{1} << 28);
    const bench::Roofs roofs(from, to);
    std::printf("# %s, %d threads, compiler %s, commit %s; medians of %s; read %.1f GB/s at the start\n",
                bench::machine().c_str(), context.threads(), __VERSION__, settings.at("commit").c_str(),
                settings.at("rounds").c_str(), roofs.first_read);
    std::printf("operation,layout,rows,columns,words_a_row,seconds,GB_per_second,share_of_read,ratio_to_plain\n");
    const std::int64_t rows = std::stoll(settings.at("rows"));
    const int rounds = std::stoi(settings.at("rounds"));
    for (const std::int64_t b : {1, 2, 4, 8, 16, 32}) {
      measure<RowMajor>(context, rows, b, rounds, roofs);
      measure<ColumnMajor>(context, rows, b, rounds, roofs);
    }
    return 0;
  });
}

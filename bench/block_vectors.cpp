// What do operations of block vectors reach in a solver's hands? A basis grows block by block to its full width, each
// block random, projected and orthonormalised; then the report of every operation against the memory's bandwidth, and
// the time of one call of the orthogonaliser.
//   block_vectors space=host|cuda rows=ROWS width=64 block=8 orth=pipi+/cholqr2 rounds=5
// With measure=gram-dd instead Gram matrices in double-double against a copy, as CSV.
// Under mpirun the rows are shared by all ranks; rank 0 reports.
#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "bench/settings.hpp"

namespace {

using namespace blockvec;
using Settings = std::map<std::string, std::string>;

const Settings defaults{{"space", "host"},         {"rows", "4194304"}, {"width", "64"},      {"block", "8"},
                        {"orth", "pipi+/cholqr2"}, {"rounds", "5"},     {"measure", "solver"}};

template <class Space>
int measure(const Settings& settings) {
  const Context context = Context::world();
  const std::int64_t width = std::stoll(settings.at("width")), block = std::stoll(settings.at("block"));
  const auto rows = RowDistribution::uniform(std::stoll(settings.at("rows")), context.communicator());
  const BlockVector<double, RowMajor, Space> basis(context, rows, width, "basis");
  orth::Orthogonalizer orthogonalizer(context, orth::parse_options(settings.at("orth")));
  std::vector<double> seconds;  // of the call with the widest basis, with the profile off
  const auto grow = [&] {
    for (std::int64_t j = 0; j < width; j += block) {
      const auto w = basis.columns(j, std::min(width, j + block));
      fill_random(w, 1, j);
      context.fence<Space>();
      context.communicator().barrier();
      const auto begin = std::chrono::steady_clock::now();
      const auto result = orthogonalizer.project_and_normalize(basis.columns(0, j), w);
      context.fence<Space>();
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
      if (j + block >= width && !context.profile().enabled()) seconds.push_back(time.count());
      if (result.rank != w.width()) throw Error("block_vectors: " + result.describe());
    }
  };
  grow();  // warm-up
  seconds.clear();
  const std::int64_t rounds = std::stoll(settings.at("rounds"));
  for (std::int64_t i = 0; i < rounds; ++i) grow();
  context.profile().start();
  for (std::int64_t i = 0; i < rounds; ++i) grow();
  const SmallMatrix<double, Space> norms(context, 1, width);
  for (std::int64_t i = 0; i < rounds; ++i) {
    column_norms(basis, norms);
    scale(basis, 1.0);
    axpby(1.0, basis.columns(0, width / 2), 1.0, basis.columns(width / 2, width / 2 * 2));
    copy(basis.columns(0, width / 2), basis.columns(width / 2, width / 2 * 2));
  }
  context.profile().stop();
  const std::string report = context.report();
  if (context.communicator().rank() != 0) return 0;
  std::sort(seconds.begin(), seconds.end());
  std::printf("# double, row-major, %lld rows over %d ranks, blocks of %lld, basis of up to %lld columns, space %s\n%s",
              static_cast<long long>(rows.global_rows()), context.communicator().size(), static_cast<long long>(block),
              static_cast<long long>(width), settings.at("space").c_str(), report.c_str());
  std::printf("%s beside %lld columns: %.3f ms (median of %zu)\n", settings.at("orth").c_str(),
              static_cast<long long>(width - block), 1e3 * seconds[seconds.size() / 2], seconds.size());
  return 0;
}

/// The blocks of one width take turns: together they are larger than any cache.
template <class Scalar, class Layout, class Space>
void measure_gram_dd(const Context& context, const RowDistribution& rows, std::int64_t b, std::int64_t rounds) {
  std::vector<BlockVector<Scalar, Layout, Space>> blocks;
  for (std::int64_t i = 0; i < std::max<std::int64_t>(2, 32 / b); ++i) {
    blocks.emplace_back(context, rows, b, "W");
    fill_random(blocks.back(), static_cast<std::uint64_t>(i));
  }
  const SmallMatrix<Scalar, Space> high(context, b, b), low(context, b, b);
  std::vector<double> seconds;
  for (std::int64_t round = -1; round < rounds; ++round) {  // the first to warm up
    context.fence<Space>();
    context.communicator().barrier();
    const auto begin = std::chrono::steady_clock::now();
    for (const auto& w : blocks) inner_product_dd(w, w, {high, low});
    context.fence<Space>();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    if (round >= 0) seconds.push_back(time.count() / static_cast<double>(blocks.size()));
  }
  if (context.communicator().rank() != 0) return;
  std::sort(seconds.begin(), seconds.end());
  const double bytes = static_cast<double>(blocks[0].local_rows() * b) * sizeof(Scalar);
  const double rate = bytes / seconds[seconds.size() / 2], copy_rate = context.bandwidth<Space>().copy;
  std::printf("gram-dd-%s,%s,%lld,%lld,%.1f,%.1f,%.3f\n", std::is_same_v<Layout, RowMajor> ? "row" : "column",
              std::string(scalar_name<Scalar>()).c_str(), static_cast<long long>(rows.global_rows()),
              static_cast<long long>(b), 1e-9 * rate, 1e-9 * copy_rate, rate / copy_rate);
  std::fflush(stdout);
}

template <class Space>
int measure_gram_dd(const Settings& settings) {
  const Context context = Context::world();
  const auto rows = RowDistribution::uniform(std::stoll(settings.at("rows")), context.communicator());
  const std::int64_t rounds = std::stoll(settings.at("rounds"));
  context.bandwidth<Space>();
  if (context.communicator().rank() == 0) std::printf("operation,type,rows,b,gbps,copy_gbps,share\n");
  const auto measure_type = [&]<class Scalar>(Scalar) {
    for (const std::int64_t b : {1, 2, 4, 8, 16}) {
      measure_gram_dd<Scalar, RowMajor, Space>(context, rows, b, rounds);
      measure_gram_dd<Scalar, ColumnMajor, Space>(context, rows, b, rounds);
    }
  };
  measure_type(double());
  measure_type(float());
  measure_type(Complex<double>());
  measure_type(Complex<float>());
  return 0;
}

template <class Space>
int run(const Settings& settings) {
  if (settings.at("measure") == "solver") return measure<Space>(settings);
  if (settings.at("measure") == "gram-dd") return measure_gram_dd<Space>(settings);
  throw Error("block_vectors: nothing to measure is called " + settings.at("measure"));
}

}  // namespace

int main(int argc, char** argv) {
  const Environment environment(argc, argv);
  return Environment::guard([&] {
    const Settings settings = bench::read_settings(argc, argv, defaults);
    if (settings.at("space") == "host") return run<Kokkos::HostSpace>(settings);
#if BLOCKVEC_HAVE_CUDA_SPACE
    if (settings.at("space") == "cuda") return run<Kokkos::CudaSpace>(settings);
#endif
    throw Error("block_vectors: no memory space " + settings.at("space") + " in this build");
  });
}

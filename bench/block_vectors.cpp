// What do operations of block vectors reach in a solver's hands? A basis grows block by block to its full width, each
// block random, projected and orthonormalised; then the report of every operation against the memory's bandwidth, and
// the time of one call of the orthogonaliser.
//   block_vectors space=host|cuda rows=ROWS width=64 block=8 orth=pipi+/cholqr2 rounds=5
// Under mpirun the rows are shared by all ranks; rank 0 reports.
#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "bench/settings.hpp"

namespace {

using namespace blockvec;
using Settings = std::map<std::string, std::string>;

const Settings defaults{{"space", "host"}, {"rows", "4194304"},       {"width", "64"},
                        {"block", "8"},    {"orth", "pipi+/cholqr2"}, {"rounds", "5"}};

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

}  // namespace

int main(int argc, char** argv) {
  const Environment environment(argc, argv);
  return Environment::guard([&] {
    const Settings settings = bench::read_settings(argc, argv, defaults);
    if (settings.at("space") == "host") return measure<Kokkos::HostSpace>(settings);
#if BLOCKVEC_HAVE_CUDA_SPACE
    if (settings.at("space") == "cuda") return measure<Kokkos::CudaSpace>(settings);
#endif
    throw Error("block_vectors: no memory space " + settings.at("space") + " in this build");
  });
}

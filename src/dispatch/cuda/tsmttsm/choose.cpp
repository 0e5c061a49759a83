#include <algorithm>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/rules.hpp"
#include "src/dispatch/cuda/stages.hpp"
#include "src/dispatch/cuda/tsmttsm/ring.hpp"

namespace blockvec::kernels::dispatch {

namespace {

void collect(const CudaDevice& device, const CudaTsmttsmProblem& problem, Search search, std::vector<CudaTsmttsm>& to) {
  if (problem.k != 0) return add_candidates(tsmttsm_rules(), device, problem, search, to);
  to.emplace_back();
  complete(device, problem, to.back());
}

}  // namespace

const TsmttsmEntry<NoTsmttsm> NoTsmttsm::entry{};

bool complete(const CudaDevice& device, const CudaTsmttsmProblem& problem, CudaTsmttsm& configuration) {
  if (problem.k == 0) {
    configuration = {};
    configuration->fold = configuration->rows = 1;
    return true;
  }
  return std::visit([&](auto& c) { return complete(device, problem, c); }, configuration.of_kernel);
}

std::vector<CudaTsmttsm> candidates(const CudaDevice& device, const CudaTsmttsmProblem& problem, Search search) {
  std::vector<CudaTsmttsm> found;
  collect(device, problem, search, found);
  return found;
}

CudaPrediction predict(const CudaDevice& device, const CudaTsmttsmProblem& problem, const CudaTsmttsm& configuration) {
  if (configuration->kernel == TsmttsmKernel::none) return {launch_seconds, CudaBound::latency, 0};
  CudaPrediction made = std::visit([&](const auto& c) { return predict(device, c.entry.work(device, problem, c)); },
                                   configuration.of_kernel);
  if (sums_weigh(device, problem)) {
    const std::int64_t entries = configuration->partials * problem.m * problem.n;
    made.seconds += static_cast<double>(moved_sums(problem, entries)) / device.read_bandwidth;
  }
  return made;
}

CudaChoice<CudaTsmttsm> choose(const CudaDevice& device, const CudaTsmttsmProblem& problem) {
  return row_or_best<CudaTsmttsm>(
      device, problem, [&](std::vector<CudaTsmttsm>& found) { collect(device, problem, Search::usual, found); });
}

namespace {

// The most entries of P that a block holds. Tiles of complex numbers hold no more.
constexpr std::int64_t most_block_sums = [] {
  int pieces = 0;
  for (const TileShape& tile : tsmttsm_ring_shapes) pieces = std::max(pieces, tile.m * tile.n);
  return std::int64_t{16 * 8} * pieces * computing_warps;
}();

// The fewest thread blocks that hold one sum of all of P.
double least_blocks(std::int64_t m, std::int64_t n) {
  const double sections = std::max(1.0, static_cast<double>(m * n) / static_cast<double>(most_block_sums));
  if (m != n || m <= pair_side) return sections;
  // It may be a Gram matrix. Then blocks compute only the squares on and above its diagonal. Those above it have 16/17
  // as many parts.
  const SquarePairs squares(static_cast<int>(ceil_div(m, pair_side)), 1);
  return std::min(sections, squares.on_diagonal + 16.0 / 17.0 * squares.above);
}

}  // namespace

// Each multiprocessor has one block, and each block has a row tile (chunk) of at least 16 rows. A block takes several
// narrow rows as one wide row, and also sums the products of these rows with one another.
std::size_t cuda_tsmttsm_workspace(const CudaDevice& device, std::int64_t k, std::int64_t m, std::int64_t n) {
  const auto blocks = static_cast<std::int64_t>(device.multiprocessors / least_blocks(m, n));
  const std::int64_t parts = std::clamp<std::int64_t>(blocks, 1, ceil_div(k, 16));
  const std::int64_t sums = parts * std::max(m * n, most_folded_sums);
  return static_cast<std::size_t>(sums) * sizeof(double) + workspace_alignment;
}

}  // namespace blockvec::kernels::dispatch

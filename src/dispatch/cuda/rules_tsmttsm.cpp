#include <algorithm>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/stages.hpp"
#include "src/dispatch/cuda/tsmttsm/ring.hpp"

namespace blockvec::kernels::dispatch {
namespace {

using Problem = CudaTsmttsmProblem;
using enum CudaKernel;

// A tile of narrow rows takes several rows.
bool waits_for_double(const CudaDevice& device, const Problem& p) {
  const std::int64_t fold = std::max<std::int64_t>(1, 8 / std::max(p.m, p.n));
  const auto tiles = static_cast<double>(ceil_div(fold * p.m, 16) * ceil_div(fold * p.n, 8));
  const std::int64_t width = p.same ? p.m : p.m + p.n;
  return waits_for_double(device, tiles / (16.0 * static_cast<double>(fold)),
                          static_cast<double>(width * p.real_bytes));
}

constexpr Rule<Problem> rules[] = {
    {only<gram>, Place::beside, "A^H A; beyond 128 real columns in CTA tiles",
     [](const CudaDevice&, const Problem& p) { return p.same; },
     "kernel_house.md: 17 % (2 to 41) over ring, in CTA tiles 47 %"},
    {only<ring>, Place::beside, "everything", always, "cuda_vs_cublas.csv: 98 to 100 % of the roof, M = N = 1..64"},
    {only<tf32_warpgroup>, Place::beside, "single precision, squares from 49 real columns on", always,
     "kernel_house.md: 10 % (to 21) over ring"},
    {only<ring, Policy::square_3m>, Place::beside, "complex double, squares of 33 to 40 and 49 to 56 columns", always,
     "kernel_house.md: 11 % (to 17) over 3m"},
    {only<ring, Policy::three_m>, Place::beside, "complex double, squares from 41 columns on", always,
     "kernel_house.md: 12 % (to 15) over ring"},
    {only<tf32_warpgroup, Policy::three_m>, Place::beside, "complex single precision, squares from 33 columns on",
     always, "kernel_house.md: 34 % (to 46) over ring"},
    {only<direct>, Place::beside, "views that one warp spans; few columns, column-major; what no rule before takes",
     always, "kernel_house.md: 8 % (to 35) over ring on odd views"},
    {only<direct, Policy::tf32>, Place::beside, "single precision where memory would wait for double precision",
     [](const CudaDevice& device, const Problem& p) {
       return p.real_bytes == 4 && p.may_split && waits_for_double(device, p);
     },
     "not measured: no such device was there"},
};

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
  if (problem.k != 0) {
    add_candidates(rules, device, problem, search, found);
  } else {
    complete(device, problem, found.emplace_back());
  }
  return found;
}

CudaPrediction predict(const CudaDevice& device, const CudaTsmttsmProblem& problem, const CudaTsmttsm& configuration) {
  if (configuration->kernel == CudaKernel::none) return {launch_seconds, CudaBound::latency, 0};
  CudaPrediction made = std::visit([&](const auto& c) { return predict(device, c.entry.work(device, problem, c)); },
                                   configuration.of_kernel);
  if (sums_weigh(device, problem)) {
    const std::int64_t entries = configuration->partials * problem.m * problem.n;
    made.seconds += static_cast<double>(moved_sums(problem, entries)) / device.read_bandwidth;
  }
  return made;
}

CudaChoice<CudaTsmttsm> choose(const CudaDevice& device, const CudaTsmttsmProblem& problem) {
  return row_or_best<CudaTsmttsm>(device, problem, [&](auto& found) { found = candidates(device, problem); });
}

// Each multiprocessor has one block, and each block has a row tile (chunk) of at least 16 rows. A block takes several
// narrow rows as one wide row, and also sums the products of these rows with one another.
std::size_t cuda_tsmttsm_workspace(const CudaDevice& device, std::int64_t k, std::int64_t m, std::int64_t n) {
  if (k <= 0 || m <= 0 || n <= 0) return 0;
  const auto blocks = static_cast<std::int64_t>(device.multiprocessors / least_blocks(m, n));
  const std::int64_t parts = std::clamp<std::int64_t>(blocks, 1, ceil_div(k, 16));
  constexpr std::int64_t most_folded_sums = 16 * 16;  // entries of a block's sum if it takes several rows as one
  const std::int64_t sums = parts * std::max(m * n, most_folded_sums);
  return static_cast<std::size_t>(sums) * sizeof(double) + workspace_alignment;
}

bool waits_for_double(const CudaDevice& device, double tiles, double bytes) {
  constexpr auto kind = static_cast<std::size_t>(CudaProducts::f64_tensor);
  const double clocks = device.product_clocks[kind];
  const double seconds = tiles * clocks / (device.multiprocessors * device.clock);
  return clocks > h200_product_clocks[kind] && seconds > 0.4 * bytes / device.read_bandwidth;
}

}  // namespace blockvec::kernels::dispatch

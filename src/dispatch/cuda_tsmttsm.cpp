#include <algorithm>

#include "src/cuda/kernel_of.hpp"
#include "src/dispatch/cuda_configuration.hpp"
#include "src/dispatch/cuda_model.hpp"
#include "src/dispatch/cuda_sections.hpp"
#include "src/dispatch/cuda_stages.hpp"
#include "src/dispatch/cuda_tsmttsm_columns.hpp"
#include "src/dispatch/cuda_tsmttsm_columns_warpgroup.hpp"
#include "src/dispatch/cuda_tsmttsm_direct.hpp"
#include "src/dispatch/cuda_tsmttsm_ring.hpp"

namespace blockvec::kernels::dispatch {
namespace {

// The kernel that takes any layout: result tiles of 32 x 32, parts of at least 512 rows.
constexpr int general_tile = 32;

void complete_general(const CudaDevice& device, const CudaTsmttsmProblem& p, CudaTsmttsm& c) {
  c = {};
  c.kernel = CudaKernel::general;
  c.fold = 1;
  const std::int64_t tiles = ceil_div(p.m, general_tile) * ceil_div(p.n, general_tile);
  const std::int64_t most = std::max<std::int64_t>(1, 8 * device.multiprocessors / tiles);
  c.part_rows = round_up(ceil_div(p.k, std::min(most, ceil_div(p.k, 512))), 32);
  c.parts = ceil_div(p.k, c.part_rows);
  c.workspace_bytes = static_cast<std::size_t>(c.parts * p.m * p.n) * sizeof(double) + workspace_alignment;
}

CudaWork general_work(const CudaDevice& device, const CudaTsmttsmProblem& p, const CudaTsmttsm& c) {
  const auto tiles_m = static_cast<double>(ceil_div(p.m, general_tile));
  const auto tiles_n = static_cast<double>(ceil_div(p.n, general_tile));
  const auto k = static_cast<double>(p.k);
  CudaWork work{};
  work.bytes = k * (static_cast<double>(p.m) * tiles_n + static_cast<double>(p.n) * tiles_m) * p.real_bytes;
  work.bandwidth = device.read_bandwidth / 2;  // loads are waited for, and numbers far apart cost a sector each
  work.parts = std::min<double>(device.multiprocessors, static_cast<double>(c.parts) * tiles_m * tiles_n);
  const double rows = std::max(k * tiles_m * tiles_n / work.parts, static_cast<double>(c.part_rows));
  work.product_clocks = 16 * rows;
  work.shared_clocks = 48 * rows;
  work.bytes_in_flight = 65536;
  work.launches = 2;
  work.waits = static_cast<double>(ceil_div(std::min(p.k, c.part_rows), 32));
  return work;
}

}  // namespace

bool complete(const CudaDevice& device, const CudaTsmttsmProblem& problem, CudaTsmttsm& configuration) {
  if (problem.k == 0) {
    configuration = {};
    configuration.fold = 1;
    configuration.rows = configuration.segment = 1;
    return true;
  }
  if (!cuda::has_kernel(problem, configuration)) return false;
  switch (configuration.kernel) {
    case CudaKernel::ring:
      return complete_ring(device, problem, configuration);
    case CudaKernel::columns:
      return complete_columns(device, problem, configuration);
    case CudaKernel::warpgroup:
      return complete_columns_warpgroup(device, problem, configuration);
    case CudaKernel::direct:
      return complete_direct(device, problem, configuration);
    case CudaKernel::general:
      complete_general(device, problem, configuration);
      return true;
    case CudaKernel::boxes:
    case CudaKernel::wide:
    case CudaKernel::deep:
    case CudaKernel::panels:
    case CudaKernel::warps:
    case CudaKernel::none:
      break;
  }
  return false;
}

namespace {

void collect(const CudaDevice& device, const CudaTsmttsmProblem& problem, Search search, std::vector<CudaTsmttsm>& to) {
  const bool all = search == Search::all;
  if (all || columns_are_better(problem)) add_columns(device, problem, search, to);
  if (all || to.empty()) {
    add_ring(device, problem, search, to);
    add_columns_warpgroup(device, problem, search, to);
    add_direct(device, problem, search, to);
  }
  CudaTsmttsm general{};
  general.kernel = CudaKernel::general;
  complete(device, problem, general);
  to.push_back(general);
}

}  // namespace

std::vector<CudaTsmttsm> candidates(const CudaDevice& device, const CudaTsmttsmProblem& problem, Search search) {
  std::vector<CudaTsmttsm> found;
  collect(device, problem, search, found);
  return found;
}

namespace {

CudaPrediction predict_parts(const CudaDevice& device, const CudaTsmttsmProblem& problem,
                             const CudaTsmttsm& configuration) {
  switch (configuration.kernel) {
    case CudaKernel::ring:
      return predict(device, ring_work(device, problem, configuration));
    case CudaKernel::columns:
      return predict(device, columns_work(device, problem, configuration));
    case CudaKernel::warpgroup:
      return predict(device, columns_warpgroup_work(device, problem, configuration));
    case CudaKernel::direct:
      return predict(device, direct_work(device, problem, configuration));
    case CudaKernel::general:
      return predict(device, general_work(device, problem, configuration));
    case CudaKernel::boxes:
    case CudaKernel::wide:
    case CudaKernel::deep:
    case CudaKernel::panels:
    case CudaKernel::warps:
    case CudaKernel::none:
      break;
  }
  return {launch_seconds, CudaBound::latency, 0};
}

}  // namespace

CudaPrediction predict(const CudaDevice& device, const CudaTsmttsmProblem& problem, const CudaTsmttsm& configuration) {
  CudaPrediction made = predict_parts(device, problem, configuration);
  if (sums_weigh(device, problem)) {
    const std::int64_t entries = configuration.parts * problem.m * problem.n;
    made.seconds += static_cast<double>(moved_sums(problem, entries)) / device.read_bandwidth;
  }
  return made;
}

CudaChoice<CudaTsmttsm> choose(const CudaDevice& device, const CudaTsmttsmProblem& problem) {
  return row_or_best<CudaTsmttsm>(
      device, problem, [&](std::vector<CudaTsmttsm>& found) { collect(device, problem, Search::usual, found); });
}

CudaTsmttsm configure_cuda_tsmttsm(const CudaDevice& device, const CudaTsmttsmProblem& problem) {
  return choose(device, problem).configuration;
}

namespace {

// Entries of P that a block holds at most; the tiles of complex numbers reach no further.
constexpr std::int64_t most_block_sums = [] {
  int pieces = 0;
  for (const TileShape& tile : tsmttsm_tiles) pieces = std::max(pieces, tile.m * tile.n);
  return std::int64_t{16 * 8} * pieces * computing_warps;
}();

// Blocks of threads that share one sum of all of P, at least.
double least_blocks(std::int64_t m, std::int64_t n) {
  const double sections = std::max(1.0, static_cast<double>(m * n) / static_cast<double>(most_block_sums));
  if (m != n || m <= pair_side) return sections;
  // It may be a Gram matrix: only the squares on and above its diagonal are computed, 16 of 17 parts of these above.
  const SquarePairs squares(static_cast<int>(ceil_div(m, pair_side)), 1);
  return std::min(sections, squares.on_diagonal + 16.0 / 17.0 * squares.above);
}

}  // namespace

// Each multiprocessor has one block, and each block has a chunk of 16 rows or more; of narrow rows it takes several at
// a time, and sums their products with one another as well.
std::size_t cuda_tsmttsm_workspace(const CudaDevice& device, std::int64_t k, std::int64_t m, std::int64_t n,
                                   int real_bytes) {
  const auto blocks = static_cast<std::int64_t>(device.multiprocessors / least_blocks(m, n));
  const std::int64_t parts = std::clamp<std::int64_t>(blocks, 1, ceil_div(k, 16));
  const std::int64_t sums = parts * std::max(m * n, most_folded_sums);
  CudaTsmttsm general{};
  complete_general(device, {k, m, n, m, n, real_bytes, true, false}, general);
  return std::max(static_cast<std::size_t>(sums) * sizeof(double) + workspace_alignment, general.workspace_bytes);
}

}  // namespace blockvec::kernels::dispatch

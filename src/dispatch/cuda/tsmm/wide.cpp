#include <algorithm>
#include <limits>

#include "src/dispatch/cuda/kernels.hpp"
#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/stages.hpp"
#include "src/dispatch/cuda/tsmm/serves.hpp"
#include "src/dispatch/cuda/tsmm/strided.hpp"

namespace blockvec::kernels::dispatch {
namespace {

constexpr int chunks_of_cluster = 16;  // if there are enough: clusters that start late then have little to do

std::int64_t items(const CudaTsmmProblem& p, const Wide& c) { return ceil_div(p.k, c.rows) * c.sections; }

}  // namespace

static bool complete_wide(const CudaDevice& device, const CudaTsmmProblem& p, Wide& c) {
  if (!boxes_serve(device, p) || c.staged != 0) return false;
  c.warps = p.n <= 8 * c.tile_n ? 1 : p.in_place && p.n > 16 * c.tile_n ? 4 : 2;
  c.row_warps = computing_warps / c.warps;
  c.groups = 1;
  c.chunks_per_ticket = 1;
  c.rows = 16 * c.row_warps * c.blocks_n;
  c.sections = static_cast<int>(ceil_div(p.n, 8 * c.tile_n * c.warps));
  c.in_cluster = p.in_place && c.sections > 1;
  if (c.in_cluster && c.sections > most_sections_in_place) return false;
  c.classes = box_classes(p);
  c.small_in_ring = true;
  if (c.panel == 0) c.panel = c.warps <= 2 && p.m > 128 ? 32 : 16;  // at least three stages fit
  if (c.panel % 16 != 0 || !fit_panel(p, c.panel, c)) return false;
  const std::int64_t stage = bytes_of_stage(p, c);
  std::int64_t most = (device.shared_bytes - static_bytes) / stage;
  if (c.in_cluster) most = std::min(most, ceil_div(p.m, c.panel) - 1);
  if (c.stages == 0) c.stages = static_cast<int>(std::min<std::int64_t>(most, max_stages));
  if (c.stages < 2 || c.stages > most || c.stages > max_stages) return false;
  c.shared_bytes = static_cast<int>(c.stages * stage);
  const std::int64_t chunks = ceil_div(p.k, c.rows);
  c.parts = std::min<std::int64_t>(items(p, c), device.multiprocessors);
  if (c.in_cluster) {
    // Clusters of more than two blocks leave an unknown number of multiprocessors idle.
    const std::int64_t at_once = std::max<std::int64_t>(device.multiprocessors / c.sections, 1);
    const std::int64_t clusters = c.sections == 2 ? at_once : std::max(at_once, ceil_div(chunks, chunks_of_cluster));
    c.parts = c.sections * std::min(chunks, clusters);
  }
  c.workspace_bytes =
      2 * workspace_alignment +
      static_cast<std::size_t>(round_up(p.m, c.panel) * c.sections * c.warps * 8 * c.tile_n) * sizeof(double);
  return true;
}

bool wide_serves_in_place(const CudaDevice& device, std::int64_t k, std::int64_t n) {
  constexpr std::int64_t most_rows = std::numeric_limits<std::int32_t>::max() / 2 - 4096;  // of complex numbers
  return device.bulk_copies && k >= 4 && k < most_rows && n > section_columns && n <= most_columns_in_place;
}

static void add_wide(const TsmmKind&, const CudaDevice& device, const CudaTsmmProblem& p, Search search,
                     std::vector<CudaTsmm>& to) {
  const auto add = [&](int tile_n, int panel) {
    Wide c{};
    c.kernel = TsmmKernel::wide;
    c.blocks_n = 2;
    c.tile_n = tile_n;
    c.panel = panel;
    if (complete(device, p, c)) to.push_back(c);
  };
  for (const TileShape& tile : tsmm_wide_shapes) {
    if (search == Search::usual) {
      add(tile.n, 0);
      continue;
    }
    if (p.n > 8 * (tile.n - 1)) {
      for (const int panel : {16, 32}) add(tile.n, panel);
    }
  }
}

static CudaWork wide_work(const CudaDevice& device, const CudaTsmmProblem& p, const Wide& c) {
  const auto blocks = std::min<std::int64_t>(c.parts, device.multiprocessors);
  CudaWork work{};
  work.bytes = tall_bytes(p);
  work.bandwidth = 0.95 * device.copy_bandwidth;
  const double products =
      static_cast<double>(ceil_div(items(p, c), blocks) * (c.rows / 16) * c.warps * c.tile_n * ceil_div(p.m, 16));
  // At best, half of the warps write results while the other half multiplies.
  work.product_clocks = products * 18;
  work.shared_clocks = products * (16.0 / c.tile_n + 8.0 / c.blocks_n);
  work.overlap = 0.9;
  work.tensor_cores = true;
  work.parts = static_cast<double>(blocks);
  work.bytes_in_flight = (c.stages - 1.5) * static_cast<double>(c.rows * c.panel * p.real_bytes);
  work.launches = 2;
  work.waits = 2;
  return work;
}

static bool is_compiled(const CudaTsmmProblem& p, const Wide& c) {
  return is_among(tsmm_wide_compiled, p.real_bytes, c.blocks_n, c.tile_n);
}

static std::span<const Field<Wide>> fields(const TsmmKind&) {
  using C = Wide;
  static constexpr Field<C> all[] = {{"tile", &C::blocks_n, &C::tile_n}, {"panel", &C::panel}, {"stages", &C::stages}};
  return all;
}

const TsmmEntry<Wide> Wide::entry{fields, is_compiled, complete_wide, wide_work, add_wide};

}  // namespace blockvec::kernels::dispatch

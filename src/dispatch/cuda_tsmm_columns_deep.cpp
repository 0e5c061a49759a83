#include "src/dispatch/cuda_tsmm_columns_deep.hpp"

#include <algorithm>

#include "src/dispatch/cuda_stages.hpp"
#include "src/dispatch/cuda_tsmm_columns.hpp"

namespace blockvec::kernels::dispatch {
namespace {

// C, packed, so many rows of it.
std::int64_t small_bytes(const CudaTsmm& c, std::int64_t rows) {
  return round_up(rows, c.panel) * c.tile_n * 8 * std::int64_t{sizeof(double)};
}

std::int64_t bytes_of_stage(const CudaTsmmProblem& p, const CudaTsmm& c) {
  return column_bytes(c.panel, std::max(c.pitch, c.staged_pitch), p.real_bytes) +
         (c.small_in_ring ? small_bytes(c, c.panel) : 0);
}

bool fit_stages(const CudaDevice& device, const CudaTsmmProblem& p, CudaTsmm& c, int least) {
  const std::int64_t beside = c.small_in_ring ? 0 : small_bytes(c, p.m);
  const std::int64_t room = device.shared_bytes - static_bytes - beside;
  const std::int64_t stage = bytes_of_stage(p, c);
  if (c.stages == 0) c.stages = static_cast<int>(std::clamp<std::int64_t>(room / stage, 0, max_stages));
  c.shared_bytes = static_cast<int>(beside + c.stages * stage);
  return c.stages >= least && c.stages <= max_stages && c.stages * stage <= room;
}

// Rows of a chunk, multiples of `step`: nearly as many as there may be, such that few blocks wait for the last chunks
// of others. A block by itself is served up to four times as fast as one of all.
int balanced_rows(std::int64_t k, int most, int step, std::int64_t blocks) {
  int best = most;
  double least = 0;
  for (int rows = most; 4 * rows >= 3 * most; rows -= step) {
    const std::int64_t chunks = ceil_div(k, rows);
    const double last = static_cast<double>(chunks % blocks) / static_cast<double>(blocks);
    const double turns = static_cast<double>(chunks / blocks) + (last > 0 ? std::max(last, 0.25) : 0);
    if (rows == most || turns * rows < 0.998 * least) {
      best = rows;
      least = turns * rows;
    }
  }
  return best;
}

}  // namespace

// As measured on an H200: blocks that have few chunks each wait for the last ones.
bool columns_deep_is_better(const CudaDevice& device, const CudaTsmmProblem& p) {
  return !p.row_major && p.m >= 128 && p.n <= (p.in_place ? 16 : 32) && p.k >= 512 * device.multiprocessors;
}

bool complete_columns_deep(const CudaDevice& device, const CudaTsmmProblem& p, CudaTsmm& c) {
  // Bulk copies take pairs of numbers.
  if (!device.bulk_copies || p.row_major || p.real_bytes != 8 || p.parts != 1 || p.may_skip_a || !p.aligned ||
      p.pitch_a % 2 != 0 || p.m == 0 || p.n > 8 * c.tile_n) {
    return false;
  }
  c.warps = 1;
  c.groups = 1;
  c.row_warps = computing_warps;
  c.rows = balanced_rows(p.k, 16 * c.blocks_n * computing_warps, 16 * c.blocks_n, device.multiprocessors);
  if (c.panel == 0) c.panel = 16;
  if (c.panel % 16 != 0) return false;
  c.pitch = c.rows + static_cast<int>(p.pitch_a % (line_bytes / p.real_bytes));  // columns lie there as in memory
  // Many old results go ahead of A into the ring: lanes would wait for them.
  c.output_in_ring = p.reads_output && c.tile_n > 2 && p.aligned_output && p.pitch_b % 2 == 0;
  c.staged_pitch = c.output_in_ring ? c.rows + static_cast<int>(p.pitch_b % (line_bytes / p.real_bytes)) : 0;
  // Where C stays in the block, the ring is to hold four short panels or two long ones.
  const int stages = c.stages;
  c.small_in_ring = false;
  if (!fit_stages(device, p, c, c.blocks_n == 4 ? 2 : 4)) {
    c.small_in_ring = true;
    c.stages = stages;
    if (!fit_stages(device, p, c, 2)) return false;
  }
  if (c.chunks_per_ticket == 0) c.chunks_per_ticket = 1;
  c.parts = std::min<std::int64_t>(ceil_div(p.k, c.rows), device.multiprocessors);
  c.workspace_bytes = 2 * workspace_alignment + static_cast<std::size_t>(c.small_in_ring ? small_bytes(c, p.m) : 0);
  return true;
}

void add_columns_deep(const CudaDevice& device, const CudaTsmmProblem& p, Search search, std::vector<CudaTsmm>& to) {
  for (const TileShape& tile : tsmm_columns_deep_tiles) {
    if (search == Search::usual && tile.n > 1 && 4 * tile.n >= p.n) continue;  // a narrower one does as much
    const auto add = [&](int panel, bool resident) {
      CudaTsmm c{};
      c.kernel = CudaKernel::deep;
      c.blocks_n = tile.m;
      c.tile_n = tile.n;
      c.panel = panel;
      if (!complete(device, p, c) || (resident && c.small_in_ring)) return false;
      to.push_back(c);
      return true;
    };
    // Long panels, where C takes much of a stage.
    const bool all = search == Search::all;
    if (!add(16, tile.n > 2 && !all) || all) add(32, false);
  }
}

CudaWork columns_deep_work(const CudaDevice& device, const CudaTsmmProblem& p, const CudaTsmm& c) {
  const double rows = static_cast<double>(ceil_div(ceil_div(p.k, c.rows), c.parts) * c.rows);  // of a block
  const double steps = rows / 16 * static_cast<double>(ceil_div(p.m, 16));
  CudaWork work{};
  work.bytes = tall_bytes(p);
  work.bandwidth = device.copy_bandwidth;
  work.product_clocks = steps * c.tile_n * 16;
  work.shared_clocks = steps * (32 + 8.0 * c.tile_n / c.blocks_n);
  work.overlap = 0.5;
  work.tensor_cores = true;
  work.parts = static_cast<double>(c.parts);
  work.bytes_in_flight = (c.stages - 1.0) * static_cast<double>(column_bytes(c.panel, c.pitch, p.real_bytes));
  work.launches = 2;
  work.waits = 2;
  return work;
}

}  // namespace blockvec::kernels::dispatch

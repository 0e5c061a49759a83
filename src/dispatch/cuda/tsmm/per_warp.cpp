#include <algorithm>
#include <limits>
#include <utility>

#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/stages.hpp"

namespace blockvec::kernels::dispatch {
namespace {

// Bytes of one warp's stage.
std::int64_t bytes_of_stage(const CudaTsmmProblem& p, const PerWarp& c) {
  return std::int64_t{c.rows} * c.pitch * p.real_bytes;
}

bool complete_per_warp(const CudaDevice& device, const CudaTsmmProblem& p, PerWarp& c) {
  const std::int64_t most_panel = 256 / p.real_bytes;
  const bool wide = c.tile_n > 4;  // one block a multiprocessor: products in parts are faster in place, and before 9.0
  if (!p.row_major || p.m < 1 || p.n > 8 * c.tile_n || (wide && (p.in_place || !device.bulk_copies)) || c.stages < 2 ||
      c.stages > 4)
    return false;
  c.rows = 16 * c.blocks_n;
  c.panel = static_cast<int>(p.m <= most_panel ? round_up(p.m, 4) : most_panel);
  // Each lane takes one of four neighbours of a row. With this pitch, the lanes of a warp meet different banks.
  const std::int64_t numbers = std::max<std::int64_t>(c.panel, c.staged != 0 ? 8 * c.tile_n : 0);
  c.pitch = static_cast<int>(round_up(numbers + 4, 8) - 4);
  const std::int64_t small = round_up(p.m, 16) * c.tile_n * 8 * std::int64_t{sizeof(double)};
  const std::int64_t bytes = small + computing_warps * c.stages * bytes_of_stage(p, c);
  const std::int64_t turns = ceil_div(p.k, c.rows);
  if (bytes + static_bytes > device.shared_bytes || turns > std::numeric_limits<std::int32_t>::max()) return false;
  c.shared_bytes = static_cast<int>(bytes);
  const int most_blocks = tsmm_warps_blocks({c.blocks_n, c.tile_n});
  const int blocks = most_blocks * (bytes + static_bytes) <= device.shared_bytes ? most_blocks : 1;
  const int ticket = p.n > 24 && c.staged == 0 ? 16 : p.n > 24 || p.in_place ? 8 : 4;
  set_tickets(device, ceil_div(turns, computing_warps), ticket, c, blocks);
  return true;
}

void add_per_warp(const TsmmCandidates& to) {
  using C = PerWarp;
  const CudaTsmmProblem& p = to.problem;
  // Memory is written in sectors of 32 bytes. Lanes fill them without shared memory only if all rows of B begin and end
  // with a sector.
  const bool staged = !p.aligned_output || p.pitch_b * p.real_bytes % 32 != 0 || p.n * p.real_bytes % 32 != 0;
  const bool few = p.n <= 24;
  const bool wide_rows = p.real_bytes == 4 && !few && !p.in_place;
  const int stages = p.in_place ? (few ? 4 : 2) : few || wide_rows ? 2 : 3;
  int narrower = 0;
  for (const TileShape& tile : tsmm_per_warp_shapes) {
    if (8 * std::exchange(narrower, tile.n) >= p.n) continue;  // a narrower tile is enough
    auto c = start<C>(tile);
    c.stages = stages;
    c.chunks_per_ticket = wide_rows ? 4 : 0;
    c.staged = staged ? 1 : 0;
    to.add(c, {{&C::stages, {2, 3, 4}}, {&C::chunks_per_ticket, {2, 4, 8, 16}}, {&C::staged, {0, 1}}});
  }
}

CudaWork per_warp_work(const CudaDevice& device, const CudaTsmmProblem& p, const PerWarp& c) {
  const std::int64_t blocks = ceil_div(c.blocks, device.multiprocessors);
  const std::int64_t turns = ceil_div(ceil_div(p.k, c.rows), c.blocks) * blocks;
  const double products = static_cast<double>(turns * c.blocks_n * c.tile_n * ceil_div(p.m, 4)) / 4;
  CudaWork work = tsmm_work(device, p, c, 0.95);
  work.product_clocks = products * 16;
  work.shared_clocks = products * (16.0 / c.tile_n + 8.0 / c.blocks_n);
  work.overlap = 0.5;
  work.products = CudaProducts::f64_tensor;
  work.bytes_in_flight = static_cast<double>(blocks * computing_warps * (c.stages - 1) * c.rows *
                                             std::min<std::int64_t>(p.m, c.panel) * p.real_bytes);
  return work;
}

bool is_compiled(const CudaTsmmProblem& p, const PerWarp& c) {
  return is_among(tsmm_per_warp_compiled, p.real_bytes, c.blocks_n, c.tile_n);
}

constexpr Field<PerWarp> fields[] = {{"tile", &PerWarp::blocks_n, &PerWarp::tile_n},
                                     {"staged", &PerWarp::staged},
                                     {"stages", &PerWarp::stages},
                                     {"ticket", &PerWarp::chunks_per_ticket}};

}  // namespace

const TsmmEntry<PerWarp> PerWarp::entry{fields, is_compiled, complete_per_warp, per_warp_work, add_per_warp};

}  // namespace blockvec::kernels::dispatch

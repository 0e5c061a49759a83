#include <algorithm>
#include <limits>

#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/stages.hpp"

namespace blockvec::kernels::dispatch {
namespace {

// From so many columns of A on, blocks have 128 rows, so that one wave of them is enough, and prefetch the first
// columns. As measured on an H200.
constexpr std::int64_t many_columns = 512;

// Bytes of all stages of a block. No stage stays empty.
std::int64_t ring_bytes(const CudaTsmmProblem& p, const ShortK& c) {
  const int stage = c.rows * (panels_panel + 4) + panels_panel * (8 * c.tile_n + 4);
  const std::int64_t stages = std::min<std::int64_t>(panels_stages, ceil_div(p.m, panels_panel));
  return stages * stage * static_cast<std::int64_t>(sizeof(double));
}

bool complete_short_k(const CudaDevice& device, const CudaTsmmProblem& p, ShortK& c) {
  // Rows of A are copied in pairs of numbers.
  if (!p.row_major || p.real_bytes != 8 || p.parts != 1 || p.may_skip_a || p.m == 0 || p.n > 8 * c.tile_n ||
      !p.aligned || p.pitch_a % 2 != 0) {
    return false;
  }
  c.panel = p.m >= many_columns ? 2 * panels_panel : 0;
  c.rows = 16 * c.blocks_n;
  c.shared_bytes = static_cast<int>(ring_bytes(p, c));
  c.blocks = ceil_div(p.k, c.rows);
  return c.shared_bytes <= device.shared_bytes && c.blocks <= std::numeric_limits<std::int32_t>::max();
}

void add_short_k(const TsmmCandidates& to) {
  const CudaTsmmProblem& p = to.problem;
  for (const TileShape& tile : tsmm_short_k_shapes) {
    const bool narrower = tile.n > 1 && 4 * tile.n >= p.n;  // a narrower tile is enough
    if (!to.all && (narrower || tile.m != (p.m >= many_columns ? 8 : 4))) continue;
    to.add(start<ShortK>(tile));
  }
}

CudaWork short_k_work(const CudaDevice& device, const CudaTsmmProblem& p, const ShortK& c) {
  // Each block of a multiprocessor takes another kilobyte of shared memory, which nobody can use.
  const std::int64_t blocks =
      std::min<std::int64_t>((device.shared_bytes + 1024) / (c.shared_bytes + 1024), 16 / c.blocks_n);
  const std::int64_t turns = ceil_div(c.blocks, device.multiprocessors * blocks);
  const double steps = static_cast<double>(turns * blocks * c.blocks_n) * static_cast<double>(ceil_div(p.m, 16));
  CudaWork work = tsmm_work(device, p, c, 0.97, 1);
  // The blocks that run at the end have all of the bandwidth, but cannot use it.
  work.bandwidth =
      work.bandwidth * static_cast<double>(c.blocks) / static_cast<double>(turns * blocks * device.multiprocessors);
  work.product_clocks = steps * c.tile_n * 16;
  work.shared_clocks = steps * (16 + 8.0 * c.tile_n);
  work.overlap = 0.5;
  work.products = CudaProducts::f64_tensor;
  work.bytes_in_flight = static_cast<double>(blocks * (panels_stages - 1) * c.rows * panels_panel * p.real_bytes);
  return work;
}

bool is_compiled(const CudaTsmmProblem& p, const ShortK& c) {
  return p.real_bytes == 8 && p.parts == 1 && is_among(tsmm_short_k_compiled, p.real_bytes, c.blocks_n, c.tile_n);
}

constexpr Field<ShortK> fields[] = {{"tile", &ShortK::blocks_n, &ShortK::tile_n}};

}  // namespace

const TsmmEntry<ShortK> ShortK::entry{fields, is_compiled, complete_short_k, short_k_work, add_short_k};

}  // namespace blockvec::kernels::dispatch

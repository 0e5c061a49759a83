#include "src/dispatch/cuda_tsmm_once.hpp"

#include <algorithm>

#include "src/dispatch/cuda_stages.hpp"

namespace blockvec::kernels::dispatch {

bool complete_once(const CudaDevice& device, const CudaTsmmProblem& p, CudaTsmm& c) {
  const bool tight = p.row_major && p.m == once_columns && p.n == p.m && p.pitch_a == p.m && p.pitch_b == p.m;
  if (!device.bulk_copies || !tight || !p.in_place || p.real_bytes != 8 || p.parts != 1 || !p.aligned) return false;
  if (p.may_skip_a || p.reads_output || p.k == 0 || c.blocks_n != 1 || 8 * c.tile_n != once_columns) return false;
  if (c.gauss != 0 || c.staged != 0 || c.plain != 0 || c.groups > 1 || c.stages > 1) return false;
  if ((c.row_warps != 0 && c.row_warps != computing_warps) || (c.panel != 0 && c.panel != p.m)) return false;
  c.row_warps = computing_warps;
  c.warps = c.groups = c.classes = c.stages = c.chunks_per_ticket = 1;
  c.panel = c.pitch = once_columns;
  c.staged_pitch = 0;
  c.small_in_ring = true;
  c.rows = once_rows;
  c.shared_bytes = static_cast<int>(stage_bytes(c.rows, p.m, p.real_bytes));
  c.parts = ceil_div(p.k, c.rows);
  c.workspace_bytes = once_columns * once_columns * sizeof(double) + 2 * workspace_alignment;
  return once_blocks * (c.shared_bytes + static_bytes) <= device.shared_bytes;
}

CudaWork once_work(const CudaDevice& device, const CudaTsmmProblem& p, const CudaTsmm& c) {
  const double rows = static_cast<double>(round_up(c.parts, device.multiprocessors)) / device.multiprocessors * c.rows;
  const double products = rows / 16 * c.tile_n * static_cast<double>(p.m) / 16;
  CudaWork work{};
  work.bytes = static_cast<double>(p.k) * static_cast<double>(p.m + p.n) * p.real_bytes;
  work.bandwidth = device.copy_bandwidth;
  work.product_clocks = products * 16;
  work.shared_clocks = products * (8 + 16.0 / c.tile_n);
  work.overlap = 0.9;
  work.tensor_cores = true;
  work.parts = static_cast<double>(std::min<std::int64_t>(c.parts, device.multiprocessors));
  work.bytes_in_flight = once_blocks * static_cast<double>(c.shared_bytes);
  work.launches = 2;
  work.waits = 2;
  return work;
}

}  // namespace blockvec::kernels::dispatch

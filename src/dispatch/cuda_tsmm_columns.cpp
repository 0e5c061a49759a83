#include "src/dispatch/cuda_tsmm_columns.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "src/dispatch/cuda_stages.hpp"

namespace blockvec::kernels::dispatch {
namespace {

constexpr std::int64_t longest_side = 256;  // of a box

// Tensor maps count in 32 bits.
bool columns_serve(const CudaDevice& device, const CudaTsmmProblem& p) {
  const std::int64_t most = std::numeric_limits<std::int32_t>::max() - 4096;
  return device.bulk_copies && !p.row_major && p.m > 0 && p.parts * p.k < most && p.m < most;
}

// Columns that start at multiples of 16 bytes come and go in boxes; a single one may have any distance.
bool starts_aligned(const CudaTsmmProblem& p, bool aligned, std::int64_t pitch, std::int64_t columns) {
  return aligned && (columns == p.parts || pitch * p.real_bytes % 16 == 0);
}
bool comes_aligned(const CudaTsmmProblem& p) { return starts_aligned(p, p.aligned, p.pitch_a, p.m); }
bool goes_aligned(const CudaTsmmProblem& p) { return starts_aligned(p, p.aligned_output, p.pitch_b, p.n); }

std::int64_t column_bytes(const CudaTsmmProblem& p, const CudaTsmm& c) {
  return std::int64_t{c.rows} * p.parts * p.real_bytes;
}
// Of C, packed by eights of real rows.
std::int64_t small_bytes(const CudaTsmmProblem& p, const CudaTsmm& c) {
  return ceil_div(c.panel * p.parts, 8) * c.warps * c.tile_n * 512;
}
std::int64_t panels_of(const CudaTsmmProblem& p, const CudaTsmm& c) { return ceil_div(p.m / p.parts, c.panel); }
std::int64_t bytes_of_stage(const CudaTsmmProblem& p, const CudaTsmm& c) {
  return c.panel * column_bytes(p, c) + (c.small_in_ring ? small_bytes(p, c) : 0);
}
std::int64_t columns_of_results(const CudaTsmmProblem& p, const CudaTsmm& c) {
  return std::int64_t{c.warps} * c.tile_n * 8 / p.parts;
}

// Panels of near-equal width, of so many bytes at most.
bool fit_panel(const CudaTsmmProblem& p, std::int64_t most_bytes, CudaTsmm& c) {
  const std::int64_t step = c.tf32 != 0 && p.parts == 1 ? 8 : 4;
  const std::int64_t columns = p.m / p.parts;
  if (most_bytes != 0) {
    const std::int64_t panels = ceil_div(columns * column_bytes(p, c), most_bytes);
    c.panel = static_cast<int>(std::min(round_up(ceil_div(columns, panels), step), longest_side));
  }
  return c.panel % step == 0 && c.panel <= longest_side && c.panel < columns + step;
}

// Stages, results on their way out and C share a block's memory; false if they do not fit.
bool fit_stages(const CudaDevice& device, const CudaTsmmProblem& p, CudaTsmm& c) {
  const std::int64_t small = c.small_in_ring ? 0 : panels_of(p, c) * small_bytes(p, c);
  const std::int64_t fixed = small + c.groups * c.staged * columns_of_results(p, c) * column_bytes(p, c);
  const int shared_bytes = comes_aligned(p) ? device.shared_bytes : std::min(device.shared_bytes, plain_columns_bytes);
  const std::int64_t room = std::max<std::int64_t>(shared_bytes - static_bytes - fixed, 0);
  const std::int64_t stage = c.groups * bytes_of_stage(p, c);
  if (c.stages == 0) c.stages = static_cast<int>(std::min<std::int64_t>(room / stage, max_stages / c.groups));
  c.shared_bytes = static_cast<int>(fixed + c.stages * stage);
  return c.stages >= 1 && c.stages * c.groups >= 3 && c.stages * c.groups <= max_stages && c.stages * stage <= room;
}

// C stays where it is small, and elsewhere where it would come too often.
bool fit_ring(const CudaDevice& device, const CudaTsmmProblem& p, CudaTsmm& c) {
  constexpr std::int64_t good_bytes = 49152;
  const int stages = c.stages;
  const bool comes_cheaply = 4 * columns_of_results(p, c) <= c.rows;
  c.small_in_ring = panels_of(p, c) > 1 && comes_cheaply && panels_of(p, c) * small_bytes(p, c) > good_bytes;
  if (fit_stages(device, p, c)) return true;
  c.small_in_ring = !c.small_in_ring;
  c.stages = stages;
  return fit_stages(device, p, c);
}

bool fit(const CudaDevice& device, const CudaTsmmProblem& p, CudaTsmm& c) {
  if (c.panel != 0) return fit_panel(p, 0, c) && fit_ring(device, p, c);
  const int stages = c.stages;
  for (const std::int64_t most_bytes : {32768, 16384, 8192, 4096}) {
    if (most_bytes > 16384 && (!comes_aligned(p) || p.m > 4 * p.n)) continue;  // there is less room, or more to come
    c.stages = stages;
    if (fit_panel(p, most_bytes, c) && fit_ring(device, p, c)) return true;
  }
  return false;
}

}  // namespace

bool complete_columns(const CudaDevice& device, const CudaTsmmProblem& p, CudaTsmm& c) {
  if (!columns_serve(device, p) || (c.tf32 != 0 && (!p.may_split || p.real_bytes != 4))) return false;
  std::int64_t warps = 1;
  while (warps * c.tile_n * 8 < p.n) warps *= 2;
  if (warps * c.row_warps > computing_warps || c.row_warps == 0) return false;
  c.warps = static_cast<int>(warps);
  if (c.groups == 0) c.groups = computing_warps / (c.warps * c.row_warps);
  c.rows = 16 * c.blocks_n * c.row_warps;
  if (c.groups * c.warps * c.row_warps > computing_warps || c.rows * p.parts > longest_side ||
      columns_of_results(p, c) > longest_side) {
    return false;
  }
  // Results go straight to B only in whole pieces of 16 bytes, and where they need not be looked at first.
  if (c.staged > 2 || (c.staged == 0 && (c.tf32 != 0 || !goes_aligned(p)))) return false;
  if (!fit(device, p, c)) return false;
  if (c.chunks_per_ticket == 0) {
    const std::int64_t chunk_bytes = (p.m + p.n) * c.rows * p.real_bytes;
    c.chunks_per_ticket = static_cast<int>(std::clamp<std::int64_t>((32768 + chunk_bytes / 2) / chunk_bytes, 1, 16));
  }
  c.parts = std::min<std::int64_t>(ceil_div(p.k, c.rows), device.multiprocessors);
  c.workspace_bytes = 2 * workspace_alignment;
  if (c.small_in_ring) c.workspace_bytes += static_cast<std::size_t>(panels_of(p, c) * small_bytes(p, c));
  return true;
}

namespace {

struct Shape {
  TileShape tile;
  int row_warps, staged;
};

bool splits(const CudaTsmmProblem& p) {
  return p.real_bytes == 4 && p.may_split && p.m * p.n >= 16 * (p.m + p.n);  // narrower ones wait for memory anyway
}

// As measured on an H200.
Shape usual_shape(const CudaTsmmProblem& p) {
  const std::int64_t pieces = ceil_div(p.n, 8);
  if (splits(p)) {
    const bool complex = p.parts == 2;
    if (pieces <= 3) return {{4, 3}, complex ? 2 : 4, 1};
    if (pieces == 4) return {{4, 4}, complex ? 2 : 4, 1};
    if (pieces == 5) return {{2, 5}, complex ? 4 : 8, 1};
    if (pieces == 6) return {{2, 6}, complex ? 4 : 8, 1};
    if (pieces <= 8) return {{2, 8}, 2, 1};
    return {pieces <= 12 ? TileShape{2, 6} : TileShape{2, 8}, pieces <= 16 ? 4 : 2, 1};
  }
  if (p.real_bytes == 4) {
    const int row_warps = p.parts == 2 ? 4 : 8;
    if (pieces <= 3) return {{2, static_cast<int>(pieces)}, row_warps, 1};
    return {{2, 4}, pieces <= 4 ? 4 : pieces <= 8 ? 4 : pieces <= 16 ? 2 : 1, 1};
  }
  const bool aligned = comes_aligned(p) && goes_aligned(p);
  const int staged = goes_aligned(p) && (p.parts == 2 || p.m > 4 * p.n) ? 0 : 1;
  const bool wide = p.parts == 2 || p.m > 4 * p.n;
  if (pieces == 1 && p.parts == 1) return {{2, 1}, 8, staged};
  if (pieces == 2 && p.parts == 1) return {{2, 2}, 8, staged};
  if (pieces == 3 && p.parts == 1) return {{2, 3}, aligned ? 4 : 8, staged};
  if (pieces <= 4) return wide ? Shape{{1, 4}, 8, staged} : Shape{{2, 4}, aligned ? 4 : 8, staged};
  if (pieces == 5 && p.parts == 1) return {{2, 5}, aligned ? 4 : 8, staged};
  if (pieces <= 6) return {{1, 6}, !aligned || wide ? 8 : 4, staged};
  if (pieces <= 8) return {{1, 8}, !aligned || wide ? 8 : 4, staged};
  if (pieces <= 12) return {{1, 6}, 4, staged};
  if (pieces <= 16) return {{2, 4}, 2, staged};
  return {{1, 8}, pieces <= 32 ? 2 : 1, staged};
}

}  // namespace

void add_columns(const CudaDevice& device, const CudaTsmmProblem& p, Search search, std::vector<CudaTsmm>& to) {
  const bool tf32 = splits(p);
  const auto add = [&](const Shape& shape, int panel) {
    CudaTsmm c{};
    c.kernel = CudaKernel::columns;
    c.blocks_n = shape.tile.m;
    c.tile_n = shape.tile.n;
    c.row_warps = shape.row_warps;
    c.staged = shape.staged;
    c.panel = panel;
    c.tf32 = tf32 ? 1 : 0;
    if (!complete(device, p, c)) return false;
    to.push_back(c);
    return true;
  };
  if (search == Search::usual) {
    Shape shape = usual_shape(p);
    for (; shape.row_warps > 0; shape.row_warps /= 2) {
      if (add(shape, 0)) return;
    }
  }
  const auto add_all = [&](const auto& tiles) {
    for (const TileShape& tile : tiles) {
      for (const int row_warps : {8, 4, 2, 1}) {
        for (const int staged : {0, 1, 2}) {
          if (add({tile, row_warps, staged}, 0) && search == Search::all) add({tile, row_warps, staged}, 16);
        }
      }
    }
  };
  if (tf32) {
    add_all(tsmm_column_split_tiles);
  } else {
    add_all(tsmm_column_tiles);
  }
}

CudaWork columns_work(const CudaDevice& device, const CudaTsmmProblem& p, const CudaTsmm& c) {
  const std::int64_t turns = ceil_div(ceil_div(p.k, c.rows), c.parts);
  const double busy_part = static_cast<double>(computing_warps) / (c.groups * c.row_warps * c.warps);
  CudaWork work{};
  work.bytes = static_cast<double>(p.k) * static_cast<double>(p.m + (p.reads_output ? 2 : 1) * p.n) * p.real_bytes;
  work.bandwidth = 0.97 * device.copy_bandwidth;
  const double depths = static_cast<double>(panels_of(p, c) * c.panel * p.parts) / 16;
  const double products = static_cast<double>(turns * c.rows / 16 * c.warps * c.tile_n) * depths;
  work.product_clocks = products * (c.tf32 != 0 ? 10 : 16) * busy_part;
  work.shared_clocks = products * (16.0 / c.tile_n + 8.0 / c.blocks_n) * busy_part;
  work.overlap = 0.5;
  work.tensor_cores = true;
  work.parts = static_cast<double>(c.parts);
  work.bytes_in_flight = (c.groups * c.stages - 1.5) * static_cast<double>(bytes_of_stage(p, c));
  work.launches = c.small_in_ring ? 3 : 2;
  work.waits = 2;
  return work;
}

}  // namespace blockvec::kernels::dispatch

#include "src/dispatch/cuda_configuration.hpp"

#include <algorithm>
#include <limits>

namespace blockvec::kernels::dispatch {
namespace {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t step) { return ceil_div(a, step) * step; }

constexpr int computing_warps = 8;
constexpr int max_stages = 64;
constexpr int line_bytes = 128;
constexpr int static_bytes = 2048;  // barriers and the like
constexpr std::int64_t largest_pitch = 8192;
constexpr std::size_t alignment = 16;

/// Rows of a stage start anywhere in a line.
std::int64_t stage_bytes(std::int64_t rows, std::int64_t pitch, int real_bytes) {
  return round_up(rows * pitch * real_bytes, line_bytes) + line_bytes;
}

/// Chunks are whole lines, whatever the width.
int least_rows(int real_bytes) { return real_bytes == 8 ? 16 : 32; }

/// Gaps between rows are read along while they are a small part.
bool streams(std::int64_t width, std::int64_t pitch) {
  return pitch != 0 && pitch <= largest_pitch && 8 * pitch <= 9 * width;
}

/// Rows of a chunk: so many bytes at most, and enough chunks for all warps.
int chunk_rows(std::int64_t row_bytes, std::int64_t chunk_bytes, int real_bytes, std::int64_t k, std::int64_t chunks) {
  int rows = 1024;
  const int least = least_rows(real_bytes);
  while (rows > least && rows * row_bytes > chunk_bytes) rows /= 2;
  while (rows > least && ceil_div(k, rows) < chunks) rows /= 2;
  return rows;
}

int whole_groups(std::int64_t stages, int groups) {
  return static_cast<int>(std::min<std::int64_t>(stages, max_stages) / groups * groups);
}

// The kernel that takes any layout: result tiles of 32 x 32, parts of at least 512 rows.
CudaTsmttsm general_tsmttsm(const CudaDevice& device, const CudaTsmttsmProblem& p) {
  CudaTsmttsm c{};
  c.kernel = CudaKernel::general;
  c.fold = 1;
  const std::int64_t tiles = ceil_div(p.m, 32) * ceil_div(p.n, 32);
  const std::int64_t most = std::max<std::int64_t>(1, 8 * device.multiprocessors / tiles);
  c.part_rows = round_up(ceil_div(p.k, std::min(most, ceil_div(p.k, 512))), 32);
  c.parts = ceil_div(p.k, c.part_rows);
  c.workspace_bytes = static_cast<std::size_t>(c.parts * p.m * p.n) * sizeof(double) + alignment;
  return c;
}

// How many times as many products as useful ones, and loads from shared memory beside them: clocks of 16 rows.
double clocks(const TileShape& tile, int warps_m, int warps_n, int groups) {
  const int warps = warps_m * warps_n;
  const double products = 16.0 * warps * tile.m * tile.n * computing_warps / (groups * warps);
  const double loads = 8.0 * warps * (2 * tile.m + tile.n);
  return std::max(products, loads) + 0.5 * std::min(products, loads);
}

// A shape that the ring serves, or kernel none.
CudaTsmttsm ring_tsmttsm(const CudaDevice& device, const CudaTsmttsmProblem& p) {
  CudaTsmttsm best{};
  const bool tight = p.pitch_a == p.m && (p.same || p.pitch_b == p.n);
  const std::int64_t fold =
      tight
          ? std::max<std::int64_t>(1, std::min(16 / std::max<std::int64_t>(p.m, 1), 8 / std::max<std::int64_t>(p.n, 1)))
          : 1;
  const std::int64_t k = ceil_div(p.k, fold);
  const std::int64_t row_bytes = fold * (p.pitch_a + (p.same ? 0 : p.pitch_b)) * p.real_bytes;
  double least = std::numeric_limits<double>::infinity();
  for (const TileShape& tile : tsmttsm_tiles) {
    const std::int64_t warps_m = ceil_div(fold * p.m, 16 * tile.m);
    const std::int64_t warps_n = ceil_div(fold * p.n, 8 * tile.n);
    if (warps_m * warps_n > computing_warps) continue;
    const int groups = computing_warps / static_cast<int>(warps_m * warps_n);
    const double cost = clocks(tile, static_cast<int>(warps_m), static_cast<int>(warps_n), groups);
    if (cost >= least) continue;
    CudaTsmttsm c{};
    c.kernel = CudaKernel::ring;
    c.fold = static_cast<int>(fold);
    c.tile_m = tile.m;
    c.tile_n = tile.n;
    c.warps_m = static_cast<int>(warps_m);
    c.warps_n = static_cast<int>(warps_n);
    c.groups = groups;
    c.rows = chunk_rows(row_bytes, 16384, p.real_bytes, k, std::int64_t{device.multiprocessors} * groups);
    const std::int64_t stage = stage_bytes(c.rows, fold * p.pitch_a, p.real_bytes) +
                               (p.same ? 0 : stage_bytes(c.rows, fold * p.pitch_b, p.real_bytes));
    // Lanes whose columns lie beyond the width read on behind the last stage.
    const std::int64_t slack = 2048;
    c.stages = whole_groups((device.shared_bytes - static_bytes - slack) / stage, groups);
    if (c.stages < 2 && c.stages < groups) continue;
    const std::int64_t total = 128 * warps_m * warps_n * tile.m * tile.n * std::int64_t{sizeof(double)};
    const std::int64_t shared = std::max(c.stages * stage + slack, total);
    if (shared > device.shared_bytes - static_bytes) continue;
    c.shared_bytes = static_cast<int>(shared);
    c.parts = std::min<std::int64_t>(ceil_div(k, c.rows), device.multiprocessors);
    c.workspace_bytes = static_cast<std::size_t>(c.parts * fold * fold * p.m * p.n) * sizeof(double) + alignment;
    least = cost;
    best = c;
  }
  return best;
}

}  // namespace

CudaTsmttsm configure_cuda_tsmttsm(const CudaDevice& device, const CudaTsmttsmProblem& problem) {
  if (problem.k == 0) return CudaTsmttsm{CudaKernel::none, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  if (device.bulk_copies && problem.row_major && streams(problem.m, problem.pitch_a) &&
      (problem.same || streams(problem.n, problem.pitch_b))) {
    const CudaTsmttsm ring = ring_tsmttsm(device, problem);
    if (ring.kernel == CudaKernel::ring) return ring;
  }
  return general_tsmttsm(device, problem);
}

std::size_t cuda_tsmttsm_workspace(const CudaDevice& device, std::int64_t k, std::int64_t m, std::int64_t n,
                                   int real_bytes) {
  const CudaTsmttsmProblem p{k, m, n, m, n, real_bytes, true, false};
  const std::int64_t fold = std::max<std::int64_t>(1, std::min(16 / m, 8 / n));
  const auto ring = static_cast<std::size_t>(device.multiprocessors * fold * fold * m * n) * sizeof(double) + alignment;
  return std::max(ring, general_tsmttsm(device, p).workspace_bytes);
}

namespace {

constexpr int general_tsmm_rows = 32;

CudaTsmm general_tsmm(const CudaDevice& device, const CudaTsmmProblem& p) {
  CudaTsmm c{};
  c.kernel = CudaKernel::general;
  c.parts = std::min<std::int64_t>(ceil_div(p.k, general_tsmm_rows), 8 * device.multiprocessors);
  // In place, a block keeps a copy of the rows that it is about to overwrite.
  c.workspace_bytes =
      p.in_place ? static_cast<std::size_t>(c.parts * general_tsmm_rows * p.m * p.real_bytes) + alignment : 0;
  return c;
}

// Stages, results on their way out and C share a block's memory; false if they do not fit.
bool fit_tsmm(const CudaDevice& device, const CudaTsmmProblem& p, std::int64_t small_bytes, CudaTsmm& c) {
  const std::int64_t stage = stage_bytes(c.rows, p.pitch_a, p.real_bytes) +
                             (c.output_in_ring ? stage_bytes(c.rows, p.pitch_b, p.real_bytes) : 0);
  const std::int64_t fixed = small_bytes + c.groups * stage_bytes(c.rows, p.n, p.real_bytes) + static_bytes;
  if (fixed + stage > device.shared_bytes) return false;
  c.stages = whole_groups((device.shared_bytes - fixed) / stage, c.groups);
  c.shared_bytes = static_cast<int>(fixed - static_bytes + c.stages * stage);
  // Every group works on one stage while another one is filled, and enough is on its way at any time.
  return c.stages >= 2 * c.groups && c.stages * stage >= 65536;
}

// Clocks of a useful product of 16 x 8 x 16, and of the loads from shared memory beside it: C's entries serve so many
// rows, A's so many columns; idle columns and warps cost as much as busy ones.
double tsmm_clocks(const TileShape& tile, const CudaTsmm& c, std::int64_t pieces) {
  const double product = 16;
  const double loads = 16.0 / tile.n + 12.0 / tile.m;  // C's come in pieces of 16 bytes, A's of 8
  const double idle = static_cast<double>(c.warps * tile.m) / static_cast<double>(pieces) * computing_warps /
                      static_cast<double>(c.groups * c.warps);
  return idle * (std::max(product, loads) + 0.5 * std::min(product, loads));
}

// The longest chunks and the most groups of warps that fit, with one tile.
bool fit_tile(const CudaDevice& device, const CudaTsmmProblem& p, const TileShape& tile, std::int64_t pieces,
              CudaTsmm& c) {
  const bool narrow = tile.m == 0;
  const std::int64_t row_bytes = p.pitch_a * p.real_bytes;
  c.kernel = CudaKernel::ring;
  c.tile_n = tile.m;
  c.blocks_n = tile.n;
  c.warps = narrow ? 1 : static_cast<int>(ceil_div(pieces, tile.m));
  if (c.warps > computing_warps) return false;
  c.output_in_ring = p.reads_output && streams(p.n, p.pitch_b);
  const std::int64_t small_bytes = narrow ? tile.n * p.m * std::int64_t{sizeof(double)}
                                          : c.warps * tile.m * ceil_div(p.m, 4) * 64 * std::int64_t{sizeof(double)};
  const int step = std::max(narrow ? 32 : 8 * tile.n, least_rows(p.real_bytes));
  for (c.groups = computing_warps / c.warps; c.groups > 0; c.groups /= 2) {
    c.rows =
        std::max(step, chunk_rows(row_bytes, 8192, p.real_bytes, p.k, std::int64_t{device.multiprocessors} * c.groups));
    for (; c.rows >= step; c.rows /= 2) {
      if (fit_tsmm(device, p, small_bytes, c)) {
        const std::int64_t chunk_bytes = c.rows * row_bytes;
        c.chunks_per_ticket =
            static_cast<int>(std::clamp<std::int64_t>((16384 + chunk_bytes / 2) / chunk_bytes, 1, 16));
        return true;
      }
    }
  }
  return false;
}

CudaTsmm ring_tsmm(const CudaDevice& device, const CudaTsmmProblem& p) {
  CudaTsmm best{};
  const std::int64_t pieces = ceil_div(p.n, 16);
  double least = std::numeric_limits<double>::infinity();
  for (const TileShape& tile : tsmm_tiles) {
    const bool narrow = tile.m == 0;
    if (narrow && (p.n > tile.n || p.m > 4)) continue;
    CudaTsmm c{};
    if (!fit_tile(device, p, tile, pieces, c)) continue;
    const double cost = narrow ? tile.n : tsmm_clocks(tile, c, pieces);
    if (cost >= least) continue;
    least = cost;
    c.parts = std::min<std::int64_t>(ceil_div(p.k, c.rows), device.multiprocessors);
    c.workspace_bytes = sizeof(unsigned) + alignment;
    best = c;
  }
  return best;
}

}  // namespace

CudaTsmm configure_cuda_tsmm(const CudaDevice& device, const CudaTsmmProblem& problem) {
  if (device.bulk_copies && problem.row_major && problem.m > 0 && streams(problem.m, problem.pitch_a)) {
    const CudaTsmm ring = ring_tsmm(device, problem);
    if (ring.kernel == CudaKernel::ring) return ring;
  }
  return general_tsmm(device, problem);
}

std::size_t cuda_tsmm_workspace(const CudaDevice& device, std::int64_t k, std::int64_t m, std::int64_t n,
                                int real_bytes) {
  const CudaTsmmProblem p{k, m, n, m, n, real_bytes, true, true, false};
  return std::max(general_tsmm(device, p).workspace_bytes, sizeof(unsigned) + alignment);
}

}  // namespace blockvec::kernels::dispatch

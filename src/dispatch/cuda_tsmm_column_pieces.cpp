#include "src/dispatch/cuda_tsmm_column_pieces.hpp"

#include <algorithm>

#include "src/dispatch/cuda_stages.hpp"

namespace blockvec::kernels::dispatch {
namespace {

constexpr int unit = 4;    // real numbers that bulk copies move
constexpr int sector = 8;  // those that memory is written by

// Whether all columns begin at multiples of so many real numbers; `aligned` says it of the first one.
bool begins_at(bool aligned, std::int64_t pitch, int numbers) { return aligned && pitch % numbers == 0; }

// From column to column of a stage: as far apart as in memory modulo 16 bytes, and four of them in different banks.
int pitch_of(std::int64_t distance, int numbers, bool aligned) {
  if (begins_at(aligned, distance, unit)) return numbers;
  int pitch = numbers + unit + static_cast<int>(distance % unit);
  while (pitch % 16 / unit != 2) pitch += unit;
  return pitch;
}

bool alike(const CudaTsmmProblem& p, const CudaTsmm& c) {
  return p.aligned && p.aligned_output && c.pitch == c.staged_pitch;
}

std::int64_t columns_bytes(std::int64_t columns, int pitch) {
  return round_up((columns * pitch + unit) * std::int64_t{sizeof(float)}, line_bytes);
}

// C in two parts, in steps of 8 pairs of real numbers.
std::int64_t small_bytes(const CudaTsmmProblem& p, const CudaTsmm& c) {
  return ceil_div(p.m, 16) * 4 * 8 * 8 * c.tile_n * std::int64_t{sizeof(float)};
}

// Results take the place of A's numbers where they lie alike, or that of B's.
std::int64_t bytes_of_stage(const CudaTsmmProblem& p, const CudaTsmm& c) {
  if (!c.output_in_ring) return columns_bytes(std::max(p.m, p.n) / p.parts, c.pitch);
  return columns_bytes(p.m / p.parts, c.pitch) + columns_bytes(p.n / p.parts, c.staged_pitch);
}

bool serves(const CudaDevice& device, const CudaTsmmProblem& p) {
  return device.warpgroups && !p.row_major && p.real_bytes == 4 && p.may_split && p.m > 0;
}

}  // namespace

bool complete_column_pieces(const CudaDevice& device, const CudaTsmmProblem& p, CudaTsmm& c) {
  if (!serves(device, p) || c.blocks_n == 0 || p.n > 8 * c.tile_n * p.parts) return false;
  c.tf32 = 1;
  c.row_warps = warpgroup_warps * c.blocks_n;
  c.warps = c.groups = 1;
  c.panel = static_cast<int>(p.m / p.parts);
  c.rows = warpgroup_rows * c.blocks_n;
  c.pitch = pitch_of(p.pitch_a, c.rows * p.parts, p.aligned);
  c.staged_pitch = pitch_of(p.pitch_b, c.rows * p.parts, p.aligned_output);
  // In place, a chunk must not hold rows that another one stores.
  const bool even = begins_at(p.aligned_output, p.pitch_b, unit);
  c.early = even || p.in_place ? 0 : sector / p.parts;
  c.output_in_ring = p.reads_output || !alike(p, c);
  const std::int64_t room = device.shared_bytes - static_bytes - small_bytes(p, c);
  const std::int64_t stage = bytes_of_stage(p, c);
  const int stages = static_cast<int>(std::clamp<std::int64_t>(room / stage, 0, 32));
  if (c.stages == 0) c.stages = stages;
  c.shared_bytes = static_cast<int>(small_bytes(p, c) + c.stages * stage);
  if (c.stages < 3 || c.stages > stages) return false;
  if (c.chunks_per_ticket == 0) c.chunks_per_ticket = chunks_of_ticket((p.m + p.n) * c.rows * p.real_bytes);
  c.parts = std::min<std::int64_t>(ceil_div(p.k, c.rows - c.early), device.multiprocessors);
  c.workspace_bytes = 2 * workspace_alignment;
  return true;
}

void add_column_pieces(const CudaDevice& device, const CudaTsmmProblem& p, Search search, std::vector<CudaTsmm>& to) {
  if (search != Search::all && p.m * p.n < 4 * (p.m + p.n)) return;  // narrower ones are faster without tensor cores
  const auto legal = [&](const TileShape& tile, int ticket, CudaTsmm& c) {
    c = {};
    c.kernel = CudaKernel::columns;
    c.blocks_n = tile.m;
    c.tile_n = tile.n;
    c.chunks_per_ticket = ticket;
    c.tf32 = 1;
    return complete(device, p, c);
  };
  CudaTsmm c{};
  if (search == Search::all) {
    for (const TileShape& tile : tsmm_column_split_tiles) {
      for (const int ticket : {0, 2, 3}) {
        if (legal(tile, ticket, c)) to.push_back(c);
      }
    }
    return;
  }
  // The narrowest tile that holds B's rows, and of such the one with the longest chunks.
  CudaTsmm best{};
  for (const TileShape& tile : tsmm_column_split_tiles) {
    const bool better = best.tile_n == 0 || tile.n < best.tile_n || (tile.n == best.tile_n && tile.m > best.blocks_n);
    if (better && legal(tile, 0, c)) best = c;
  }
  if (best.tile_n != 0) to.push_back(best);
}

CudaWork column_pieces_work(const CudaDevice& device, const CudaTsmmProblem& p, const CudaTsmm& c) {
  const std::int64_t turns = ceil_div(ceil_div(p.k, c.rows - c.early), c.parts);
  const auto rows = static_cast<double>(turns * c.rows);
  CudaWork work{};
  work.bytes = static_cast<double>(p.k) * static_cast<double>(p.m + (p.reads_output ? 2 : 1) * p.n) * p.real_bytes;
  work.bandwidth = 0.97 * device.copy_bandwidth;
  // Three products of tensor cores that multiply 1024 numbers a clock, of complex numbers each for four.
  const double products = rows * static_cast<double>(round_up(p.m, 16)) * 8 * c.tile_n * (p.parts == 2 ? 6 : 3);
  work.product_clocks = products / 1024;
  // They read C again for every 64 rows; A's rows come, are read, and go as results, which meet in banks.
  work.shared_clocks = products / 2048 + rows * static_cast<double>(p.m + p.n) * 3 * p.real_bytes / 128;
  work.overlap = 0.8;
  work.tensor_cores = true;
  work.parts = static_cast<double>(c.parts);
  work.bytes_in_flight = (c.stages - 0.5) * static_cast<double>(bytes_of_stage(p, c));
  work.launches = 2;
  work.waits = 2;
  return work;
}

}  // namespace blockvec::kernels::dispatch

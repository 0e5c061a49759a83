#include "src/dispatch/cuda/gram_schmidt/sweep.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/constants.hpp"
#include "src/dispatch/cuda/stages.hpp"

namespace blockvec::kernels::dispatch {
namespace {

constexpr int widest_part = 252;  ///< columns whose pitch is at most the longest side of a TMA tile
constexpr int most_stages = 24;
constexpr int most_rows = 128;
constexpr int least_stages = 3;
/// Row tiles get more rows until they have so many bytes, so that barriers cost little, as long as enough of them fit.
constexpr int enough_bytes = 48 * 1024;
constexpr int enough_stages = 5;
constexpr int barrier_bytes = 3 * most_sweep_barriers * 8;

/// Numbers from row to row of a part: an odd multiple of 4. Then lanes meet different banks, whether they read one row
/// or one column.
constexpr int pitch_of(std::int64_t width) {
  const std::int64_t pitch = round_up(width, 4);
  return static_cast<int>(pitch % 8 == 0 ? pitch + 4 : pitch);
}

/// Appends the columns of a matrix as parts of equal width or nearly so.
bool add_parts(std::int64_t width, int matrix, CudaSweep& c) {
  constexpr std::int64_t widest_whole = widest_part / 16 * 16;
  const std::int64_t parts = width <= widest_part ? 1 : ceil_div(width, widest_whole);
  const std::int64_t each = round_up(ceil_div(width, parts), 16);
  for (std::int64_t first = 0; first < width; first += each) {
    if (c.loaded == most_sweep_parts) return false;
    const std::int64_t columns = std::min(each, width - first);
    SweepPart& part = c.part[c.loaded];
    part = {matrix, static_cast<int>(first), 0, static_cast<int>(columns), pitch_of(columns), 0, 0, 0};
    if (c.loaded > 0) {
      const SweepPart& last = c.part[c.loaded - 1];
      part.column = last.column + last.width;
      part.offset = last.offset + last.pitch;  // times the rows of a row tile
      part.block = last.block + static_cast<int>(ceil_div(last.width, 8));
      part.step = last.step + static_cast<int>(ceil_div(last.width, 4));
    }
    ++c.loaded;
  }
  return true;
}

}  // namespace

std::optional<CudaSweep> configure_sweep(const CudaDevice& device, const CudaSweepProblem& p) {
  constexpr int most_f64_clocks = 64;  // for slower products the other kernels have other policies
  if (!device.bulk_copies || device.product_clocks[static_cast<int>(CudaProducts::f64_tensor)] > most_f64_clocks) {
    return {};
  }
  if (p.k < 1 || p.k > std::numeric_limits<std::int32_t>::max() - most_rows || p.n < 1 || p.n > most_sweep_columns) {
    return {};
  }
  CudaSweep c{};
  int matrix = 0;
  for (const std::int64_t width : p.widths) {
    if (!add_parts(width, matrix++, c)) return {};
  }
  c.parts = c.loaded;
  const SweepPart& w = c.part[c.parts - 1];
  c.blocks = w.block + static_cast<int>(ceil_div(w.width, 8));
  c.steps = w.step + static_cast<int>(ceil_div(w.width, 4));
  if (p.has_image && !add_parts(p.n, matrix, c)) return {};
  c.tiles_n = p.n <= 8 ? 1 : p.n <= 16 ? 2 : 4;
  const int tiles_m = sweep_tiles_m(c.tiles_n);
  c.sharing = 1;
  while (2 * tiles_m * c.sharing < c.blocks) c.sharing *= 2;
  if (c.sharing > sweep_product_warps) return {};

  const SweepPart& last = c.part[c.loaded - 1];
  const int row_bytes = (last.offset + last.pitch) * p.real_bytes;
  c.packed_bytes = p.changes ? c.steps * c.tiles_n * 32 * static_cast<int>(sizeof(double)) : 0;
  const int room = device.shared_bytes - barrier_bytes - static_bytes - c.packed_bytes;
  const auto may_have = [&](int rows) {
    return rows <= most_rows && rows * row_bytes <= enough_bytes &&
           enough_stages * (rows * row_bytes + line_bytes) <= room && p.k > 2 * rows * device.multiprocessors;
  };
  c.rows = 16;
  while (may_have(2 * c.rows)) c.rows *= 2;
  for (int i = 0; i < c.loaded; ++i) c.part[i].offset *= c.rows;
  c.stage_bytes = c.rows * row_bytes;
  c.stage_step = c.stage_bytes + line_bytes;  // lanes read beyond the last row what they do not use
  c.stages = std::min(room / c.stage_step, most_stages);
  if (c.stages < least_stages) return {};
  c.barriers = std::lcm(c.stages, std::max(sweep_change_warps, sweep_product_warps / c.sharing));
  // At the end the sums of all warps lie where the stages were.
  const int sum_bytes = sweep_product_warps * tiles_m * c.tiles_n * 128 * static_cast<int>(sizeof(double));
  if (sum_bytes > room) return {};
  c.shared_bytes = std::max(c.stages * c.stage_step, sum_bytes) + c.packed_bytes;
  c.chunks = ceil_div(p.k, c.rows);
  c.thread_blocks = std::min<std::int64_t>(c.chunks, device.multiprocessors);
  return c;
}

}  // namespace blockvec::kernels::dispatch

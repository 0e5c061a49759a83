#include <algorithm>
#include <tuple>

#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/stages.hpp"

/// Candidates of tsmm for column-major operands of any stride and alignment (src/cuda/tsmm/column_ring.cuh), whose C
/// fits into shared memory: for tensor cores in double precision, for 3xTF32, or without tensor cores.
namespace blockvec::kernels::dispatch {
namespace {

constexpr std::int64_t most_columns = 128;  // of A for column_ring; `strided` serves more

int unit_of(const CudaTsmmProblem& p) { return bulk_bytes / p.real_bytes; }
int line_of(const CudaTsmmProblem& p) { return line_bytes / p.real_bytes; }

bool is_split(const ColumnRing& c) { return c.policy == Policy::tf32; }
bool in_double(const ColumnRing& c) { return c.policy == Policy::usual; }

// Whether all columns begin at multiples of `numbers` real numbers. `aligned`: the first column does.
bool begins_at(bool aligned, std::int64_t pitch, int numbers) { return aligned && pitch % numbers == 0; }

// The bytes into which columns begin as far as in memory, and those for barriers and the like.
int lead_of(const ColumnRing& c) { return in_double(c) ? line_bytes : bulk_bytes; }
int static_bytes_of(const ColumnRing& c) { return in_double(c) ? 4096 : static_bytes; }

// The pitch of columns in a stage. Modulo 16 bytes it equals their distance in memory, and lanes meet different banks.
// If columns of real numbers begin at odd places, the pitch equals the distance modulo a whole line where possible.
// That is faster, as measured on an H200.
int pitch_in_double(const CudaTsmmProblem& p, const ColumnRing& c, std::int64_t distance) {
  const int unit = unit_of(p);
  if (p.parts == 1 && (distance % unit == 0 || !p.reads_output)) {
    if (distance % unit == 0) return c.rows + (distance % 4 == 0 ? 4 : 2);
    const int place = static_cast<int>(distance % line_of(p));
    return c.rows + (place > unit ? place : place + line_of(p));
  }
  return c.rows * p.parts + std::max(unit, 2 * p.parts) + static_cast<int>(distance % unit);
}

// The pitch of columns in a stage. Modulo 16 bytes it equals their distance in memory. For tensor cores, four columns
// lie in different banks. For TMA tiles (boxes), columns have no gap between them.
int pitch_of(const CudaTsmmProblem& p, const ColumnRing& c, std::int64_t distance, bool aligned) {
  const int unit = unit_of(p);
  const int numbers = c.rows * p.parts;
  if (is_split(c) && begins_at(aligned, distance, unit)) return numbers;
  int pitch = numbers + unit + static_cast<int>(distance % unit);
  while (is_split(c) && pitch % 16 / unit != 2) pitch += unit;
  return pitch;
}

// Overlap rows: a row tile (chunk) holds them before the rows that it stores, so that it stores whole lines of memory,
// or whole sectors if chunks are short. In place, a chunk must not hold rows that another one stores.
int early_of(const CudaDevice& device, const CudaTsmmProblem& p, const ColumnRing& c) {
  if (p.in_place) return 0;
  if (!in_double(c)) {
    if (is_split(c) && begins_at(p.aligned_output, p.pitch_b, unit_of(p))) return 0;
    return (is_split(c) || c.rows < 256 ? line_of(p) / 4 : line_of(p)) / p.parts;
  }
  // As measured on an H200, this is faster for many columns that begin at odd places, whose pieces are short. At even
  // places, it costs more than it gains.
  const bool short_pieces = p.parts == 1 && p.n >= 44 && p.n <= 64 && p.m <= 64 && c.rows >= 8 * line_of(p);
  const bool many_chunks = p.k >= std::int64_t{8} * c.rows * device.multiprocessors;
  return short_pieces && many_chunks && p.pitch_b % 2 != 0 ? line_of(p) : 0;
}

// Bytes of packed C. In double precision its real rows are padded to a multiple of 16. For 3xTF32 it is there high and
// low, in steps of 8 pairs of real numbers; else row by row.
std::int64_t small_bytes(const CudaTsmmProblem& p, const ColumnRing& c) {
  if (in_double(c)) return round_up(p.m, 16) * c.warps * c.tile_n * 8 * std::int64_t{sizeof(double)};
  if (is_split(c)) return ceil_div(p.m, 16) * 4 * 8 * 8 * c.tile_n * std::int64_t{sizeof(float)};
  return round_up(p.m * c.tile_n * p.real_bytes, 16);
}

std::int64_t bytes_of_stage(const CudaTsmmProblem& p, const ColumnRing& c) {
  const std::int64_t a = column_bytes(p.m / p.parts, c.pitch, p.real_bytes, lead_of(c));
  const std::int64_t b = column_bytes(p.n / p.parts, c.staged_pitch, p.real_bytes, lead_of(c));
  return c.apart ? a + b : std::max(a, b);
}

// Takes a multiple of `step` stages, as many as fit if none are set. Returns false if these are fewer than `least`.
bool fit_stages(const CudaDevice& device, const CudaTsmmProblem& p, ColumnRing& c, int step, int least) {
  const std::int64_t room = device.shared_bytes - static_bytes_of(c) - small_bytes(p, c);
  const std::int64_t stage = bytes_of_stage(p, c);
  if (c.stages == 0) c.stages = static_cast<int>(std::clamp<std::int64_t>(room / stage, 0, 32)) / step * step;
  c.shared_bytes = static_cast<int>(small_bytes(p, c) + c.stages * stage);
  return c.stages >= least && c.stages % step == 0 && c.stages <= max_stages && c.stages * stage <= room;
}

// Sets what follows from all else.
void finish(const CudaDevice& device, const CudaTsmmProblem& p, ColumnRing& c, std::int64_t ticket_bytes) {
  const int chunks_per_ticket = chunks_of_ticket((p.m + p.n) * c.rows * p.real_bytes, ticket_bytes);
  set_tickets(device, ceil_div(p.k, c.rows - c.early), chunks_per_ticket, c);
}

// Complex numbers are read and written as a whole, so they must be aligned.
bool complete_in_double(const CudaDevice& device, const CudaTsmmProblem& p, ColumnRing& c) {
  if (!device.bulk_copies || p.row_major || p.m <= 0 || p.real_bytes != 8 || (p.parts == 2 && !p.aligned)) return false;
  if (p.m / p.parts > most_columns) return false;
  const std::int64_t warps = ceil_div(p.n, 8 * c.tile_n) * c.row_warps;
  if (warps * std::max(c.groups, 1) > computing_warps) return false;
  c.warps = static_cast<int>(warps) / c.row_warps;
  const bool any_groups = c.groups == 0;
  if (any_groups) c.groups = computing_warps / static_cast<int>(warps);
  c.rows = 16 * c.blocks_n * c.row_warps;
  c.pitch = pitch_in_double(p, c, p.pitch_a);
  c.staged_pitch = pitch_in_double(p, c, p.pitch_b);
  c.early = early_of(device, p, c);
  c.output_in_ring = c.apart = p.reads_output;
  const bool one_waits = p.parts == 1 && !p.reads_output;  // one stage is loaded while another one is multiplied
  // Each of several groups always meets the same stages. Else it could mistake an earlier filling of a stage for its
  // own.
  const int stages = c.stages;
  while (!fit_stages(device, p, c, c.groups, std::max(c.groups + 1, one_waits ? 2 : 3))) {
    if (!any_groups || c.groups == 1) return false;
    c.groups /= 2;
    c.stages = stages;
  }
  finish(device, p, c, 32768);
  return true;
}

struct Shape {
  TileShape tile;
  int row_warps;
};

// The best shape, as measured on an H200.
Shape usual_shape(const CudaTsmmProblem& p) {
  const auto pieces = static_cast<int>(std::min<std::int64_t>(ceil_div(p.n, 8), 16));
  if (p.parts == 2) {
    if (pieces <= 4) return {{1, 4}, 8};
    if (pieces <= 6) return {{1, 6}, 8};
    if (pieces <= 8) return {{1, 8}, 4};
    return {{1, pieces <= 10 ? 5 : 6}, 2};
  }
  if (pieces <= 3 || (pieces == 4 && p.m <= 48)) return {{2, std::max(pieces, 2)}, 8};
  if (pieces > 6) return {{1, 8}, 8};
  return {{p.pitch_a % 4 != 0 && !p.reads_output ? 2 : 1, pieces}, 8};  // unaligned columns have longer pieces
}

void add_in_double(const TsmmCandidates& to) {
  using C = ColumnRing;
  const Shape usual = usual_shape(to.problem);
  if (to.problem.real_bytes == 4) return;
  for (const TileShape& tile : tsmm_column_ring_shapes) {
    if (!to.all && (tile.m != usual.tile.m || tile.n != usual.tile.n)) continue;
    for (const int row_warps : {8, 6, 4, 2, 1}) {
      if (!to.all && row_warps > usual.row_warps) continue;
      auto c = start<C>(tile);
      c.row_warps = row_warps;
      if (to.add(c, {{&C::stages, {4, 6, 8}}, {&C::chunks_per_ticket, {1, 2, 3, 4}}}) && !to.all) return;
    }
  }
}

bool serves(const CudaDevice& device, const CudaTsmmProblem& p, const ColumnRing& c) {
  if (p.row_major || p.m <= 0 || c.blocks_n == 0) return false;
  if (p.real_bytes == 4 && !p.may_split) return false;  // sums are of A's precision
  const bool has_kernel = is_split(c) ? device.warpgroups && p.real_bytes == 4 : device.bulk_copies;
  return has_kernel && p.n <= (is_split(c) ? 8 : 1) * c.tile_n * p.parts;
}

// Whether the old values of B are read from the cache instead of through stages. As measured on an H200, that is better
// if stages would otherwise hold only short pieces of columns. But if columns begin at multiples of 16 bytes, stages
// are faster with short pieces, too.
bool fetches_old(const CudaTsmmProblem& p, const ColumnRing& c) {
  const bool even = begins_at(p.aligned, p.pitch_a, unit_of(p)) && begins_at(p.aligned_output, p.pitch_b, unit_of(p));
  return c.rows * p.parts * p.real_bytes < 768 && !(even && may_hold_old(p.parts, c.blocks_n, c.tile_n));
}

// Sets what follows from the rows of a chunk. Returns false if too few stages fit.
bool fit_pieces(const CudaDevice& device, const CudaTsmmProblem& p, ColumnRing& c) {
  c.pitch = pitch_of(p, c, p.pitch_a, p.aligned);
  c.staged_pitch = pitch_of(p, c, p.pitch_b, p.aligned_output);
  c.early = early_of(device, p, c);
  const bool alike = p.aligned && p.aligned_output && c.pitch == c.staged_pitch;  // results lie as A's numbers do
  c.apart = c.output_in_ring || !alike;
  return fit_stages(device, p, c, 1, 3);
}

// The bytes of a column's piece, and the most bytes of a chunk. As measured on an H200, shorter pieces keep memory less
// busy.
constexpr std::int64_t longest_piece = 4096;
constexpr std::int64_t largest_chunk = 49152;

bool complete_column_ring(const CudaDevice& device, const CudaTsmmProblem& p, ColumnRing& c) {
  if (in_double(c)) return complete_in_double(device, p, c);
  if (!serves(device, p, c)) return false;
  c.rows = is_split(c) ? warpgroup_rows * c.blocks_n : static_cast<int>(longest_piece / (p.parts * p.real_bytes));
  c.output_in_ring = p.reads_output && !(is_split(c) && fetches_old(p, c));
  bool fits = fit_pieces(device, p, c);
  if (!fits && is_split(c) && c.output_in_ring) {
    c.output_in_ring = false;
    c.stages = 0;
    fits = fit_pieces(device, p, c);
  }
  for (const int least = 32 * c.blocks_n; !is_split(c) && c.rows > least; fits = fit_pieces(device, p, c)) {
    if (fits && p.m * c.rows * p.real_bytes <= largest_chunk) break;
    c.rows /= 2;
    c.stages = 0;
  }
  if (!fits) return false;
  // As measured on an H200, blocks would take tickets too often for 3 and 4 columns without tensor cores.
  finish(device, p, c, is_split(c) ? 32768 : 49152);
  return true;
}

void add_column_ring(const TsmmCandidates& to) {
  if (to.kind.policy == Policy::usual) return add_in_double(to);
  using C = ColumnRing;
  if (to.kind.policy == Policy::fma) {
    for (const TileShape& tile : tsmm_column_ring_fma_shapes) {  // the first that holds B's columns is the narrowest
      if (to.add(start<C>(tile)) && !to.all) return;
    }
    return;
  }
  // The best tile is the narrowest one that holds B's rows, and among these the one with the longest chunks. For
  // updates, tiles are preferred whose stages have room for the old values of B.
  C best{};
  const auto order = [&](const C& x) { return std::tuple(x.output_in_ring, -x.tile_n, x.blocks_n); };
  for (const TileShape& tile : tsmm_column_ring_tf32_shapes) {
    auto c = start<C>(tile);
    if (to.all) {
      to.add(c, {{&C::chunks_per_ticket, {1, 2, 3, 4}}});
    } else if (to.completes(c) && (best.tile_n == 0 || order(c) > order(best))) {
      best = c;
    }
  }
  if (best.tile_n != 0) to.found.push_back(best);
}

// The work but for products. Shared memory moves all numbers `passes` times: they are stored there, read, and replaced
// by results.
CudaWork column_work(const CudaDevice& device, const CudaTsmmProblem& p, const ColumnRing& c, int passes) {
  CudaWork work = tsmm_work(device, p, c, 0.97);
  work.shared_clocks = rows_of_block(p, c, c.early) * static_cast<double>(p.m + p.n) * passes * p.real_bytes / 128;
  work.bytes_in_flight = (c.stages - 0.5) * static_cast<double>(bytes_of_stage(p, c));
  return work;
}

CudaWork in_double_work(const CudaDevice& device, const CudaTsmmProblem& p, const ColumnRing& c) {
  CudaWork work = column_work(device, p, c, 2);
  const double busy_part = static_cast<double>(computing_warps) / (c.groups * c.row_warps * c.warps);
  const double products =
      rows_of_block(p, c, c.early) / 16 * c.warps * c.tile_n * static_cast<double>(ceil_div(p.m, 16)) * busy_part;
  work.product_clocks = products * 16;
  work.shared_clocks += products * (16.0 / c.tile_n + 8.0 / c.blocks_n);
  work.overlap = 0.5;
  work.products = CudaProducts::f64_tensor;
  return work;
}

CudaWork column_ring_work(const CudaDevice& device, const CudaTsmmProblem& p, const ColumnRing& c) {
  if (in_double(c)) return in_double_work(device, p, c);
  CudaWork work = column_work(device, p, c, 3);  // bank conflicts slow it down
  work.overlap = 0.8;
  const double rows = rows_of_block(p, c, c.early);
  if (is_split(c)) {
    add_tf32_clocks(work, p, rows, 8 * c.tile_n);
    return work;
  }
  const double products = rows * static_cast<double>(p.m) * c.tile_n * p.parts;
  work.product_clocks = products * p.real_bytes / 512;
  work.shared_clocks += products * p.real_bytes / (512 * c.blocks_n);
  work.products = p.real_bytes == 4 ? CudaProducts::f32_fma : CudaProducts::f64_fma;
  return work;
}

bool is_compiled(const CudaTsmmProblem& p, const ColumnRing& c) {
  const auto is_in = [&](const auto& compiled) {
    return is_among(compiled, p.real_bytes, c.blocks_n, c.tile_n, p.parts);
  };
  if (in_double(c)) return is_in(tsmm_column_ring_compiled);
  return is_split(c) ? is_in(tsmm_column_ring_tf32_compiled) : is_in(tsmm_column_ring_fma_compiled);
}

std::span<const Field<ColumnRing>> fields(const CudaKind& kind) {
  using C = ColumnRing;
  static constexpr Field<C> tile{"tile", &C::blocks_n, &C::tile_n}, warps{"warps", &C::row_warps, &C::warps},
      groups{"groups", &C::groups}, stages{"stages", &C::stages}, ticket{"ticket", &C::chunks_per_ticket};
  static constexpr Field<C> in_double[] = {tile, warps, groups, stages, ticket};
  static constexpr Field<C> others[] = {tile, stages, ticket};
  if (kind.policy == Policy::usual) return in_double;
  return others;
}

}  // namespace

const TsmmEntry<ColumnRing> ColumnRing::entry{
    {}, is_compiled, complete_column_ring, column_ring_work, add_column_ring, fields};

}  // namespace blockvec::kernels::dispatch

#include "src/dispatch/cuda/tsmm/column_ring.hpp"

#include <algorithm>
#include <iterator>

#include "src/dispatch/cuda/banks.hpp"
#include "src/dispatch/cuda/kernels.hpp"
#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/stages.hpp"

namespace blockvec::kernels::dispatch {
namespace {

constexpr int column_static_bytes = 4096;   // for barriers and the like
constexpr std::int64_t most_columns = 128;  // of A; `strided` serves more

// Whether this kernel can serve a product. Complex numbers are read and written as a whole, so they must be aligned.
bool columns_serve(const CudaDevice& device, const CudaTsmmProblem& p) {
  return device.bulk_copies && !p.row_major && p.m > 0 && p.real_bytes == 8 && (p.parts == 1 || p.aligned);
}

std::int64_t scalars_of(const CudaTsmmProblem& p) { return p.m / p.parts; }

// The pitch of columns in a stage. Modulo 16 bytes it equals their distance in memory, and lanes meet different banks.
// If columns of real numbers begin at odd places, the pitch equals the distance modulo a whole line where possible.
// That is faster, as measured on an H200.
int pitch_of(const CudaTsmmProblem& p, const ColumnRing& c, std::int64_t distance) {
  const int unit = 16 / p.real_bytes;
  if (p.parts == 1 && (distance % unit == 0 || !p.reads_output)) {
    if (distance % unit == 0) return c.rows + (distance % 4 == 0 ? 4 : 2);
    const int place = static_cast<int>(distance % (line_bytes / p.real_bytes));
    return c.rows + (place > unit ? place : place + line_bytes / p.real_bytes);
  }
  return c.rows * p.parts + std::max(unit, 2 * p.parts) + static_cast<int>(distance % unit);
}

// Overlap rows: a row tile (chunk) holds them before the rows that it stores, so that it stores whole lines of memory
// if columns begin at odd places. As measured on an H200, this is faster for many columns, whose pieces are short. At
// even places, it costs more than it gains. In place, a chunk must not hold rows that another one stores.
int early_of(const CudaDevice& device, const CudaTsmmProblem& p, const ColumnRing& c) {
  constexpr int line = line_bytes / 8;
  const bool short_pieces = p.parts == 1 && p.n >= 44 && p.n <= 64 && p.m <= 64 && c.rows >= 8 * line;
  const bool many_chunks = p.k >= std::int64_t{8} * c.rows * device.multiprocessors;
  return short_pieces && many_chunks && !p.in_place && p.pitch_b % 2 != 0 ? line : 0;
}

// Bytes of packed C, whose real rows are padded to a multiple of 16.
std::int64_t small_bytes(const CudaTsmmProblem& p, const ColumnRing& c) {
  return round_up(p.m, 16) * c.warps * c.tile_n * 8 * std::int64_t{sizeof(double)};
}

// Bytes of a stage. Results replace A's numbers, or B's old values if these come along.
std::int64_t bytes_of_stage(const CudaTsmmProblem& p, const ColumnRing& c) {
  const std::int64_t a = column_bytes(scalars_of(p), c.pitch, p.real_bytes);
  const std::int64_t b = column_bytes(p.n / p.parts, c.staged_pitch, p.real_bytes);
  return p.reads_output ? a + b : std::max(a, b);
}

bool fit_stages(const CudaDevice& device, const CudaTsmmProblem& p, ColumnRing& c) {
  const std::int64_t room = device.shared_bytes - column_static_bytes - small_bytes(p, c);
  const std::int64_t stage = bytes_of_stage(p, c);
  // Each of several groups, and each warp that stores, always meets the same stages. Else it could mistake an earlier
  // filling of a stage for its own.
  const int step = c.groups;
  if (c.stages == 0) c.stages = static_cast<int>(std::clamp<std::int64_t>(room / stage, 0, 32)) / step * step;
  c.shared_bytes = static_cast<int>(small_bytes(p, c) + c.stages * stage);
  const bool one_waits = p.parts == 1 && !p.reads_output;  // one stage is loaded while another one is multiplied
  const int least = std::max(c.groups + 1, one_waits ? 2 : 3);
  return c.stages >= least && c.stages % step == 0 && c.stages <= max_stages && c.stages * stage <= room;
}

}  // namespace

static bool complete_column_ring(const CudaDevice& device, const CudaTsmmProblem& p, ColumnRing& c) {
  if (!columns_serve(device, p) || scalars_of(p) > most_columns) return false;
  const std::int64_t warps = ceil_div(p.n, 8 * c.tile_n);
  if (warps * c.row_warps > computing_warps) return false;
  c.warps = static_cast<int>(warps);
  const bool any_groups = c.groups == 0;
  if (c.groups == 0) c.groups = computing_warps / (c.warps * c.row_warps);
  if (c.groups * c.warps * c.row_warps > computing_warps) return false;
  c.rows = 16 * c.blocks_n * c.row_warps;
  c.pitch = pitch_of(p, c, p.pitch_a);
  c.staged_pitch = pitch_of(p, c, p.pitch_b);
  c.columns = static_cast<int>(scalars_of(p));
  c.early = early_of(device, p, c);
  c.output_in_ring = p.reads_output;
  for (ColumnRing tried = c; !fit_stages(device, p, tried); tried = c) {
    if (!any_groups || c.groups == 1) return false;
    c.groups /= 2;
  }
  fit_stages(device, p, c);
  if (c.chunks_per_ticket == 0) c.chunks_per_ticket = chunks_of_ticket((p.m + p.n) * c.rows * p.real_bytes);
  c.parts = std::min<std::int64_t>(ceil_div(p.k, c.rows - c.early), device.multiprocessors);
  c.workspace_bytes = 2 * workspace_alignment;
  return true;
}

namespace {

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

// Returns the number of warps along the rows to try next, if `row_warps` do not fit.
int fewer_warps(int row_warps) { return row_warps == 8 ? 6 : row_warps == 6 ? 4 : row_warps / 2; }

// Whether the kernel `strided`, which uses TMA tiles, is better: for columns that do not fit into a stage at once, or
// for too many results for registers.
bool boxes_are_better(const CudaTsmmProblem& p) {
  const bool few_results = p.m >= most_columns ? p.m >= 4 * p.n : p.m > 4 * p.n;
  return few_results || p.n > (p.parts == 2 ? 96 : 64);
}

}  // namespace

static void add_column_ring(const TsmmKind&, const CudaDevice& device, const CudaTsmmProblem& p, Search search,
                            std::vector<CudaTsmm>& to) {
  if (p.real_bytes == 4) return;
  const auto add = [&](const Shape& shape) {
    ColumnRing c{};
    c.kernel = TsmmKernel::column_ring;
    c.blocks_n = shape.tile.m;
    c.tile_n = shape.tile.n;
    c.row_warps = shape.row_warps;
    if (!complete(device, p, c)) return false;
    to.push_back(c);
    return true;
  };
  if (search == Search::usual) {
    if (boxes_are_better(p)) return;
    Shape shape = usual_shape(p);
    for (; shape.row_warps > 0; shape.row_warps = fewer_warps(shape.row_warps)) {
      if (add(shape)) return;
    }
    return;
  }
  for (const TileShape& tile : tsmm_column_ring_shapes) {
    for (const int row_warps : {8, 4, 2, 1}) add({tile, row_warps});
  }
}

static CudaWork column_ring_work(const CudaDevice& device, const CudaTsmmProblem& p, const ColumnRing& c) {
  const std::int64_t turns = ceil_div(ceil_div(p.k, c.rows - c.early), c.parts);
  const auto rows = static_cast<double>(turns * c.rows);
  CudaWork work{};
  work.bytes = tall_bytes(p);
  work.bandwidth = 0.97 * device.copy_bandwidth;
  // Chunks are stored in shared memory, read, and replaced by results.
  const double moved = rows * static_cast<double>(p.m + p.n) * 2 * p.real_bytes / 128;
  const double busy_part = static_cast<double>(computing_warps) / (c.groups * c.row_warps * c.warps);
  const double products = rows / 16 * c.warps * c.tile_n * static_cast<double>(ceil_div(p.m, 16));
  work.product_clocks = products * 16 * busy_part;
  work.shared_clocks = products * (16.0 / c.tile_n + 8.0 / c.blocks_n) * busy_part + moved;
  work.overlap = 0.5;
  work.tensor_cores = true;
  work.parts = static_cast<double>(c.parts);
  work.bytes_in_flight = (c.stages - 0.5) * static_cast<double>(bytes_of_stage(p, c));
  work.launches = 2;
  work.waits = 2;
  return work;
}

static bool is_compiled(const CudaTsmmProblem& p, const ColumnRing& c) {
  return is_among(tsmm_column_ring_compiled, p.real_bytes, c.blocks_n, c.tile_n, p.parts);
}

static std::span<const Field<ColumnRing>> fields(const TsmmKind&) {
  using C = ColumnRing;
  static constexpr Field<C> all[] = {{"tile", &C::blocks_n, &C::tile_n},
                                     {"warps", &C::row_warps, &C::warps},
                                     {"groups", &C::groups},
                                     {"stages", &C::stages},
                                     {"ticket", &C::chunks_per_ticket}};
  return all;
}

const TsmmEntry<ColumnRing> ColumnRing::entry{fields, is_compiled, complete_column_ring, column_ring_work,
                                              add_column_ring};

}  // namespace blockvec::kernels::dispatch

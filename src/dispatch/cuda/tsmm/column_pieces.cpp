#include <algorithm>
#include <tuple>

#include "src/dispatch/cuda/kernels.hpp"
#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/stages.hpp"

namespace blockvec::kernels::dispatch {
namespace {

int unit_of(const CudaTsmmProblem& p) { return 16 / p.real_bytes; }  // real numbers in a unit of bulk copies
int line_of(const CudaTsmmProblem& p) { return line_bytes / p.real_bytes; }

bool is_split(const ColumnPieces& c) { return c.policy == Policy::tf32; }

// Whether all columns begin at multiples of `numbers` real numbers. `aligned`: the first column does.
bool begins_at(bool aligned, std::int64_t pitch, int numbers) { return aligned && pitch % numbers == 0; }

// The pitch of columns in a stage. Modulo 16 bytes it equals their distance in memory. For tensor cores, four columns
// lie in different banks. For TMA tiles (boxes), columns have no gap between them.
int pitch_of(const CudaTsmmProblem& p, const ColumnPieces& c, std::int64_t distance, bool aligned) {
  const int unit = unit_of(p);
  const int numbers = c.rows * p.parts;
  if (is_split(c) && begins_at(aligned, distance, unit)) return numbers;
  int pitch = numbers + unit + static_cast<int>(distance % unit);
  while (is_split(c) && pitch % 16 / unit != 2) pitch += unit;
  return pitch;
}

// Overlap rows: a row tile (chunk) holds them before the rows that it stores, so that it stores from a whole line on,
// or from a sector if chunks are short. In place, a chunk must not hold rows that another one stores.
int early_of(const CudaTsmmProblem& p, const ColumnPieces& c) {
  if (p.in_place || (is_split(c) && begins_at(p.aligned_output, p.pitch_b, unit_of(p)))) return 0;
  return (is_split(c) || c.rows < 256 ? line_of(p) / 4 : line_of(p)) / p.parts;
}

// Whether results lie in a stage exactly as A's numbers do.
bool alike(const CudaTsmmProblem& p, const ColumnPieces& c) {
  return p.aligned && p.aligned_output && c.pitch == c.staged_pitch;
}

// Bytes of C in shared memory: high and low for 3xTF32, in steps of 8 pairs of real numbers; else row by row.
std::int64_t small_bytes(const CudaTsmmProblem& p, const ColumnPieces& c) {
  if (is_split(c)) return ceil_div(p.m, 16) * 4 * 8 * 8 * c.tile_n * std::int64_t{sizeof(float)};
  return round_up(p.m * c.tile_n * p.real_bytes, 16);
}

// Bytes of a stage. Results replace A's numbers if they lie alike, or else the old values of B, or have their own
// place.
std::int64_t bytes_of_stage(const CudaTsmmProblem& p, const ColumnPieces& c) {
  const std::int64_t a = piece_bytes(p.m / p.parts, c.pitch, p.real_bytes);
  const std::int64_t b = piece_bytes(p.n / p.parts, c.staged_pitch, p.real_bytes);
  return c.output_in_ring || c.staged != 0 ? a + b : std::max(a, b);
}

bool serves(const CudaDevice& device, const CudaTsmmProblem& p, const ColumnPieces& c) {
  if (p.row_major || p.m <= 0 || c.blocks_n == 0) return false;
  if (p.real_bytes == 4 && !p.may_split) return false;  // sums are of A's precision
  const bool has_kernel = is_split(c) ? device.warpgroups && p.real_bytes == 4 : device.bulk_copies;
  return has_kernel && p.n <= (is_split(c) ? 8 : 1) * c.tile_n * p.parts;
}

bool in_short_pieces(const CudaTsmmProblem& p, const ColumnPieces& c) { return c.rows * p.parts * p.real_bytes < 768; }

// Whether the old values of B are read from the cache instead of through stages. As measured on an H200, that is better
// if stages would otherwise hold only short pieces of columns. But if columns begin at multiples of 16 bytes, stages
// are faster with short pieces, too.
bool fetches_old(const CudaTsmmProblem& p, const ColumnPieces& c) {
  const bool even = begins_at(p.aligned, p.pitch_a, unit_of(p)) && begins_at(p.aligned_output, p.pitch_b, unit_of(p));
  return in_short_pieces(p, c) && !(even && may_hold_old(p.parts, c.blocks_n, c.tile_n));
}

// Sets what follows from the rows of a chunk. Returns false if too few stages fit.
bool fit_pieces(const CudaDevice& device, const CudaTsmmProblem& p, ColumnPieces& c) {
  c.pitch = pitch_of(p, c, p.pitch_a, p.aligned);
  c.staged_pitch = pitch_of(p, c, p.pitch_b, p.aligned_output);
  c.early = early_of(p, c);
  c.staged = alike(p, c) ? 0 : 1;
  const std::int64_t room = device.shared_bytes - static_bytes - small_bytes(p, c);
  const std::int64_t stage = bytes_of_stage(p, c);
  const int stages = static_cast<int>(std::clamp<std::int64_t>(room / stage, 0, 32));
  if (c.stages == 0) c.stages = stages;
  c.shared_bytes = static_cast<int>(small_bytes(p, c) + c.stages * stage);
  return c.stages >= 3 && c.stages <= stages;
}

// The bytes of a column's piece, and the most bytes of a chunk. As measured on an H200, shorter pieces keep memory less
// busy.
constexpr std::int64_t longest_piece = 4096;
constexpr std::int64_t largest_chunk = 49152;

}  // namespace

static bool complete_column_pieces(const CudaDevice& device, const CudaTsmmProblem& p, ColumnPieces& c) {
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
  if (c.chunks_per_ticket == 0) {
    // As measured on an H200, blocks would take tickets too often for 3 and 4 columns without tensor cores.
    c.chunks_per_ticket = chunks_of_ticket((p.m + p.n) * c.rows * p.real_bytes, is_split(c) ? 32768 : 49152);
  }
  c.parts = std::min<std::int64_t>(ceil_div(p.k, c.rows - c.early), device.multiprocessors);
  c.workspace_bytes = 2 * workspace_alignment;
  return true;
}

static void add_column_fma(const CudaDevice& device, const CudaTsmmProblem& p, Search search,
                           std::vector<CudaTsmm>& to) {
  for (const TileShape& tile : tsmm_column_ring_fma_shapes) {  // the first that holds B's columns is the narrowest
    ColumnPieces c{};
    static_cast<TsmmKind&>(c) = {TsmmKernel::column_ring, Policy::fma};
    c.blocks_n = tile.m;
    c.tile_n = tile.n;
    if (!complete(device, p, c)) continue;
    to.push_back(c);
    if (search != Search::all) return;
  }
}

static void add_column_tf32(const CudaDevice& device, const CudaTsmmProblem& p, Search search,
                            std::vector<CudaTsmm>& to) {
  const auto legal = [&](const TileShape& tile, int ticket, ColumnPieces& c) {
    c = {};
    static_cast<TsmmKind&>(c) = {TsmmKernel::column_ring, Policy::tf32};
    c.blocks_n = tile.m;
    c.tile_n = tile.n;
    c.chunks_per_ticket = ticket;
    return complete(device, p, c);
  };
  if (p.real_bytes != 4) return;
  ColumnPieces c{};
  if (search != Search::all && p.m * p.n < 4 * (p.m + p.n)) return;  // narrower ones are faster without tensor cores
  if (search == Search::all) {
    for (const TileShape& tile : tsmm_column_ring_tf32_shapes) {
      for (const int ticket : {0, 2, 3}) {
        if (legal(tile, ticket, c)) to.push_back(c);
      }
    }
    return;
  }
  // The best tile is the narrowest one that holds B's rows, and among these the one with the longest chunks. For
  // updates, tiles are preferred whose stages have room for the old values of B.
  ColumnPieces best{};
  const auto order = [&](const ColumnPieces& x) {
    const bool roomy = x.output_in_ring && (p.parts == 1 || !in_short_pieces(p, x));
    return std::tuple(roomy, -x.tile_n, x.blocks_n);
  };
  for (const TileShape& tile : tsmm_column_ring_tf32_shapes) {
    if (legal(tile, 0, c) && (best.tile_n == 0 || order(c) > order(best))) best = c;
  }
  if (best.tile_n != 0) to.push_back(best);
}

static CudaWork column_pieces_work(const CudaDevice& device, const CudaTsmmProblem& p, const ColumnPieces& c) {
  const std::int64_t turns = ceil_div(ceil_div(p.k, c.rows - c.early), c.parts);
  const auto rows = static_cast<double>(turns * c.rows);
  CudaWork work{};
  work.bytes = tall_bytes(p);
  work.bandwidth = 0.97 * device.copy_bandwidth;
  // A's rows are stored in shared memory, read, and replaced by results; bank conflicts slow these down.
  const double moved = rows * static_cast<double>(p.m + p.n) * 3 * p.real_bytes / 128;
  if (is_split(c)) {
    // 3xTF32 makes three products on tensor cores, which multiply 1024 numbers per clock. A complex product takes four
    // real ones. Tensor cores read C again for every 64 rows.
    const double products = rows * static_cast<double>(round_up(p.m, 16)) * 8 * c.tile_n * (p.parts == 2 ? 6 : 3);
    work.product_clocks = products / 1024;
    work.shared_clocks = products / 2048 + moved;
  } else {
    const double products = rows * static_cast<double>(p.m) * c.tile_n * p.parts;
    work.product_clocks = products * p.real_bytes / 512;
    work.shared_clocks = products * p.real_bytes / (512 * c.blocks_n) + moved;
  }
  work.overlap = 0.8;
  work.tensor_cores = is_split(c);
  work.parts = static_cast<double>(c.parts);
  work.bytes_in_flight = (c.stages - 0.5) * static_cast<double>(bytes_of_stage(p, c));
  work.launches = 2;
  work.waits = 2;
  return work;
}

static void add_column_pieces(const TsmmKind& kind, const CudaDevice& device, const CudaTsmmProblem& p, Search search,
                              std::vector<CudaTsmm>& to) {
  if (kind.policy == Policy::fma) return add_column_fma(device, p, search, to);
  add_column_tf32(device, p, search, to);
}

static bool is_compiled(const CudaTsmmProblem& p, const ColumnPieces& c) {
  if (is_split(c)) return is_among(tsmm_column_ring_tf32_compiled, p.real_bytes, c.blocks_n, c.tile_n, p.parts);
  return is_among(tsmm_column_ring_fma_compiled, p.real_bytes, c.blocks_n, c.tile_n, p.parts);
}

static std::span<const Field<ColumnPieces>> fields(const TsmmKind&) {
  using C = ColumnPieces;
  static constexpr Field<C> all[] = {
      {"tile", &C::blocks_n, &C::tile_n}, {"stages", &C::stages}, {"ticket", &C::chunks_per_ticket}};
  return all;
}

const TsmmEntry<ColumnPieces> ColumnPieces::entry{fields, is_compiled, complete_column_pieces, column_pieces_work,
                                                  add_column_pieces};

}  // namespace blockvec::kernels::dispatch

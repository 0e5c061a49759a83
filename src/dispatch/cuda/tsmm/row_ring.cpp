#include <algorithm>
#include <limits>

#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/stages.hpp"

namespace blockvec::kernels::dispatch {
namespace {

// Whether the rows of a view come as TMA tiles (boxes), one per row tile. Tensor maps count in 32 bits, and in units of
// 16 bytes.
bool comes_in_boxes(const CudaDevice& device, std::int64_t k, std::int64_t width, std::int64_t pitch, int real_bytes,
                    bool aligned) {
  const std::int64_t most = std::numeric_limits<std::int32_t>::max() - 4096;
  return device.bulk_copies && aligned && k < most && pitch != width && pitch * real_bytes % 16 == 0 &&
         round_up(width, 16 / real_bytes) <= longest_box;
}

// The pitches of rows of A and of B in a stage.
std::int64_t stage_pitch_a(const CudaTsmmProblem& p, const RowRing& c) {
  return c.boxes_a ? round_up(p.m, 16 / p.real_bytes) : p.pitch_a;
}
std::int64_t stage_pitch_b(const CudaTsmmProblem& p, const RowRing& c) {
  return c.boxes_b ? round_up(p.n, 16 / p.real_bytes) : p.pitch_b;
}

bool is_split(const RowRing& c) { return c.policy == Policy::tf32; }
int ring_warps(const RowRing& c) { return is_split(c) ? split_warps({c.tile_n, c.blocks_n}) : computing_warps; }

bool by_fma(const RowRing& c) { return c.policy == Policy::fma; }
bool sums_in_single(const RowRing& c) { return by_fma(c) && c.blocks_n > widest_exact_narrow; }

std::int64_t ring_stage_bytes(const CudaTsmmProblem& p, const RowRing& c) {
  return stage_bytes(c.rows, stage_pitch_a(p, c), p.real_bytes) +
         (c.output_in_ring ? stage_bytes(c.rows, stage_pitch_b(p, c), p.real_bytes) : 0);
}

// Bytes of C, as the kernel keeps it in shared memory.
std::int64_t small_bytes(const CudaTsmmProblem& p, const RowRing& c) {
  if (is_split(c)) return std::int64_t{8} * c.warps * c.tile_n * 16 * round_up(p.m, 8);  // high and low
  if (by_fma(c)) {
    const std::size_t bytes = sums_in_single(c) ? sizeof(float) : sizeof(double);
    return static_cast<std::int64_t>(bytes) * c.blocks_n * narrow_depth(c.blocks_n);
  }
  return std::int64_t{sizeof(double)} * c.warps * c.tile_n * ceil_div(p.m, 4) * 64;
}

int row_step(const CudaTsmmProblem& p, const RowRing& c) {
  return std::max(by_fma(c) ? 32 : 8 * c.blocks_n, least_rows(p.real_bytes));
}

// Divides a block's shared memory among stages, results on their way out, and C. Returns false if they do not fit.
bool fit_stages(const CudaDevice& device, const CudaTsmmProblem& p, RowRing& c) {
  const std::int64_t stage = ring_stage_bytes(p, c);
  const std::int64_t pitch_out = c.boxes_b ? stage_pitch_b(p, c) : p.n;
  const std::int64_t fixed = small_bytes(p, c) + c.groups * stage_bytes(c.rows, pitch_out, p.real_bytes);
  const std::int64_t room = device.shared_bytes - static_bytes;
  const bool chosen = c.stages != 0;
  if ((c.boxes_a || c.boxes_b) && c.rows > longest_box) return false;
  if (fixed + (chosen ? c.stages : 1) * stage > room) return false;
  if (!chosen) c.stages = whole_groups((room - fixed) / stage, c.groups);
  c.shared_bytes = static_cast<int>(fixed + c.stages * stage);
  // Every group works on one stage while another one is filled, and enough bytes are on their way at any time. Kernels
  // that multiply less need fewer.
  const std::int64_t usual_bytes = c.boxes_a ? 24576 : is_split(c) ? 49152 : 65536;
  // Devices with little shared memory have less bandwidth for each multiprocessor, too.
  const std::int64_t least_bytes = device.shared_bytes < 131072 ? 16384 : usual_bytes;
  const bool enough =
      c.stages >= 2 * c.groups && c.stages % c.groups == 0 && c.stages <= max_stages && c.stages * stage >= least_bytes;
  if (!chosen && !enough) c.stages = 0;
  return enough;
}

// Rows of views lie far apart. Memory serves them best in small chunks. Where much is also written, only little should
// be on its way at a time.
bool is_scattered(const CudaTsmmProblem& p, const RowRing& c) { return c.boxes_a && !p.reads_output; }
bool fit_scattered(const CudaDevice& device, const CudaTsmmProblem& p, RowRing& c) {
  if (c.groups != 0 || c.rows != 0 || c.stages != 0) return false;
  constexpr std::int64_t good_bytes = 65536;
  const std::int64_t bytes = stage_pitch_a(p, c) * p.real_bytes;
  const bool reads = p.m >= 4 * p.n && p.m <= 48;
  RowRing tried = c;
  const bool splits_few = is_split(c) && c.tile_n == 1;  // these multiply fast
  tried.groups = std::min(reads ? 8 : splits_few ? 6 : 4, ring_warps(c) / c.warps);
  tried.rows = std::max(32, chunk_rows(bytes + p.n * p.real_bytes, 14336, p.real_bytes, p.k,
                                       std::int64_t{device.multiprocessors} * tried.groups));
  if (!reads) {
    tried.stages = std::max(2, static_cast<int>(good_bytes / (tried.rows * bytes * tried.groups))) * tried.groups;
  }
  if (tried.rows % row_step(p, c) != 0 || !fit_stages(device, p, tried)) return false;
  c = tried;
  return true;
}

// Chooses the most consumer warp groups and the longest chunks that fit, if the configuration leaves them open.
bool fit_groups(const CudaDevice& device, const CudaTsmmProblem& p, RowRing& c) {
  const int most_groups = ring_warps(c) / c.warps;
  if (c.groups > most_groups) return false;
  if (is_scattered(p, c) && fit_scattered(device, p, c)) return true;
  const int step = row_step(p, c);
  const std::int64_t row_bytes = stage_pitch_a(p, c) * p.real_bytes;
  const std::int64_t most_bytes = by_fma(c) && p.real_bytes == 4 ? 7168 : 8192;
  const int least_groups = c.groups;
  const int chosen_rows = c.rows;
  // As measured on an H200, twelve groups with shorter chunks are slower than eight with longer ones.
  constexpr std::int64_t least_bytes_of_twelve = 3712;
  int groups = least_groups != 0 ? least_groups : most_groups;
  for (; groups > 0; groups = groups > computing_warps ? computing_warps : groups / 2) {
    c.groups = groups;
    c.rows = chosen_rows != 0 ? chosen_rows
                              : std::max(step, chunk_rows(row_bytes, most_bytes, p.real_bytes, p.k,
                                                          std::int64_t{device.multiprocessors} * groups));
    for (; c.rows >= step; c.rows /= 2) {
      if (least_groups == 0 && groups > computing_warps && c.rows * row_bytes < least_bytes_of_twelve) break;
      if (fit_stages(device, p, c)) return true;
      if (chosen_rows != 0) break;
    }
    if (least_groups != 0) break;
  }
  return false;
}

bool complete_row_ring(const CudaDevice& device, const CudaTsmmProblem& p, RowRing& c) {
  if (!p.row_major || p.m <= 0 || p.may_skip_a) return false;
  if (!streams(p.m, p.pitch_a) && !boxes_a_serve(device, p)) return false;
  c.boxes_a = !streams(p.m, p.pitch_a);
  // TMA tiles are written in whole units of 16 bytes, which must belong to B.
  c.boxes_b =
      p.n * p.real_bytes % 16 == 0 && comes_in_boxes(device, p.k, p.n, p.pitch_b, p.real_bytes, p.aligned_output);
  if (by_fma(c) && (p.n > c.blocks_n || p.m > narrow_depth(c.blocks_n))) return false;
  if (sums_in_single(c) && !p.may_split) return false;
  if (is_split(c) && (!p.may_split || p.real_bytes != 4)) return false;
  const std::int64_t warps = by_fma(c) ? 1 : ceil_div(ceil_div(p.n, 16), c.tile_n);
  if (warps > ring_warps(c)) return false;
  c.warps = static_cast<int>(warps);
  c.output_in_ring = p.reads_output && (c.boxes_b || streams(p.n, p.pitch_b));
  if (c.rows % row_step(p, c) != 0 || !fit_groups(device, p, c)) return false;
  // Bytes of A and B per ticket, as measured on an H200 for squares and for narrow B.
  const std::int64_t chunk_bytes = c.rows * (stage_pitch_a(p, c) + p.n) * p.real_bytes;
  set_tickets(device, ceil_div(p.k, c.rows), chunks_of_ticket(chunk_bytes, is_scattered(p, c) ? 24576 : 32768), c);
  return true;
}

CudaWork row_ring_work(const CudaDevice& device, const CudaTsmmProblem& p, const RowRing& c) {
  const double rows = rows_of_block(p, c);
  const double busy_part = static_cast<double>(ring_warps(c)) / (c.groups * c.warps);
  // If groups are few, they wait for one another's stages, except groups that multiply little.
  CudaWork work = tsmm_work(device, p, c, std::min(1.0, 0.42 * c.groups));
  work.bytes += static_cast<double>(p.k) * static_cast<double>(stage_pitch_a(p, c) - p.m) * p.real_bytes;
  if (p.reads_output && p.real_bytes == 4) work.bandwidth *= 0.75;  // as measured on an H200
  if (by_fma(c)) {
    const double sets = rows / 32;
    work.product_clocks = sets * static_cast<double>(p.m) * c.blocks_n / (sums_in_single(c) ? 4 : 2);
    work.shared_clocks = sets * static_cast<double>(p.m + p.n) * 2;
    work.overlap = 0.9;
    work.products = sums_in_single(c) ? CudaProducts::f32_fma : CudaProducts::f64_fma;
  } else {
    // Each entry of C that is read serves blocks_n sets of rows, each of A tile_n sets of columns. Idle warps and
    // columns cost as much as busy ones.
    const double products = rows / 8 * c.warps * c.tile_n * static_cast<double>(ceil_div(p.m, 4)) / 4;
    work.product_clocks = products * (is_split(c) ? 10 : 16) * busy_part;
    work.shared_clocks = products * (16.0 / c.blocks_n + 12.0 / c.tile_n) * busy_part;
    work.overlap = is_split(c) ? 0.6 : 0.25;
    work.products = is_split(c) ? CudaProducts::tf32_tensor : CudaProducts::f64_tensor;
  }
  work.bytes_in_flight = static_cast<double>(c.stages * ring_stage_bytes(p, c));
  return work;
}

void add_shape(const TsmmCandidates& to, int tile_n, int blocks_n) {
  using C = RowRing;
  to.add(start<C>({blocks_n, tile_n}), {{&C::groups, {1, 2, 4, 8, 12}},
                                        {&C::rows, {16, 32, 64, 128, 256, 512}},
                                        {&C::stages, {4, 8, 12, 16, 24}},
                                        {&C::chunks_per_ticket, {1, 2, 4, 8, 16}}});
}

void add_row_ring(const TsmmCandidates& to) {
  const CudaTsmmProblem& p = to.problem;
  const bool limited = waits_for_double(to.device, p);
  // As measured on an H200, conversions to double precision would limit narrow views that are written as much as read.
  const bool split = p.real_bytes == 4 && p.may_split && !streams(p.m, p.pitch_a) && p.n <= 16 &&
                     (p.parts == 2 ? p.m >= 32 && p.n > 8 : p.m >= 16 && p.m < 4 * p.n && p.n > 4 && p.n <= 8);
  if (to.kind.policy == Policy::fma) {
    for (const Columns& shape : tsmm_row_ring_fma_shapes) {
      // Measured on an H200 for 9 and 10 columns. Tensor cores are as fast from 11 columns on, in double precision from
      // 5 on.
      const bool is_better = shape.n <= (p.real_bytes == 4 ? widest_exact_narrow : 4) || p.n == 9 || p.n == 10;
      if (to.all || ((is_better || limited) && !split)) add_shape(to, 0, shape.n);
    }
  } else if (to.kind.policy == Policy::usual) {
    for (const TileShape& tile : tsmm_row_ring_shapes) {
      if (to.all || !split) add_shape(to, tile.m, tile.n);
    }
  } else if (p.real_bytes == 4) {
    for (const TileShape& tile : tsmm_row_ring_tf32_shapes) {
      const bool serves =
          tile.m == 1 ? p.n <= 16 && (to.all || split || limited) : limited || 2 * p.m * p.n >= 17 * (p.m + p.n);
      if (serves) add_shape(to, tile.m, tile.n);  // narrower products wait for memory anyway
    }
  }
}

bool is_compiled(const CudaTsmmProblem& p, const RowRing& c) {
  if (is_split(c)) return is_among(tsmm_row_ring_tf32_compiled, p.real_bytes, c.tile_n, c.blocks_n);
  if (by_fma(c)) return is_among(tsmm_row_ring_fma_compiled, p.real_bytes, c.blocks_n);
  return is_among(tsmm_row_ring_compiled, p.real_bytes, c.tile_n, c.blocks_n);
}

std::span<const Field<RowRing>> fields(const CudaKind& kind) {
  using C = RowRing;
  static constexpr Field<C> warps{"warps", &C::warps}, groups{"groups", &C::groups}, rows{"rows", &C::rows},
      stages{"stages", &C::stages}, ticket{"ticket", &C::chunks_per_ticket};
  static constexpr Field<C> ring[] = {{"tile", &C::tile_n, &C::blocks_n}, warps, groups, rows, stages, ticket};
  static constexpr Field<C> fma[] = {{"columns", &C::blocks_n}, groups, rows, stages, ticket};
  if (kind.policy == Policy::fma) return fma;
  return ring;
}

}  // namespace

const TsmmEntry<RowRing> RowRing::entry{{}, is_compiled, complete_row_ring, row_ring_work, add_row_ring, fields};

bool boxes_a_serve(const CudaDevice& device, const CudaTsmmProblem& p) {
  return !streams(p.m, p.pitch_a) && comes_in_boxes(device, p.k, p.m, p.pitch_a, p.real_bytes, p.aligned);
}

}  // namespace blockvec::kernels::dispatch

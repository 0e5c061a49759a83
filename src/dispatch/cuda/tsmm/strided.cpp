#include <algorithm>
#include <limits>

#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/stages.hpp"

namespace blockvec::kernels::dispatch {
namespace {

constexpr std::int64_t unit_bytes = 16;
constexpr int numbers_of_step = 16;         // strided_tf32: of A's columns
constexpr int most_chunks_of_cluster = 16;  // if there are enough: clusters that start late then have little to do

// Real numbers from line to line in memory. A single line may lie anywhere.
std::int64_t distance(const CudaTsmmProblem& p) {
  const std::int64_t lines = p.row_major ? p.k : p.m / p.parts;
  return lines > 1 ? p.pitch_a : round_up(p.row_major ? p.m : p.parts * p.k, 4);
}

// The pitch of lines in a stage that hold `numbers` numbers. With it, the lanes of a warp meet different banks. Each
// lane takes one of four neighbours of a row, or one of four pairs of them, or one of four columns of several
// neighbouring rows.
std::int64_t spread(const CudaTsmmProblem& p, std::int64_t numbers, bool in_pairs = false) {
  const std::int64_t shift = in_pairs ? 8 : p.row_major || p.real_bytes == 8 ? 4 : 8 * p.parts;
  return round_up(numbers + shift, 2 * shift) - shift;
}

bool is_3m(const Strided& c) { return c.policy == Policy::three_m; }
bool is_plain(const Strided& c) { return c.policy == Policy::plain; }
bool is_tf32(const Strided& c) { return c.policy == Policy::tf32; }
bool holds_c(const Strided& c) { return c.kernel == CudaKernel::registers_3m; }
int blocks_of(const Strided& c) { return is_tf32(c) ? 1 : tsmm_box_blocks({c.blocks_n, c.tile_n}); }
int box_rows(const Strided& c) { return 16 * c.row_warps; }
int boxes_of_stage(const Strided& c) { return holds_c(c) ? 1 : c.groups * c.blocks_n; }

// The number of consecutive columns of A that lanes with the same lane % 4 take in turn.
std::int64_t depth_classes(const CudaTsmmProblem& p, const Strided& c) { return p.row_major ? 1 : p.parts * c.classes; }

// Real columns of B that a warp has.
int columns_of_tile(const CudaTsmmProblem& p, const Strided& c) {
  return (is_3m(c) || is_tf32(c) ? p.parts : 1) * 8 * c.tile_n;
}

// Panels (K slices) begin at multiples of this. A single panel that covers the matrix's width also ends at one.
std::int64_t panel_step(const CudaTsmmProblem& p, const Strided& c) {
  if (is_3m(c)) return 8;
  return p.row_major ? 4 : (p.real_bytes == 8 ? 4 : 8) * depth_classes(p, c);
}

// Numbers of one class in a TMA tile, and numbers in a stage.
std::int64_t class_numbers(const CudaTsmmProblem& p, const Strided& c) {
  return (p.row_major ? box_rows(c) / c.classes : c.panel / depth_classes(p, c)) * c.pitch;
}
std::int64_t numbers_of_stage(const CudaTsmmProblem& p, const Strided& c) {
  return boxes_of_stage(c) * c.classes * class_numbers(p, c);
}

// Bytes of `rows` rows of packed C: complex numbers as 2 x 2 real ones, for 3M as re and im, or as re, im and their
// sum, for 3xTF32 every number in two halves.
std::int64_t small_bytes(const Strided& c, std::int64_t rows) {
  const bool with_sums = is_3m(c) && !gauss_by_panels({c.blocks_n, c.tile_n});
  return rows * c.warps * 8 * c.tile_n * std::int64_t{sizeof(double)} * (with_sums ? 3 : 2) / 2;
}

// Bytes of results on their way to memory, which are the rows of blocks_n TMA tiles at a time.
std::int64_t staged_bytes(const CudaTsmmProblem& p, Strided& c) {
  c.staged_pitch = 0;
  if (c.staged == 0) return 0;
  const std::int64_t rows = std::int64_t{box_rows(c)} * c.blocks_n;
  const std::int64_t columns = c.warps * columns_of_tile(p, c);
  c.staged_pitch = static_cast<int>(spread(p, p.row_major ? columns : p.parts * rows));
  return round_up((p.row_major ? rows : columns / p.parts) * c.staged_pitch * p.real_bytes, line_bytes);
}

// Sets the pitch of lines for panels of this width. Returns false if tensor maps cannot make such TMA tiles.
bool fit_panel(const CudaTsmmProblem& p, std::int64_t panel, Strided& c) {
  const std::int64_t lead = !is_plain(c) && (c.classes > 1 || !p.aligned) ? unit_bytes / p.real_bytes - 1 : 0;
  const std::int64_t pitch = spread(p, (p.row_major ? round_up(panel, 4) : p.parts * box_rows(c)) + lead,
                                    (is_3m(c) || is_tf32(c)) && p.row_major);
  if (pitch > longest_box || panel / depth_classes(p, c) > longest_box) return false;
  c.panel = static_cast<int>(panel);
  c.pitch = static_cast<int>(pitch);
  return class_numbers(p, c) * p.real_bytes % line_bytes == 0;
}

// Divides a block's shared memory among stages and what stays besides them. C stays in the block, or its K slices come
// with those of A if it does not fit.
bool fit_ring(const CudaDevice& device, const CudaTsmmProblem& p, Strided& c) {
  const int stages = c.stages;
  for (const bool in_ring : {false, true}) {
    if (in_ring && c.panel >= p.m) break;
    c.small_in_ring = in_ring;
    c.stages = stages;
    const std::int64_t beside = (in_ring ? 0 : small_bytes(c, round_up(p.m, 16))) + staged_bytes(p, c);
    const std::int64_t bytes_a = numbers_of_stage(p, c) * p.real_bytes;
    const std::int64_t stage = bytes_a + (in_ring ? small_bytes(c, c.panel) : 0);
    // These numbers of stages are enough for 3xTF32, as measured on an H200.
    if (fit_stages(device, beside, stage, is_tf32(c) ? 16 : 32, c) &&
        (!is_tf32(c) || stages != 0 || c.stages >= 3 || bytes_a >= 65536 || (!in_ring && c.tile_n >= 8))) {
      return true;
    }
  }
  c.stages = stages;
  return false;
}

// Chooses what a stage holds, which has at most `most_bytes`: one or several sets of whole rows, or a panel. Panels
// have nearly equal widths.
bool fit_stage(const CudaDevice& device, const CudaTsmmProblem& p, Strided& c) {
  constexpr std::int64_t most_bytes = 40960;
  // Warps that copy had better wait for few large stages. Panels of columns have multiples of four columns.
  const std::int64_t good_bytes = is_plain(c) || (!p.row_major && p.m < 4) ? 40960 : 20480;
  const std::int64_t row_numbers = std::int64_t{box_rows(c)} * c.blocks_n;
  const std::int64_t whole = round_up(p.m, panel_step(p, c));
  const bool any_groups = c.groups == 0;
  if (any_groups || is_3m(c)) c.groups = 1;
  if (is_3m(c)) {
    // C comes with A only if a chunk has many rows. Results that are not finite are computed again from A.
    const bool by_panels = gauss_by_panels({c.blocks_n, c.tile_n}) && row_numbers >= 128 && !p.in_place;
    if (c.panel == 0) c.panel = static_cast<int>(whole <= 128 || !by_panels ? whole : p.row_major ? 32 : 64);
    if (c.panel == whole) return fit_panel(p, whole, c);
    return by_panels && c.panel % 32 == 0 && c.panel < p.m && fit_panel(p, c.panel, c);
  }
  if (c.panel != 0) {
    return (c.panel == whole || (c.panel % 16 == 0 && c.panel < p.m && c.groups == 1)) && fit_panel(p, c.panel, c);
  }
  if (fit_panel(p, whole, c) && numbers_of_stage(p, c) * p.real_bytes <= most_bytes) {
    while (any_groups && numbers_of_stage(p, c) * p.real_bytes * 2 <= good_bytes && c.groups < 8 &&
           ceil_div(p.k, row_numbers * c.groups * 2) >= 4 * device.multiprocessors) {
      c.groups *= 2;
    }
    return true;
  }
  if (c.groups > 1) return false;
  const std::int64_t most = std::max<std::int64_t>(16, (most_bytes / (row_numbers * p.real_bytes) - 4) / 16 * 16);
  const std::int64_t panel = round_up(ceil_div(p.m, ceil_div(p.m, most)), 16);
  return fit_panel(p, panel < p.m ? panel : whole, c);
}

bool complete_tf32(const CudaDevice& device, const CudaTsmmProblem& p, Strided& c) {
  if (!boxes_split_serve(device, p) || p.n > columns_of_tile(p, c)) return false;
  c.classes = box_classes(p);
  c.groups = c.warps = 1;
  c.row_warps = computing_warps;
  c.rows = box_rows(c) * c.blocks_n;
  const std::int64_t whole = round_up(p.m, numbers_of_step);
  const auto fits = [&](std::int64_t panel) { return fit_panel(p, panel, c) && fit_ring(device, p, c); };
  if (c.panel != 0) {
    if (c.panel % numbers_of_step != 0 || (c.panel != whole && c.panel >= p.m) || !fits(c.panel)) return false;
  } else {
    bool found = fits(whole);
    for (std::int64_t panel = 64; !found && panel >= numbers_of_step; panel /= 2) found = panel < p.m && fits(panel);
    if (!found) return false;
  }
  set_blocks(device, p, c);
  return true;
}

bool complete_strided(const CudaDevice& device, const CudaTsmmProblem& p, Strided& c) {
  if (is_tf32(c)) return complete_tf32(device, p, c);
  if (!boxes_serve(device, p) || (is_plain(c) && !p.row_major)) return false;
  // 3M reads complex numbers as a whole.
  if (is_3m(c) && (p.parts != 2 || p.real_bytes != 8 || !p.aligned || c.staged != 0)) return false;
  c.classes = is_plain(c) ? 1 : box_classes(p);
  c.warps = 1;
  while (c.warps <= computing_warps && c.warps * columns_of_tile(p, c) < p.n) c.warps *= 2;
  if (c.warps > computing_warps) return false;
  if (c.row_warps == 0) c.row_warps = computing_warps / c.warps;
  if (is_3m(c) && !p.row_major && c.row_warps != gauss_column_row_warps) return false;
  if (c.row_warps * c.warps > computing_warps || !fit_stage(device, p, c) || !fit_ring(device, p, c)) return false;
  c.rows = box_rows(c) * boxes_of_stage(c);
  // Warps that copy wait for one another's tickets.
  set_blocks(device, p, c, chunks_of_ticket(c.rows * p.m * p.real_bytes, is_plain(c) ? 65536 : 20480));
  return true;
}

bool complete_wide(const CudaDevice& device, const CudaTsmmProblem& p, Wide& c) {
  if (!boxes_serve(device, p) || c.staged != 0) return false;
  c.warps = p.n <= 8 * c.tile_n ? 1 : p.in_place && p.n > 16 * c.tile_n ? 4 : 2;
  c.row_warps = computing_warps / c.warps;
  c.groups = 1;
  c.chunks_per_ticket = 1;
  c.rows = box_rows(c) * c.blocks_n;
  c.sections = static_cast<int>(ceil_div(p.n, c.warps * columns_of_tile(p, c)));
  c.in_cluster = p.in_place && c.sections > 1;
  if (c.in_cluster && c.sections > most_sections_in_place) return false;
  c.classes = box_classes(p);
  c.small_in_ring = true;
  if (c.panel == 0) c.panel = c.warps <= 2 && p.m > 128 ? 32 : 16;  // at least three stages fit
  if (c.panel % 16 != 0 || !fit_panel(p, c.panel, c)) return false;
  const std::int64_t most = c.in_cluster ? std::min<std::int64_t>(max_stages, ceil_div(p.m, c.panel) - 1) : max_stages;
  const std::int64_t stage = numbers_of_stage(p, c) * p.real_bytes + small_bytes(c, c.panel);
  if (!fit_stages(device, 0, stage, most, c) || c.stages > most) return false;
  set_blocks(device, p, c);
  const std::int64_t chunks = ceil_div(p.k, c.rows);
  c.blocks = std::min<std::int64_t>(chunks * c.sections, device.multiprocessors);
  if (c.in_cluster) {
    // Clusters of more than two blocks leave an unknown number of multiprocessors idle.
    const std::int64_t at_once = std::max<std::int64_t>(device.multiprocessors / c.sections, 1);
    const std::int64_t clusters =
        c.sections == 2 ? at_once : std::max(at_once, ceil_div(chunks, most_chunks_of_cluster));
    c.blocks = c.sections * std::min(chunks, clusters);
  }
  c.workspace_bytes += (c.sections - 1) * (c.workspace_bytes - 2 * workspace_alignment);  // each section has its C
  return true;
}

CudaWork tf32_work(const CudaDevice& device, const CudaTsmmProblem& p, const Strided& c) {
  const int columns = 8 * c.tile_n;  // of scalars
  const double rows = rows_of_block(p, c);
  CudaWork work = work_of(device, p, c, 0.97);
  // C crosses the L2 cache with every chunk, which is twice as fast.
  if (c.small_in_ring) {
    const double chunk = static_cast<double>(c.rows) * static_cast<double>(p.m) * p.real_bytes;
    work.bandwidth *= chunk / (chunk + 0.5 * static_cast<double>(small_bytes(c, round_up(p.m, numbers_of_step))));
  }
  // Old results are loaded early if there are registers for them.
  if (p.reads_output && p.parts * c.blocks_n * columns > 64) work.bandwidth *= 0.85;
  work.shared_clocks = rows * static_cast<double>(p.m + p.n) * 2 / 32;
  add_tf32_clocks(work, p, rows, columns);
  work.overlap = 0.6;
  return work;
}

CudaWork strided_work(const CudaDevice& device, const CudaTsmmProblem& p, const Strided& c) {
  if (is_tf32(c)) return tf32_work(device, p, c);
  const double busy_part = static_cast<double>(computing_warps) / (c.row_warps * c.warps);
  CudaWork work = work_of(device, p, c, 0.97);
  // What a TMA tile loads beyond its panel or its rows crosses the L2 cache once more. TMA tiles of aligned lines are
  // cut instead (tensor_map.hpp).
  const bool cut = is_plain(c) || (p.aligned && c.classes == 1);
  const std::int64_t useful = cut ? c.pitch : !p.row_major ? p.parts * box_rows(c) : c.panel < p.m ? c.panel : c.pitch;
  work.bandwidth *= static_cast<double>(c.pitch + useful) / (2.0 * c.pitch);
  if (p.row_major && c.panel < p.m) work.bandwidth *= c.panel * p.real_bytes / (c.panel * p.real_bytes + 8.0);
  const bool gauss = is_3m(c);
  const std::int64_t depth = gauss ? p.m / 2 : p.m;
  const double products = rows_of_block(p, c) / 16 * c.warps * c.tile_n * static_cast<double>(ceil_div(depth, 4)) / 4;
  work.product_clocks = products * (gauss ? 48 : 16) * busy_part;
  work.shared_clocks = products * (16.0 / c.tile_n + 8.0 / c.blocks_n) * (gauss ? 2 : 1) * busy_part;
  work.overlap = gauss ? 0.6 : 0;
  if (c.small_in_ring) work.bandwidth *= static_cast<double>(c.rows) / static_cast<double>(c.rows + p.n);
  return work;
}

CudaWork wide_work(const CudaDevice& device, const CudaTsmmProblem& p, const Wide& c) {
  CudaWork work = work_of(device, p, c, 0.95);
  const std::int64_t turns =
      ceil_div(ceil_div(p.k, c.rows) * c.sections, static_cast<std::int64_t>(work.multiprocessors));
  const double products = static_cast<double>(turns * (c.rows / 16) * c.warps * c.tile_n * ceil_div(p.m, 16));
  // At best, half of the warps write results while the other half multiplies.
  work.product_clocks = products * 18;
  work.shared_clocks = products * (16.0 / c.tile_n + 8.0 / c.blocks_n);
  work.overlap = 0.9;
  work.bytes_in_flight = (c.stages - 1.5) * static_cast<double>(c.rows * c.panel * p.real_bytes);
  return work;
}

// A shape to try. Where row_warps or panel is 0, the rules choose it.
struct Shape {
  TileShape tile;
  int row_warps;
  int panel;
};

// The best shape, and another one to try besides it, or none.
struct Shapes {
  Shape best{}, other{};
};

Shapes usual_shapes_of_columns(const CudaTsmmProblem& p, int pieces) {
  if (pieces <= 1) return {{{2, 1}, 8, 0}, {{1, 2}, 8, 0}};
  if (pieces == 2) return {{{2, 1}, 4, 0}, {{1, 2}, 8, 0}};
  if (pieces <= 6) return {{{1, pieces}, 8, p.m > 128 ? 16 : 0}, {{1, pieces}, 4, 0}};
  if (pieces <= 8) return {{{1, 8}, 8, 0}, {{2, 4}, 4, 0}};
  return {};
}

Shapes usual_shapes_of_rows(const CudaTsmmProblem& p, int pieces) {
  const std::int64_t bytes = p.m * p.real_bytes;
  if (streams(p.m, p.pitch_a) && p.reads_output && p.n <= 2 && p.m <= 32) return {{{2, 1}, 8, 0}};
  if (bytes <= 128 && pieces == 2) return {{{1, 2}, 8, 0}};
  if (p.m >= 256 && (pieces == 1 || (pieces == 2 && p.m == 256))) return {{{1, 1}, 2, 128}};
  if (pieces <= 2 && p.m <= 256) return {{{1, 1}, 4, 0}};
  if (pieces == 2) return {{{1, 2}, 4, 0}};
  if (pieces <= 4) return {{{1, p.m <= 32 ? 4 : 2}, p.m <= 32 ? 8 : 4, 0}, {{1, 4}, 8, 64}};
  if (pieces <= 6) return {{{1, 3}, 4, 0}, {{1, 6}, 8, 64}};
  if (pieces <= 8) return p.m > 256 ? Shapes{{{2, 4}, 4, 64}} : Shapes{{{1, 4}, 4, 0}};
  return {};
}

// The best shapes as measured on an H200.
Shapes usual_shapes(Policy policy, const CudaTsmmProblem& p) {
  const auto pieces = static_cast<int>(std::min<std::int64_t>(ceil_div(p.n, 8), 64));
  if (policy == Policy::plain) {
    return {p.m * p.real_bytes <= 128 || pieces == 2 ? Shape{{2, 1}, 8 / pieces, 0} : Shape{{1, 1}, 8, 0}};
  }
  const Shapes found = p.row_major ? usual_shapes_of_rows(p, pieces) : usual_shapes_of_columns(p, pieces);
  if (found.best.tile.m != 0) return found;
  if (pieces <= 12) return {{{2, 6}, 4, 0}};
  if (pieces <= 16) return {{{2, 4}, 2, 0}, {{2, 4}, 2, 32}};
  return {{{2, 4}, 0, 0}, {{2, 6}, 0, 0}};
}

void add_3m(const TsmmCandidates& to) {
  using C = Strided;
  const CudaTsmmProblem& p = to.problem;
  if (p.parts == 1 || p.m * p.n <= 48 * (p.m + p.n)) return;  // narrower products wait for memory anyway
  for (const TileShape& tile : tsmm_strided_3m_shapes)
    to.add(start<C>(tile), {{&C::panel, {16, 32, 64, 128}}, {&C::stages, {2, 3, 4}}});
}

// Adds a shape. Returns its number of stages, or 0 if it is illegal.
int add_shape(const TsmmCandidates& to, const Shape& shape, bool staged) {
  using C = Strided;
  auto c = start<C>(shape.tile);
  c.panel = shape.panel;
  c.row_warps = shape.row_warps;
  c.staged = staged ? 1 : 0;
  const bool added = to.add(c, {{&C::groups, {1, 2, 4, 8}},
                                {&C::panel, {16, 32, 64, 128}},
                                {&C::staged, {0, 1}},
                                {&C::chunks_per_ticket, {1, 2, 4}}});
  return added ? to.found.back()->stages : 0;
}

void add_tf32(const TsmmCandidates& to) {
  using C = Strided;
  const CudaTsmmProblem& p = to.problem;
  const bool few = splits_few_columns(p);
  for (const TileShape& tile : tsmm_strided_tf32_shapes) {
    const bool narrower_does = tile.n > 1 && 4 * p.parts * tile.n >= p.n;
    if (narrower_does && (!to.all || tile.n > 4)) continue;
    if (!to.all && few && (tile.m == 2) != (p.m <= 64)) continue;  // short rows: fewer, longer chunks
    // Short rows come faster in flat pieces, together with B's old rows.
    const int shortest = p.parts == 1 && tile.n > 4 ? 96 : 48;
    if (!to.all && p.reads_output && p.m < shortest) continue;
    // Without staging, as measured on an H200, best even if rows begin inside sectors of memory.
    to.add(start<C>(tile), {{&C::panel, {16, 32, 64, 128}}, {&C::stages, {2, 3, 4}}});
  }
}

void add_strided(const TsmmCandidates& to) {
  if (to.kind.policy == Policy::three_m) return add_3m(to);
  if (to.kind.policy == Policy::tf32) return add_tf32(to);
  const CudaTsmmProblem& p = to.problem;
  const bool staged = stages_results(p);
  if (!to.all) {
    const Shapes shapes = usual_shapes(to.kind.policy, p);
    int most = 0;
    for (const Shape& shape : {shapes.best, shapes.other}) {
      if (shape.tile.m != 0) most = std::max(most, add_shape(to, shape, staged));
      if (most >= 3) return;
    }
    if (most > 0) return;
  }
  for (const TileShape& tile : tsmm_strided_shapes) {
    if (tile.n > (to.all ? 2 : 1) && std::int64_t{tile.n} * 8 >= 2 * p.n) continue;  // a narrower tile is enough
    for (const int row_warps : {8, 4, 2, 1}) add_shape(to, {tile, row_warps, 0}, staged);
  }
}

void add_wide(const TsmmCandidates& to) {
  using C = Wide;
  for (const TileShape& tile : tsmm_wide_shapes) {
    if (to.all && to.problem.n <= 8 * (tile.n - 1)) continue;  // a narrower tile is enough
    to.add(start<C>({2, tile.n}), {{&C::panel, {16, 32}}});
  }
}

bool is_compiled(const CudaTsmmProblem& p, const Strided& c) {
  if (is_3m(c)) {
    return p.real_bytes == 8 && p.parts == 2 &&
           is_among(tsmm_strided_3m_compiled, p.real_bytes, c.blocks_n, c.tile_n, !p.row_major);
  }
  if (is_tf32(c)) return is_among(tsmm_strided_tf32_compiled, p.real_bytes, c.blocks_n, c.tile_n, p.parts);
  return is_among(tsmm_strided_compiled, p.real_bytes, c.blocks_n, c.tile_n);
}
bool is_compiled(const CudaTsmmProblem& p, const Wide& c) {
  return is_among(tsmm_wide_compiled, p.real_bytes, c.blocks_n, c.tile_n);
}

constexpr Field<Strided> strided_fields[] = {{"tile", &Strided::blocks_n, &Strided::tile_n},
                                             {"warps", &Strided::row_warps, &Strided::warps},
                                             {"groups", &Strided::groups},
                                             {"panel", &Strided::panel},
                                             {"staged", &Strided::staged},
                                             {"stages", &Strided::stages},
                                             {"ticket", &Strided::chunks_per_ticket}};

constexpr Field<Wide> wide_fields[] = {
    {"tile", &Wide::blocks_n, &Wide::tile_n}, {"panel", &Wide::panel}, {"stages", &Wide::stages}};

}  // namespace

const TsmmEntry<Strided> Strided::entry{strided_fields, is_compiled, complete_strided, strided_work, add_strided};
const TsmmEntry<Wide> Wide::entry{wide_fields, is_compiled, complete_wide, wide_work, add_wide};

int box_classes(const CudaTsmmProblem& p) { return box_classes(distance(p), p.real_bytes); }

// Memory is written in sectors of 32 bytes. If all lines of B begin with one, lanes fill them without shared memory.
bool stages_results(const CudaTsmmProblem& p) {
  return (!p.aligned_output || p.pitch_b * p.real_bytes % 32 != 0) && 4 * p.n > p.m;
}

// Tensor maps count in 32 bits, and every class must have at least one line.
bool boxes_serve(const CudaDevice& device, const CudaTsmmProblem& p) {
  const std::int64_t most = std::numeric_limits<std::int32_t>::max() - 4096;
  return device.bulk_copies && p.m > 0 && p.parts * p.k < most && p.m < most &&
         (p.row_major ? p.k : p.m / p.parts) >= box_classes(p);
}

bool boxes_split_serve(const CudaDevice& device, const CudaTsmmProblem& p) {
  if (!device.warpgroups || p.real_bytes != 4 || !p.row_major || !p.may_split || !boxes_serve(device, p)) return false;
  const int classes = box_classes(p);
  return p.parts == 2 ? classes <= 2 : classes == 1 && p.aligned;
}

bool wide_serves_in_place(const CudaDevice& device, std::int64_t k, std::int64_t n) {
  constexpr std::int64_t most_rows = std::numeric_limits<std::int32_t>::max() / 2 - 4096;  // of complex numbers
  return device.bulk_copies && k >= 4 && k < most_rows && n > section_columns && n <= most_columns_in_place;
}

bool fit_stages(const CudaDevice& device, std::int64_t beside, std::int64_t stage, std::int64_t most, Strided& c) {
  // Each block of a multiprocessor takes another kilobyte, which nobody can use.
  const std::int64_t room = (device.shared_bytes + 1024) / blocks_of(c) - 1024 - static_bytes - beside;
  if (c.stages == 0) c.stages = static_cast<int>(std::clamp<std::int64_t>(room / stage, 0, most));
  c.shared_bytes = static_cast<int>(beside + c.stages * stage);
  return c.stages >= 2 && c.stages <= max_stages && c.stages * stage <= room;
}

void set_blocks(const CudaDevice& device, const CudaTsmmProblem& p, Strided& c, int chunks_per_ticket) {
  set_tickets(device, ceil_div(p.k, c.rows), chunks_per_ticket, c, blocks_of(c));
  if (c.small_in_ring) c.workspace_bytes += static_cast<std::size_t>(small_bytes(c, round_up(p.m, c.panel)));
}

CudaWork work_of(const CudaDevice& device, const CudaTsmmProblem& p, const Strided& c, double share) {
  CudaWork work = tsmm_work(device, p, c, share);
  work.products = CudaProducts::f64_tensor;
  work.bytes_in_flight = blocks_of(c) * (c.stages - 1.5) * static_cast<double>(numbers_of_stage(p, c) * p.real_bytes);
  return work;
}

}  // namespace blockvec::kernels::dispatch

#include "src/dispatch/cuda/tsmm/strided.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>

#include "src/dispatch/cuda/kernels.hpp"
#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/stages.hpp"

namespace blockvec::kernels::dispatch {
namespace {

constexpr std::int64_t unit_bytes = 16;

// Real numbers from line to line in memory. A single line may lie anywhere.
std::int64_t distance(const CudaTsmmProblem& p) {
  const std::int64_t lines = p.row_major ? p.k : p.m / p.parts;
  return lines > 1 ? p.pitch_a : round_up(p.row_major ? p.m : p.parts * p.k, 4);
}

// The pitch of lines in a stage that hold `numbers` numbers. With it, the lanes of a warp meet different banks. Each
// lane takes one of four neighbours of a row, or one of four columns of several neighbouring rows.
std::int64_t spread(const CudaTsmmProblem& p, std::int64_t numbers, bool whole_complex = false) {
  const std::int64_t shift = whole_complex ? 8 : p.row_major || p.real_bytes == 8 ? 4 : 8 * p.parts;
  return round_up(numbers + shift, 2 * shift) - shift;
}

bool is_3m(const Strided& c) { return c.policy == Policy::three_m; }
bool is_plain(const Strided& c) { return c.policy == Policy::plain; }
int blocks_of(const Strided& c) { return tsmm_box_blocks({c.blocks_n, c.tile_n}); }
int box_rows(const Strided& c) { return 16 * c.row_warps; }
int boxes_of_stage(const Strided& c) { return c.groups * c.blocks_n; }

// The number of consecutive columns of A that lanes with the same lane % 4 take in turn.
std::int64_t depth_classes(const CudaTsmmProblem& p, const Strided& c) { return p.row_major ? 1 : p.parts * c.classes; }

int columns_of_tile(const Strided& c) { return (is_3m(c) ? 16 : 8) * c.tile_n; }

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

// Bytes of `rows` rows of packed C. Complex numbers are stored as 2 x 2 real ones; for 3M, only as re and im, or as re,
// im and their sum.
std::int64_t small_bytes(const Strided& c, std::int64_t rows) {
  const int of_four = !is_3m(c) ? 4 : gauss_by_panels({c.blocks_n, c.tile_n}) ? 2 : 3;
  return rows * c.warps * columns_of_tile(c) * std::int64_t{sizeof(double)} * of_four / 4;
}
std::int64_t resident_bytes(const CudaTsmmProblem& p, const Strided& c) {
  return c.small_in_ring ? 0 : small_bytes(c, round_up(p.m, 16));
}
// Bytes of results on their way to memory, which are the rows of blocks_n TMA tiles at a time.
std::int64_t staged_bytes(const CudaTsmmProblem& p, Strided& c) {
  c.staged_pitch = 0;
  if (c.staged == 0) return 0;
  const std::int64_t rows = std::int64_t{box_rows(c)} * c.blocks_n;
  const std::int64_t columns = c.warps * columns_of_tile(c);
  c.staged_pitch = static_cast<int>(spread(p, p.row_major ? columns : p.parts * rows));
  return round_up((p.row_major ? rows : columns / p.parts) * c.staged_pitch * p.real_bytes, line_bytes);
}
}  // namespace

int box_classes(const CudaTsmmProblem& p) { return box_classes(distance(p), p.real_bytes); }

std::int64_t bytes_of_stage(const CudaTsmmProblem& p, const Strided& c) {
  return numbers_of_stage(p, c) * p.real_bytes + (c.small_in_ring ? small_bytes(c, c.panel) : 0);
}

bool fit_panel(const CudaTsmmProblem& p, std::int64_t panel, Strided& c) {
  const std::int64_t lead = !is_plain(c) && (c.classes > 1 || !p.aligned) ? unit_bytes / p.real_bytes - 1 : 0;
  const std::int64_t pitch =
      spread(p, (p.row_major ? round_up(panel, 4) : p.parts * box_rows(c)) + lead, is_3m(c) && p.row_major);
  if (pitch > longest_box || panel / depth_classes(p, c) > longest_box) return false;
  c.panel = static_cast<int>(panel);
  c.pitch = static_cast<int>(pitch);
  return class_numbers(p, c) * p.real_bytes % line_bytes == 0;
}

namespace {

// Shared memory for a block. Each block of a multiprocessor takes another kilobyte, which nobody can use.
std::int64_t shared_bytes_of_block(const CudaDevice& device, const Strided& c) {
  const int blocks = blocks_of(c);
  return (device.shared_bytes + 1024) / blocks - 1024;
}

// Divides a block's shared memory among stages and what stays besides them. Returns false if they do not fit.
bool fit_ring(const CudaDevice& device, const CudaTsmmProblem& p, Strided& c) {
  const std::int64_t beside = resident_bytes(p, c) + staged_bytes(p, c);
  const std::int64_t room = shared_bytes_of_block(device, c) - static_bytes - beside;
  const std::int64_t stage = bytes_of_stage(p, c);
  if (c.stages == 0) c.stages = static_cast<int>(std::min<std::int64_t>(std::max<std::int64_t>(room, 0) / stage, 32));
  c.shared_bytes = static_cast<int>(beside + c.stages * stage);
  return c.stages >= 2 && c.stages <= max_stages && c.stages * stage <= room;
}

// Chooses what a stage holds, which has at most `most_bytes`: one or several sets of whole rows, or a panel. Panels
// have nearly equal widths.
bool fit_stage(const CudaDevice& device, const CudaTsmmProblem& p, Strided& c) {
  constexpr std::int64_t most_bytes = 40960;
  // Warps that copy had better wait for few large stages. Panels of columns have multiples of four columns.
  const std::int64_t good_bytes = is_plain(c) || (!p.row_major && p.m < 4) ? 40960 : 20480;
  const std::int64_t row_numbers = std::int64_t{box_rows(c)} * c.blocks_n;
  const std::int64_t whole = round_up(p.m, panel_step(p, c));
  if (is_3m(c)) {
    c.groups = 1;
    // C comes with A only if a chunk has many rows. Results that are not finite are computed again from A.
    const bool by_panels = gauss_by_panels({c.blocks_n, c.tile_n}) && row_numbers >= 128 && !p.in_place;
    if (c.panel == 0) c.panel = static_cast<int>(whole <= 128 || !by_panels ? whole : p.row_major ? 32 : 64);
    if (c.panel == whole) return fit_panel(p, whole, c);
    return by_panels && c.panel % 32 == 0 && c.panel < p.m && fit_panel(p, c.panel, c);
  }
  if (c.panel != 0) {
    return (c.panel == whole || (c.panel % 16 == 0 && c.panel < p.m && c.groups == 1)) && fit_panel(p, c.panel, c);
  }
  const bool any_groups = c.groups == 0;
  if (any_groups) c.groups = 1;
  if (fit_panel(p, whole, c) && numbers_of_stage(p, c) * p.real_bytes <= most_bytes) {
    while (any_groups && numbers_of_stage(p, c) * p.real_bytes * 2 <= good_bytes && c.groups < 8 &&
           numbers_of_stage(p, c) * p.real_bytes * 2 <= most_bytes &&
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

// Whether strided_3m can serve a product. It reads complex numbers as a whole.
bool gauss_serves(const CudaTsmmProblem& p, const Strided& c) {
  return p.parts == 2 && p.real_bytes == 8 && p.aligned && c.staged == 0;
}

}  // namespace

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

static bool complete_strided(const CudaDevice& device, const CudaTsmmProblem& p, Strided& c) {
  if (is_plain(c) && !p.row_major) return false;
  if (!boxes_serve(device, p) || (is_3m(c) && !gauss_serves(p, c))) return false;
  c.classes = is_plain(c) ? 1 : box_classes(p);
  std::int64_t warps = 1;
  while (warps * columns_of_tile(c) < p.n) warps *= 2;
  if (warps > computing_warps) return false;
  c.warps = static_cast<int>(warps);
  if (c.row_warps == 0) c.row_warps = computing_warps / c.warps;
  if (is_3m(c) && !p.row_major && c.row_warps != gauss_column_row_warps) return false;
  if (c.row_warps * c.warps > computing_warps || !fit_stage(device, p, c)) return false;
  c.rows = box_rows(c) * boxes_of_stage(c);
  const int stages = c.stages;
  c.small_in_ring = false;
  if (!fit_ring(device, p, c)) {
    c.small_in_ring = c.panel < p.m;
    c.stages = stages;
    if (!c.small_in_ring || !fit_ring(device, p, c)) return false;
  }
  const std::int64_t chunk_bytes = c.rows * p.m * p.real_bytes;
  if (c.chunks_per_ticket == 0) {
    // Warps that copy wait for one another's tickets.
    c.chunks_per_ticket = chunks_of_ticket(chunk_bytes, is_plain(c) ? 65536 : 20480);
  }
  c.parts = std::min<std::int64_t>(ceil_div(p.k, c.rows), blocks_of(c) * device.multiprocessors);
  c.workspace_bytes = 2 * workspace_alignment;
  if (c.small_in_ring) c.workspace_bytes += static_cast<std::size_t>(small_bytes(c, round_up(p.m, c.panel)));
  return true;
}

namespace {

// A shape to try. Where row_warps or panel is 0, the rules choose it.
struct Shape {
  TileShape tile;
  int row_warps;
  int panel;
};

bool is_tight(const CudaTsmmProblem& p) { return p.row_major && streams(p.m, p.pitch_a); }

// Whether this kernel is faster than row_ring, as measured on an H200: for few results that are added to old ones, and
// for some squares.
bool boxes_win(const CudaTsmmProblem& p) {
  return (p.reads_output && p.n <= 2 && p.m <= 32) || (p.m == p.n && (p.m == 16 || p.m == 64));
}

/// At most two shapes. They are stored in the object, so that a call allocates nothing.
class Shapes {
 public:
  Shapes(std::initializer_list<Shape> shapes) : count_(shapes.size()) {
    std::copy(shapes.begin(), shapes.end(), shapes_);
  }
  const Shape* begin() const { return shapes_; }
  const Shape* end() const { return shapes_ + count_; }

 private:
  Shape shapes_[2] = {};
  std::size_t count_;
};

Shapes usual_shapes_of_columns(const CudaTsmmProblem& p, int pieces) {
  if (pieces <= 1) return {{{2, 1}, 8, 0}, {{1, 2}, 8, 0}};
  if (pieces == 2) return {{{2, 1}, 4, 0}, {{1, 2}, 8, 0}};
  if (pieces <= 6) return {{{1, pieces}, 8, p.m > 128 ? 16 : 0}, {{1, pieces}, 4, 0}};
  if (pieces <= 8) return {{{1, 8}, 8, 0}, {{2, 4}, 4, 0}};
  return {};
}

Shapes usual_plain_shapes(const CudaTsmmProblem& p, int pieces) {
  return {p.m * p.real_bytes <= 128 || pieces == 2 ? Shape{{2, 1}, 8 / pieces, 0} : Shape{{1, 1}, 8, 0}};
}

Shapes usual_shapes_of_rows(const CudaTsmmProblem& p, int pieces) {
  const std::int64_t bytes = p.m * p.real_bytes;
  if (is_tight(p) && boxes_win(p) && p.n <= 2) return {{{2, 1}, 8, 0}};
  if (bytes <= 128 && pieces == 2) return {{{1, 2}, 8, 0}};
  if (p.m >= 256 && (pieces == 1 || (pieces == 2 && p.m == 256))) return {{{1, 1}, 2, 128}};
  if (pieces <= 2 && p.m <= 256) return {{{1, 1}, 4, 0}};
  if (pieces == 2) return {{{1, 2}, 4, 0}};
  if (pieces <= 4) return {{{1, p.m <= 32 ? 4 : 2}, p.m <= 32 ? 8 : 4, 0}, {{1, 4}, 8, 64}};
  if (pieces <= 6) return {{{1, 3}, 4, 0}, {{1, 6}, 8, 64}};
  if (pieces <= 8) return p.m > 256 ? Shapes{{{2, 4}, 4, 64}} : Shapes{{{1, 4}, 4, 0}};
  return {};
}

// The best shapes as measured on an H200, the best one first.
Shapes usual_shapes(Policy policy, const CudaTsmmProblem& p) {
  const auto pieces = static_cast<int>(std::min<std::int64_t>(ceil_div(p.n, 8), 64));
  if (policy == Policy::plain) return usual_plain_shapes(p, pieces);
  const auto found = p.row_major ? usual_shapes_of_rows(p, pieces) : usual_shapes_of_columns(p, pieces);
  if (found.begin() != found.end()) return found;
  if (pieces <= 12) return {{{2, 6}, 4, 0}};
  if (pieces <= 16) return {{{2, 4}, 2, 0}, {{2, 4}, 2, 32}};
  return {{{2, 4}, 0, 0}, {{2, 6}, 0, 0}};
}

}  // namespace

static void add_3m(const CudaDevice& device, const CudaTsmmProblem& p, Search search, std::vector<CudaTsmm>& to) {
  if (p.parts == 1 || p.m * p.n <= 48 * (p.m + p.n)) return;  // narrower products wait for memory anyway
  for (const TileShape& tile : tsmm_strided_3m_shapes) {
    for (const int panel : {0, 32, 64, 128}) {
      if (panel != 0 && search == Search::usual) break;
      for (const int stages : {0, 2, 3, 4}) {
        if (stages != 0 && search == Search::usual) break;
        Strided c{};
        static_cast<TsmmKind&>(c) = {TsmmKernel::strided, Policy::three_m};
        c.blocks_n = tile.m;
        c.tile_n = tile.n;
        c.panel = panel;
        c.stages = stages;
        if (complete(device, p, c)) to.push_back(c);
      }
    }
  }
}

static void add_plain_products(Policy policy, const CudaDevice& device, const CudaTsmmProblem& p, Search search,
                               std::vector<CudaTsmm>& to) {
  const auto add = [&](const Shape& shape, bool staged, int groups = 0, int ticket = 0) {
    Strided c{};
    static_cast<TsmmKind&>(c) = {TsmmKernel::strided, policy};
    c.blocks_n = shape.tile.m;
    c.tile_n = shape.tile.n;
    c.row_warps = shape.row_warps;
    c.panel = shape.panel;
    c.groups = shape.panel != 0 ? 1 : groups;
    c.chunks_per_ticket = ticket;
    c.staged = staged ? 1 : 0;
    if (!complete(device, p, c)) return 0;
    to.push_back(c);
    return c.stages;
  };
  const bool staged = stages_results(p);
  if (search == Search::usual) {
    int most = 0;
    for (const Shape& shape : usual_shapes(policy, p)) {
      most = std::max(most, add(shape, staged));
      if (most >= 3) return;
    }
    if (most > 0) return;
  }
  const int narrow = search == Search::usual ? 1 : 2;
  for (const TileShape& tile : tsmm_strided_shapes) {
    if (tile.n > narrow && std::int64_t{tile.n} * 8 >= 2 * p.n) continue;  // a narrower tile is enough
    for (const int row_warps : {8, 4, 2, 1}) {
      add({tile, row_warps, 0}, staged);
      if (search == Search::usual) continue;
      for (const int ticket : {1, 2, 4}) {
        add({tile, row_warps, 0}, staged, 1, ticket);
        for (const int groups : {2, 4, 8}) {
          if (!p.row_major || is_tight(p)) break;
          add({tile, row_warps, 0}, staged, groups, ticket);
        }
        for (const int panel : {16, 32, 64, 128}) {
          if (panel < p.m) add({tile, row_warps, panel}, staged, 0, ticket);
        }
      }
      add({tile, row_warps, 0}, !staged);
    }
  }
}

static CudaWork strided_work(const CudaDevice& device, const CudaTsmmProblem& p, const Strided& c) {
  const std::int64_t turns = ceil_div(ceil_div(p.k, c.rows), c.parts);
  const double busy_part = static_cast<double>(computing_warps) / (c.row_warps * c.warps);
  CudaWork work{};
  work.bytes = tall_bytes(p);
  // What a TMA tile loads beyond its panel or its rows crosses the L2 cache once more. TMA tiles of aligned lines are
  // cut instead (tensor_map.hpp).
  const bool cut = is_plain(c) || (p.aligned && c.classes == 1);
  const std::int64_t useful = cut ? c.pitch : !p.row_major ? p.parts * box_rows(c) : c.panel < p.m ? c.panel : c.pitch;
  work.bandwidth = 0.97 * device.copy_bandwidth * static_cast<double>(c.pitch + useful) / (2.0 * c.pitch);
  if (p.row_major && c.panel < p.m) work.bandwidth *= c.panel * p.real_bytes / (c.panel * p.real_bytes + 8.0);
  const bool gauss = is_3m(c);
  const std::int64_t depth = gauss ? p.m / 2 : p.m;
  const double products = static_cast<double>(turns * c.rows / 16 * c.warps * c.tile_n * ceil_div(depth, 4)) / 4;
  work.product_clocks = products * (gauss ? 48 : 16) * busy_part;
  work.shared_clocks = products * (16.0 / c.tile_n + 8.0 / c.blocks_n) * (gauss ? 2 : 1) * busy_part;
  work.overlap = gauss ? 0.6 : 0;
  work.tensor_cores = true;
  work.parts = static_cast<double>(std::min<std::int64_t>(c.parts, device.multiprocessors));
  work.bytes_in_flight = blocks_of(c) * (c.stages - 1.5) * static_cast<double>(numbers_of_stage(p, c) * p.real_bytes);
  work.launches = 2;
  if (c.small_in_ring) work.bandwidth *= static_cast<double>(c.rows) / static_cast<double>(c.rows + p.n);
  work.waits = 2;
  return work;
}

static void add_strided(const TsmmKind& kind, const CudaDevice& device, const CudaTsmmProblem& p, Search search,
                        std::vector<CudaTsmm>& to) {
  if (kind.policy == Policy::three_m) return add_3m(device, p, search, to);
  add_plain_products(kind.policy, device, p, search, to);
}

static bool is_compiled(const CudaTsmmProblem& p, const Strided& c) {
  if (is_3m(c)) {
    return p.real_bytes == 8 && p.parts == 2 &&
           is_among(tsmm_strided_3m_compiled, p.real_bytes, c.blocks_n, c.tile_n, !p.row_major);
  }
  return is_among(tsmm_strided_compiled, p.real_bytes, c.blocks_n, c.tile_n);
}

static std::span<const Field<Strided>> fields(const TsmmKind&) { return strided_fields<Strided>; }

const TsmmEntry<Strided> Strided::entry{fields, is_compiled, complete_strided, strided_work, add_strided};

}  // namespace blockvec::kernels::dispatch

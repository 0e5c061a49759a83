#include "src/dispatch/cuda/tsmttsm/ring.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <iterator>

#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/stages.hpp"

namespace blockvec::kernels::dispatch {
namespace {

bool is_real_warpgroup(const RingTsmttsm& c) { return c.whole_warpgroups() && !c.warpgroup_3m(); }

// The number of stages is a multiple of this, so that warps that skip chunks always come back to the same stages. The
// number of units in a chunk is a power of two.
constexpr int gauss_stages_step(int columns, int rows) {
  const int apart = gauss_shares_units(columns) ? gauss_groups : 2 * gauss_groups;  // units from one to a warp's next
  return std::max(1, apart * gauss_unit_rows / rows);
}

// Bytes of B's transposed rows, which are split in two for 3xTF32.
std::int64_t transposed_bytes(const RingTsmttsm& c) {
  if (!c.whole_warpgroups()) return 0;
  return c.complex_tiles() ? gauss_extra_bytes(c.columns_of_tile() / 2, c.tile_m)
                           : transposed_rows_bytes(c.columns_of_tile());
}
std::int64_t room_of_stages(const CudaDevice& device, const RingTsmttsm& c) {
  return device.shared_bytes - static_bytes - transposed_bytes(c);
}

// Usual bytes of a row tile (chunk). 3xTF32 and complex products have more work per chunk.
std::int64_t chunk_bytes_of(const RingTsmttsm& c) {
  if (c.warpgroup_3m()) return 65536;
  if (c.whole_warpgroups()) return 32768;
  return !c.ring_3m() ? 16384 : ring_warps(c) > computing_warps ? 45056 : 65536;
}

// Whether this is a Gram matrix of many columns, whose warps share the products of a row, and whose numbers are
// converted or complex.
bool is_long_gram(const CudaTsmttsmProblem& p, const RingTsmttsm& c) {
  return c.gram() && c.tile_m > 8 && p.m <= 8 * c.tile_m && (p.real_bytes == 4 || p.parts == 2);
}

std::int64_t usual_chunk_bytes(const CudaTsmttsmProblem& p, const RingTsmttsm& c, std::int64_t row_bytes) {
  // These warps have many products per row, and meet at the end of a chunk.
  if (is_long_gram(p, c)) return (p.real_bytes == 4 ? 32 : 16) * c.warps_m * row_bytes;
  if ((c.gram() && c.tile_m > 8) || (is_pair_section(c) && c.feeds == boxes_both)) return 32 * row_bytes;
  // Measurements show: Gram matrices of medium width are fastest with many small stages. If numbers are converted,
  // longer stages are better.
  if (c.gram() && row_bytes >= 128 && row_bytes <= 256) return p.real_bytes == 4 ? 64 * row_bytes : 8192;
  return chunk_bytes_of(c);
}

// Chooses the rows of a chunk of row-major operands, and sets the feeds.
bool complete_rows(const CudaDevice& device, const CudaTsmttsmProblem& p, int most_groups, RingTsmttsm& c) {
  const std::int64_t width_a = in_boxes_a(c.feeds) ? std::min<std::int64_t>(p.m, c.reached_m()) : p.pitch_a;
  const std::int64_t width_b = in_boxes_b(c.feeds) ? std::min<std::int64_t>(p.n, c.reached_n()) : p.pitch_b;
  const std::int64_t width = width_a + (comes_once(p, c) ? 0 : width_b);
  const int classes = row_classes(p, c);
  // Complex rows have an even number of reals: 16 rows are whole lines.
  const int least = std::max(16 * classes, c.warpgroup_3m() ? gauss_unit_rows : least_rows(p.real_bytes));
  const bool any_rows = c.rows == 0;
  if (any_rows) {
    const int groups = c.groups != 0 ? c.groups : most_groups;
    const std::int64_t row_bytes = c.fold * width * p.real_bytes;
    c.rows = std::max(least, chunk_rows(row_bytes, usual_chunk_bytes(p, c, row_bytes), p.real_bytes,
                                        ceil_div(p.k, c.fold), std::int64_t{device.multiprocessors} * groups, 4096));
    if (c.feeds != flat_both) c.rows = std::min(c.rows, longest_box * classes);
  }
  if (c.rows % least != 0 || (c.feeds != flat_both && c.rows > longest_box * classes)) return false;
  feed_rows(p, c);
  // With padding, stages may need too much room; then chunks get shorter.
  while (any_rows && c.rows > least &&
         std::max(most_groups, c.warpgroup_3m() || is_long_gram(p, c) ? 4 : 1) * (c.a.stage_bytes + c.b.stage_bytes) >
             room_of_stages(device, c)) {
    c.rows /= 2;
    feed_rows(p, c);
  }
  return true;
}

// The shortest usual piece of a column, in bytes. A shorter bulk copy takes longer to issue than to arrive. For TMA
// tiles this does not hold.
int least_piece(const RingTsmttsm& c) { return c.feeds == boxes_both ? 256 : 384; }
int usual_piece(const RingTsmttsm& c) { return is_real_warpgroup(c) && c.feeds == columns_both ? 1024 : 512; }
constexpr int most_piece = 8192;

// Sets rows and feeds of column-major operands for pieces of `piece` bytes. Returns whether `stages` stages fit.
bool columns_fit(const CudaDevice& device, const CudaTsmttsmProblem& p, int piece, int stages, RingTsmttsm& c) {
  c.rows = piece / (p.parts * p.real_bytes);
  feed_columns(p, c);
  return stages * (c.a.stage_bytes + c.b.stage_bytes) <= room_of_stages(device, c) &&
         (c.feeds != boxes_both || std::max(c.a.pitch, c.b.pitch) <= longest_box);
}

// Whether warps that take units of rows in turn can tell where they are in a chunk.
bool units_fill(const RingTsmttsm& c) {
  const bool power_of_two = (c.rows & (c.rows - 1)) == 0;
  return !c.whole_warpgroups() || power_of_two || (is_real_warpgroup(c) && c.rows >= 64);
}

// The fewest stages of column-major operands. Warpgroups side by side keep so many sums that two stages must do.
int least_column_stages(const RingTsmttsm& c) { return c.whole_warpgroups() && c.tile_m > 1 ? 2 : 3; }

// Chooses the rows of a chunk of column-major operands, and sets the feeds. Pieces of columns are so long that four
// stages hold them. Many columns get fewer stages.
bool complete_ring_columns(const CudaDevice& device, const CudaTsmttsmProblem& p, RingTsmttsm& c) {
  const int least = c.warpgroup_3m() ? gauss_unit_rows : least_rows(p.real_bytes);
  const int stages = least_column_stages(c);
  if (c.rows == 0) {
    int piece = most_piece;
    // In single precision, pieces shorter than these are worse than few stages.
    const int short_piece = c.gram() ? 2048 : 1024;
    const auto enough = [&] { return p.real_bytes == 4 && c.feeds == columns_both && piece <= short_piece ? 3 : 4; };
    while (piece > usual_piece(c) && !columns_fit(device, p, piece, enough(), c))
      piece = std::max(piece / 2, usual_piece(c));
    while (piece > line_bytes && !columns_fit(device, p, piece, stages, c)) piece -= line_bytes;
    // Complex products that leave time for memory: three longer stages come faster than four.
    if (p.parts == 2 && p.real_bytes == 8 && (!c.ring_3m() || c.square())) {
      for (int longer = 1024; longer > piece; longer -= 256) {
        if (columns_fit(device, p, longer, stages, c)) piece = longer;
      }
    }
    c.rows = piece / (p.parts * p.real_bytes) / least * least;
    while (!units_fill(c)) c.rows -= least;
    while (c.rows > least && c.rows * std::int64_t{device.multiprocessors} > p.k) c.rows = c.rows / 2 / least * least;
    c.rows = std::max(c.rows, least);
  }
  feed_columns(p, c);
  return c.rows % least == 0 && (c.feeds != boxes_both || std::max(c.a.pitch, c.b.pitch) <= longest_box);
}

// Chooses the warps that share a stage, and divides P into sections (CTA tiles) if these warps would be too many. It
// also divides P if rows are few: then partial sums of all of P cost more than reading an operand again. The choice is
// the one that moves the fewest bytes.
bool complete_warps(const CudaDevice& device, const CudaTsmttsmProblem& p, RingTsmttsm& c) {
  if (c.gram() && c.tile_m == pair_gram.blocks && p.m > pair_side) {
    c.warps_m = pair_warps_m;
    c.warps_n = pair_warps_n;
    c.sections_m = c.sections_n = static_cast<int>(ceil_div(p.m, pair_side));
    return c.fold == 1 && (c.feeds == boxes_both || c.feeds == columns_both);
  }
  if (c.gram()) {
    if (c.fold * p.m > 8 * c.tile_m) return false;
    const auto* const shape = std::ranges::find(tsmttsm_gram_shapes, c.tile_m, &GramShape::blocks);
    c.sections_m = c.sections_n = 1;
    c.warps_m = shape == std::end(tsmttsm_gram_shapes) ? 0 : shape->warps;
    c.warps_n = 1;
    return c.warps_m != 0;
  }
  if (c.square()) {
    c.warps_m = gauss_square_warps(c.tile_m);
    c.warps_n = c.sections_m = c.sections_n = 1;
    return p.m <= c.reached_m() && p.n <= c.reached_n() && c.fold == 1;
  }
  if (c.whole_warpgroups()) {
    c.warps_m = warpgroup_warps;
    c.warps_n = 1;
    c.sections_m = static_cast<int>(ceil_div(p.m, c.reached_m()));
    c.sections_n = static_cast<int>(ceil_div(p.n, c.reached_n()));
    const bool all_multiply = c.tile_m == 1 || 2 * p.m > c.reached_m();
    return c.sections_n == 1 && c.fold == 1 && all_multiply &&
           (c.sections_m == 1 || c.feeds == columns_both || in_boxes_a(c.feeds));
  }
  const std::int64_t most_m = ceil_div(c.fold * p.m, c.rows_of_tile());
  const std::int64_t most_n = ceil_div(c.fold * p.n, c.columns_of_tile());
  double least = 0;
  RingTsmttsm best = c;
  const int most_warps = ring_warps(c);
  const bool few = sums_weigh(device, p);
  for (int warps_m = 1; warps_m <= most_warps; ++warps_m) {
    if (warps_m > most_m) break;
    c.warps_m = warps_m;
    c.warps_n = static_cast<int>(std::min<std::int64_t>(most_n, most_warps / warps_m));
    const auto divide = [&] {
      c.sections_m = static_cast<int>(ceil_div(most_m, c.warps_m));
      c.sections_n = static_cast<int>(ceil_div(most_n, c.warps_n));
      return std::int64_t{c.sections_m} * c.sections_n;
    };
    std::int64_t sections = divide();
    const int warps = c.warps_m * c.warps_n;
    if (p.row_major && sections > 1 && (few ? most_warps % warps : most_warps - warps) != 0) continue;
    for (RingTsmttsm x = c; !p.row_major && c.warps_n > 1 && !columns_fit(device, p, least_piece(c), 3, x); x = c) {
      --c.warps_n;
      sections = divide();
    }
    const double again = columns_again(p, static_cast<double>(sections), c.reached_m(), c.reached_n());
    double moved = 1 + again;
    if (few) {
      const auto operands = static_cast<double>(p.k * (p.m + p.n) * p.real_bytes);
      const std::int64_t sums = std::int64_t{device.multiprocessors} * c.reached_m() * c.reached_n();
      moved = operands * (1 + read_again * again) + static_cast<double>(moved_sums(p, sums));
    }
    if (least != 0 && moved >= least) continue;
    least = moved;
    best = c;
  }
  if (least == 0) return false;
  c = best;
  if (c.sections_m * c.sections_n == 1) return true;
  // TMA tiles cut sections out of rows.
  return c.fold == 1 && (c.feeds == columns_both ||
                         ((c.sections_m == 1 || in_boxes_a(c.feeds)) && (c.sections_n == 1 || in_boxes_b(c.feeds))));
}

// Whether rows begin in few banks. Then rows that could be read in flat pieces may come as TMA tiles, for their
// padding.
bool banks_conflict(const CudaTsmttsmProblem& p) {
  const int free = 64 / p.real_bytes;
  return p.pitch_a % free == 0 || p.pitch_b % free == 0;
}

// Whether a kernel that saves products has enough to save: m n / (m + n) products a number, beyond which memory would
// wait for the FP64 tensor cores. Narrower results are refused, whoever asks.
bool has_enough_products(const CudaTsmttsmProblem& p, const RingTsmttsm& c) {
  const bool by_3m = c.policy == Policy::three_m;
  const std::int64_t products = c.whole_warpgroups() ? (by_3m ? 32 : 24) : by_3m ? 40 : 0;
  return products == 0 || p.m * p.n > products * (p.m + p.n);
}

bool complete_ring(const CudaDevice& device, const CudaTsmttsmProblem& p, RingTsmttsm& c) {
  if (!has_enough_products(p, c)) return false;
  if (c.square()) c.tile_n = c.tile_m;
  if (c.gram() && !p.same) return false;
  // The product of a matrix with itself would not be symmetric to the last bit.
  if (c.whole_warpgroups() && (!device.warpgroups || !p.may_split || p.same || p.real_bytes != 4)) return false;
  if (is_real_warpgroup(c) && !p.row_major && p.parts == 1) return false;
  if (c.complex_tiles() && (p.parts != 2 || !p.aligned || p.same)) return false;
  if (c.ring_3m() && p.real_bytes != 8) return false;
  if (c.feeds == feeds_by_rule) c.feeds = device.bulk_copies ? usual_feeds(p) : flat_both;
  if (c.feeds != flat_both && !device.bulk_copies) return false;
  if (!feeds_serve(p, c.feeds)) return false;
  if (!p.row_major && c.warpgroup_3m() && c.feeds != boxes_both) return false;
  if (c.padding == padding_by_rule) c.padding = c.feeds == usual_feeds(p) ? tight_boxes : padded_boxes;
  if (c.fold == 0) c.fold = p.row_major && c.feeds == flat_both ? usual_fold(p) : 1;
  if (c.fold > 1 && (c.fold > usual_fold(p) || c.feeds != flat_both)) return false;
  if (!complete_warps(device, p, c)) return false;
  const int most_groups = c.warpgroup_3m() ? 1 : is_real_warpgroup(c) ? 2 : ring_warps(c) / (c.warps_m * c.warps_n);
  if (!(p.row_major ? complete_rows(device, p, most_groups, c) : complete_ring_columns(device, p, c))) return false;
  const std::int64_t chunks = ceil_div(ceil_div(p.k, c.fold), c.rows);
  std::int64_t most_parts = device.multiprocessors;
  while (most_parts > 1 && block_count(c, most_parts) > device.multiprocessors) --most_parts;
  c.partials = std::min(chunks, most_parts);
  const std::int64_t turns = ceil_div(chunks, c.partials);
  c.partials = ceil_div(chunks, turns);  // more parts would not end earlier, and have more sums to add
  const int most_split = c.rows / 16;
  const auto most_sharing = [&](int groups) {
    int split = std::min(groups, most_split);
    while (groups % split != 0) --split;
    return split;
  };
  const std::int64_t stage = c.a.stage_bytes + c.b.stage_bytes;
  const std::int64_t room = room_of_stages(device, c);
  // Two stages are loaded while one is read. For long stages of rows, one that is loaded is enough.
  const std::int64_t least_stages = std::min<std::int64_t>(turns, p.row_major ? 2 : least_column_stages(c));
  if (c.groups == 0) {
    c.groups = most_groups;
    // Groups without a chunk would only add zeros.
    while (p.row_major && !c.whole_warpgroups() && c.groups / 2 >= turns) c.groups /= 2;
    // All groups that take stages in turn get equally many.
    const auto stages = [&] { return whole_groups(room / stage, c.groups / most_sharing(c.groups)); };
    while (!p.row_major && c.groups > 1 && stages() < least_stages) c.groups /= 2;
  }
  if (c.split == 0) {
    // Groups take whole chunks of rows, and mostly share those of columns.
    const bool apart = p.row_major || c.whole_warpgroups() || (c.ring_3m() && !c.square());
    c.split = apart ? 1 : most_sharing(c.groups);
  }
  if (c.groups > most_groups || c.groups % c.split != 0 || c.split > most_split) return false;
  // Threads share every chunk, and each has at most one entry of the result.
  const bool shares_chunks = c.whole_warpgroups() || (c.complex_tiles() && p.row_major);
  if (shares_chunks && c.split != 1) return false;
  // A group sums whole chunks in single precision. Chunks of complex numbers have one segment.
  if (c.whole_warpgroups() && c.rows > rows_of_early_sums) return false;
  if ((c.complex_tiles() || c.whole_warpgroups()) && c.rows != c.segment) return false;
  if (c.square() && c.a.pitch != c.b.pitch) return false;  // its warps use each operand on either side of a product
  // All warpgroups of a block take part.
  if (c.whole_warpgroups() && (c.groups != most_groups || c.a.panels > c.tile_m || c.b.panels != 1)) return false;
  if (c.turned != 0 && !(p.row_major && lanes_turn(c))) return false;
  // As measured on an H200, shorter pieces come too slowly, and so do pieces of so many columns.
  if (is_real_warpgroup(c) && c.feeds == columns_both && (c.rows < 128 || c.tile_m > 1)) return false;
  const bool shared_stages = is_real_warpgroup(c) && !p.row_major && c.rows >= 64;  // both groups read each stage
  const int in_turn = c.warpgroup_3m() ? gauss_stages_step(c.columns_of_tile() / 2, c.rows)
                      : shared_stages  ? 1
                                       : c.groups / c.split;
  if (!units_fill(c)) return false;
  if (c.stages == 0) c.stages = whole_groups(std::min(room / stage, round_up(turns, in_turn)), in_turn);
  if (c.stages < std::max<std::int64_t>(in_turn, least_stages)) return false;
  if (c.stages % in_turn != 0 || c.stages > max_stages) return false;
  // In the end, as many of the groups' sums as fit lie side by side in place of the stages.
  const std::int64_t copies = std::clamp<std::int64_t>(room / c.sum_bytes(), 1, c.groups);
  const std::int64_t shared = std::max(c.stages * stage, c.warpgroup_3m() ? 0 : copies * c.sum_bytes());
  if (shared > room) return false;
  c.shared_bytes = static_cast<int>(shared + transposed_bytes(c));
  c.workspace_bytes =
      static_cast<std::size_t>(c.partials * c.fold * c.fold * p.m * p.n) * sizeof(double) + workspace_alignment;
  return true;
}

void add_ring(const TsmttsmCandidates& to) {
  using C = RingTsmttsm;
  const CudaTsmttsmProblem& p = to.problem;
  C c{};
  static_cast<CudaKind&>(c) = to.kind;
  const auto add_feeds = [&](int feeds, int padding) {
    c.feeds = feeds;
    c.padding = padding;
    return to.add(c, {{&C::fold, {1, 2, 4, 8}},
                      {&C::groups, {1, 2, 4, 8}},
                      {&C::split, {1, 2, 4, 8}},
                      {&C::rows, {32, 64, 128, 256, 512, 1024}},
                      {&C::stages, {2, 3, 4, 6, 8, 12, 16, 24}}});
  };
  const auto add_shape = [&](int tile_m, int tile_n) {
    c.tile_m = tile_m;
    c.tile_n = tile_n;
    const bool legal = add_feeds(usual_feeds(p), tight_boxes);
    if (c.gram() && p.row_major) {
      c.turned = 1;
      add_feeds(usual_feeds(p), tight_boxes);
      c.turned = 0;
    }
    if (!p.row_major) add_feeds(boxes_both, tight_boxes);
    if (!p.row_major || (usual_feeds(p) == flat_both && legal && !banks_conflict(p))) return;
    if (usual_feeds(p) != flat_both) add_feeds(usual_feeds(p), padded_boxes);
    if (usual_feeds(p) != boxes_both) add_feeds(boxes_both, padded_boxes);
  };
  const auto add_tiles = [&](const auto& tiles) {
    for (const TileShape& tile : tiles) add_shape(tile.m, tile.n);
  };
  if (c.gram()) {
    for (const GramShape& shape : tsmttsm_gram_shapes) add_shape(shape.blocks, 0);
  } else if (c.whole_warpgroups()) {
    c.warpgroup_3m() ? add_tiles(tsmttsm_tf32_warpgroup_3m_shapes) : add_tiles(tsmttsm_tf32_warpgroup_shapes);
  } else if (c.square()) {
    for (const Columns& blocks : tsmttsm_ring_square_3m_shapes) {
      const auto covers = [&](std::int64_t width) { return width <= 16 * blocks.n && width > 16 * (blocks.n - 1); };
      if (covers(p.m) && covers(p.n)) add_shape(blocks.n, blocks.n);
    }
  } else if (c.ring_3m()) {
    // Twelve warps divide few columns better. They need registers that only compute capability 9.0 can move between
    // warps.
    const bool twelve = to.device.bulk_copies && p.m <= 96 && p.n <= 96;
    for (const TileShape& tile : tsmttsm_ring_3m_shapes) {
      const bool usual = (gauss_warps(tile) > computing_warps) == twelve;
      if (to.all || usual) add_shape(tile.m, tile.n);
    }
  } else {
    add_tiles(tsmttsm_ring_shapes);
  }
}

// What a consumer warp group does with 16 rows: products of MMA tiles of 16 x 8, and loads of fragments of A and B.
struct RingWork {
  double pieces, fragments_a, fragments_b;
};

RingWork work_of_16_rows(const CudaTsmttsmProblem& p, const RingTsmttsm& c) {
  // MMA tiles beyond the result are left out.
  const auto live_columns = static_cast<double>(std::min<std::int64_t>(ceil_div(p.n, 16), c.warps_n * c.tile_n));
  const double warps = c.warps_m * c.warps_n;
  if (takes_pairs(c)) return {warps * pair_tile.m * pair_tile.n, warps * 8 * pair_tile.m, warps * 4 * pair_tile.n};
  if (c.square()) {  // src/cuda/tsmttsm/ring_3m.cuh
    const int pieces = (c.tile_m * c.tile_m + 1) / 2;
    return {3.0 * pieces, 30 * warps, 0};
  }
  if (!c.gram()) {
    const double pieces = c.ring_3m() ? 3.0 * c.warps_m * c.tile_m * live_columns : warps * c.tile_m * c.tile_n;
    return {pieces, warps * 8 * c.tile_m, warps * 4 * c.tile_n};
  }
  const int bands = (c.tile_m + 1) / 2;
  double pieces = 0;
  for (int x = 0; x < bands; ++x) pieces += c.tile_m - 2 * x;
  return {pieces, 4.0 * (warps * c.tile_m - warps * (warps - 1)), 0};
}

double ring_bytes(const CudaTsmttsmProblem& p, const RingTsmttsm& c) {
  if (!p.row_major) return tall_bytes(p);
  const auto row = [&](std::int64_t width, std::int64_t pitch, bool boxed) {
    return boxed ? touched_bytes(width, pitch, p.real_bytes) : static_cast<double>(pitch * p.real_bytes);
  };
  return static_cast<double>(p.k) *
         (row(p.m, p.pitch_a, in_boxes_a(c.feeds)) + (p.same ? 0 : row(p.n, p.pitch_b, in_boxes_b(c.feeds))));
}

// The bandwidth that TMA tiles (boxes) reach, as a fraction. They come one after the other, and what they write beyond
// their lines takes time, too. This was measured on an H200 for short pieces of columns, and for lines that do not
// begin at multiples of 64 or 16 bytes.
double box_efficiency(const CudaTsmttsmProblem& p, const RingTsmttsm& c) {
  if (c.feeds == flat_both) return 1;
  const bool even = lead_of(p, p.pitch_a) == 0 && lead_of(p, p.pitch_b) == 0;
  if (!p.row_major) {
    const int piece = c.rows * p.parts * p.real_bytes;
    const bool whole_lines = p.pitch_a * p.real_bytes % line_bytes == 0 && p.pitch_b * p.real_bytes % line_bytes == 0;
    const double shortest = c.warpgroup_3m() ? 0.5 : p.real_bytes == 4 ? 0.73 : 0.93;
    const double length = piece < 256 ? shortest : piece < 512 ? 0.97 : 1;
    const int stage = c.a.stage_bytes + c.b.stage_bytes;
    const double asked_at_once = c.warpgroup_3m() ? 1 : std::min(1.0, stage / 24576.0);
    const double whole_boxes = p.real_bytes == 4 && !c.whole_warpgroups() ? 0.91 : 0.98;
    if (c.feeds == boxes_both) return (whole_lines ? whole_boxes : 0.85) * length * asked_at_once;
    const double asked = length - 1e-4 * (c.a.lines + c.b.lines);
    return std::min((whole_lines ? 0.985 : 0.975) * asked, piece / (p.real_bytes == 4 ? 440.0 : 290.0));
  }
  const auto whole = [&](bool boxed, std::int64_t pitch) { return !boxed || pitch * p.real_bytes % 64 == 0; };
  const bool pieces = whole(in_boxes_a(c.feeds), p.pitch_a) && whole(in_boxes_b(c.feeds), p.pitch_b);
  const double padding = c.padding == tight_boxes ? 0.985 : 0.94;
  return padding * (usual_feeds(p) == flat_both || (even && pieces) ? 1 : even ? 0.94 : 0.87);
}

// The columns that the sections of a configuration load again, as a fraction of all columns.
double columns_again(const CudaDevice& device, const CudaTsmttsmProblem& p, const RingTsmttsm& c) {
  const auto sections = static_cast<double>(block_count(c, 1));
  if (p.row_major && !sums_weigh(device, p) && !c.whole_warpgroups()) return 1 - 1 / sections;
  if (comes_once(p, c)) return 0;
  const auto width = [&](int reached, std::int64_t whole) {
    return static_cast<double>(takes_pairs(c) ? pair_side : std::min<std::int64_t>(reached, whole));
  };
  return columns_again(p, sections, width(c.reached_m(), p.m), width(c.reached_n(), p.n));
}

CudaWork ring_work(const CudaDevice& device, const CudaTsmttsmProblem& p, const RingTsmttsm& c) {
  const std::int64_t turns = ceil_div(ceil_div(ceil_div(p.k, c.fold), c.rows), c.partials);
  const auto steps = static_cast<double>(round_up(turns, c.groups / c.split) * c.rows) / 16;
  const RingWork each = work_of_16_rows(p, c);
  const int classes = c.rows / c.segment;
  const std::int64_t step_a = c.a.pitch * (c.a.boxed ? 1 : classes);
  const std::int64_t step_b = comes_once(p, c) ? step_a : c.b.pitch * (c.b.boxed ? 1 : classes);
  const RowMap map = row_map_of(c, step_a, step_b, static_cast<std::size_t>(p.real_bytes));
  const auto clocks = [&](std::int64_t pitch) {
    // Real and imaginary parts are read separately; in single precision both at once, if rows are aligned to pairs.
    constexpr int read_apart = 3;
    constexpr int flipped = 4;
    constexpr int in_few_banks = 16;
    const int plain = c.whole_warpgroups() && !p.row_major    ? 2
                      : !p.row_major                          ? 4
                      : !c.ring_3m() && !c.whole_warpgroups() ? fragment_read_clocks(map, pitch, p.real_bytes)
                      : pitch % 2 != 0                        ? read_apart
                      : p.real_bytes == 4                     ? fragment_read_clocks(map, pitch / 2, 8)
                      : pitch % 16 != 0                       ? flipped
                                                              : in_few_banks;
    return c.turned != 0 ? plain / 2 : plain;
  };
  CudaWork work{};
  // Sections read the same columns at about the same time, and mostly from the cache.
  work.bytes = (1 + read_again * columns_again(device, p, c)) * ring_bytes(p, c);
  const double turning = c.turned != 0 ? 0.985 : 1;
  work.bandwidth = box_efficiency(p, c) * turning * device.read_bandwidth;
  work.product_clocks = steps * 16 * each.pieces * ring_warps(c) / (c.groups * c.warps_m * c.warps_n);
  // As measured on an H200: products that share factors take less power (src/cuda/math/f64_tiles.cuh). Factors in
  // single precision take more instructions.
  if (is_pair_section(c) && p.real_bytes == 8) work.product_clocks *= 0.98;
  if (p.parts == 2 && p.real_bytes == 4 && !p.row_major && c.feeds == boxes_both) work.product_clocks *= 1.04;
  if (p.real_bytes == 4 && !c.whole_warpgroups() && p.m > 4 * p.n) work.product_clocks *= p.row_major ? 1.1 : 1.15;
  work.shared_clocks = steps * (each.fragments_a * clocks(step_a) + each.fragments_b * clocks(step_b));
  if (c.whole_warpgroups()) {
    // These clocks were measured on an H200; tensor cores by themselves would take half of them. B is written again,
    // transposed.
    const bool complex = c.complex_tiles();
    const double more_clocks = clocks(step_a) - 2;
    work.product_clocks = steps * (complex ? c.tile_m * (60 + 9 * c.reached_n() + 20 * more_clocks)
                                           : c.tile_m * (200 + 1.75 * c.reached_n() + 12 * more_clocks));
    work.shared_clocks = steps * ((complex ? 24 : 16) * c.tile_m * clocks(step_a) + 1.5 * c.reached_n());
  }
  work.overlap = 0.9;
  work.multiprocessors = static_cast<double>(c.whole_warpgroups() ? block_count(c, c.partials) : c.partials);
  work.bytes_in_flight = static_cast<double>(c.stages * (c.a.stage_bytes + c.b.stage_bytes));
  work.launches = 2;
  work.waits = c.feeds == flat_both ? 1 : 2;  // tensor maps are fetched first
  work.products = c.whole_warpgroups() ? CudaProducts::tf32_tensor : CudaProducts::f64_tensor;
  return work;
}

bool is_compiled(const CudaTsmttsmProblem& p, const RingTsmttsm& c) {
  const bool by_columns = !p.row_major;
  const auto is_in = [&](const auto& compiled, auto... numbers) {
    return is_among(compiled, p.real_bytes, numbers...);
  };
  if (p.parts == 1 && c.complex_tiles()) return false;
  if (c.gram()) return p.same && is_in(tsmttsm_gram_compiled, c.tile_m, by_columns);
  if (c.warpgroup_3m()) return is_in(tsmttsm_tf32_warpgroup_3m_compiled, c.tile_m, c.tile_n, by_columns);
  if (c.whole_warpgroups()) {
    return is_in(tsmttsm_tf32_warpgroup_compiled, c.tile_m, c.tile_n, by_columns, by_columns);
  }
  if (c.square()) return is_in(tsmttsm_ring_square_3m_compiled, c.tile_m, by_columns);
  if (c.ring_3m()) return is_in(tsmttsm_ring_3m_compiled, c.tile_m, c.tile_n, by_columns);
  return is_in(tsmttsm_ring_compiled, c.tile_m, c.tile_n, by_columns);
}

std::span<const Field<RingTsmttsm>> fields(const CudaKind& kind) {
  using C = RingTsmttsm;
  static constexpr Field<C> tile{"tile", &C::tile_m, &C::tile_n}, blocks{"blocks", &C::tile_m},
      warps{"warps", &C::warps_m, &C::warps_n}, sections{"sections", &C::sections_m, &C::sections_n},
      groups{"groups", &C::groups}, split{"split", &C::split}, feeds{"feeds", &C::feeds},
      padding{"padding", &C::padding}, turned{"turned", &C::turned}, segment{"segment", &C::segment},
      rows{"rows", &C::rows}, stages{"stages", &C::stages}, fold{"fold", &C::fold};
  static constexpr Field<C> ring[] = {tile,    warps,   sections, groups, split, feeds,
                                      padding, segment, rows,     stages, fold};
  static constexpr Field<C> square[] = {blocks, groups, split, feeds, padding, segment, rows, stages, fold};
  static constexpr Field<C> gram[] = {blocks, sections, groups, split,  feeds, padding,
                                      turned, segment,  rows,   stages, fold};
  if (kind.policy == Policy::square_3m) return square;
  if (kind.kernel == CudaKernel::gram) return gram;
  return ring;
}

}  // namespace

const TsmttsmEntry<RingTsmttsm> RingTsmttsm::entry{{}, is_compiled, complete_ring, ring_work, add_ring, fields};

int fragment_read_clocks(const RowMap& map, std::int64_t pitch, int real_bytes) {
  constexpr int lanes = 32;
  const int together = std::min(lanes, 128 / real_bytes);                    // lanes that one clock serves at best
  const auto like = static_cast<int>(pitch < 64 ? pitch : 32 + pitch % 32);  // larger pitches behave alike
  int clocks = 0;
  for (int first = 0; first < lanes; first += together) {
    std::bitset<1024> read;          // lanes that read the same number are served by one read
    std::array<int, lanes> count{};  // different numbers in a bank
    int most = 0;
    for (int lane = first; lane < first + together; ++lane) {
      const auto place = static_cast<std::size_t>(std::min(map.by_lane, 4) * (lane % 4) * like + lane / 4);
      if (!read[place]) most = std::max(most, ++count[place % static_cast<std::size_t>(together)]);
      read.set(place);
    }
    clocks += most;
  }
  return clocks;
}

double touched_bytes(std::int64_t width, std::int64_t pitch, int real_bytes) {
  const auto own = static_cast<double>(width * real_bytes);
  const auto whole = static_cast<double>(pitch * real_bytes);
  const double more = pitch * real_bytes % 64 == 0 ? static_cast<double>(-width * real_bytes & 63) : 56.0;
  return std::min(own + more, whole);
}

}  // namespace blockvec::kernels::dispatch

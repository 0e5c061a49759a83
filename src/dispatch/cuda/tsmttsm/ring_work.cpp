#include <algorithm>
#include <array>
#include <iterator>

#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/stages.hpp"
#include "src/dispatch/cuda/tsmttsm/ring.hpp"

namespace blockvec::kernels::dispatch {
namespace {

constexpr int read_pitches = 64;  // a larger pitch behaves like one from 32 on

// Lanes that read the same number are served by one read.
int count_clocks(int by_lane, int pitch, int real_bytes) {
  constexpr int lanes = 32;
  const int together = std::min(lanes, 128 / real_bytes);  // lanes that one clock serves at best
  const auto place = [&](int lane) { return by_lane * (lane % 4) * pitch + lane / 4; };
  int clocks = 0;
  for (int first = 0; first < lanes; first += together) {
    std::array<int, lanes> count{};  // different numbers in a bank
    int most = 0;
    for (int lane = first; lane < first + together; ++lane) {
      bool known = false;
      for (int other = first; other < lane; ++other) known = known || place(other) == place(lane);
      if (!known) most = std::max(most, ++count[static_cast<std::size_t>(place(lane) % together)]);
    }
    clocks += most;
  }
  return clocks;
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

}  // namespace

int fragment_read_clocks(const RowMap& map, std::int64_t pitch, int real_bytes) {
  using Table = std::array<std::array<std::array<int, read_pitches>, 3>, 2>;  // [8 bytes][log2 of by_lane][pitch]
  static const Table table = [] {
    Table made{};
    for (std::size_t i = 0; i < 2 * 3 * read_pitches; ++i) {
      const std::size_t map_number = i / read_pitches % 3, at = i % read_pitches, wide = i / read_pitches / 3;
      made[wide][map_number][at] = count_clocks(1 << map_number, static_cast<int>(at), wide == 0 ? 4 : 8);
    }
    return made;
  }();
  const std::size_t which = map.by_lane == 1 ? 0 : map.by_lane == 2 ? 1 : 2;
  const std::int64_t like = pitch < read_pitches ? pitch : read_pitches / 2 + pitch % (read_pitches / 2);
  return table[real_bytes == 4 ? 0 : 1][which][static_cast<std::size_t>(like)];
}

double touched_bytes(std::int64_t width, std::int64_t pitch, int real_bytes) {
  const auto own = static_cast<double>(width * real_bytes);
  const auto whole = static_cast<double>(pitch * real_bytes);
  const double more = pitch * real_bytes % 64 == 0 ? static_cast<double>(-width * real_bytes & 63) : 56.0;
  return std::min(own + more, whole);
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
                      : c.padding == swizzled_boxes           ? 2
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

}  // namespace blockvec::kernels::dispatch

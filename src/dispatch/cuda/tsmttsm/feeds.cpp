#include <algorithm>
#include <numeric>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/stages.hpp"
#include "src/dispatch/cuda/tsmttsm/ring.hpp"

namespace blockvec::kernels::dispatch {
namespace {

int whole_lines(std::int64_t bytes) { return static_cast<int>(round_up(bytes, line_bytes)); }

// Returns the least odd multiple of `step` that holds `numbers`. If `step` is 0, returns the least multiple of `unit`.
std::int64_t padded(std::int64_t numbers, int step, int unit) {
  if (step == 0) return round_up(numbers, unit);
  const std::int64_t multiples = ceil_div(numbers, step);
  return (multiples + (multiples % 2 == 0 ? 1 : 0)) * step;
}

// Columns that lie a multiple of four complex numbers apart would share banks. Their pitch becomes two complex numbers
// larger, or smaller where there is room.
int pitch_in_banks(const CudaFeedRequest& r, int pitch) {
  if (!r.flips || pitch % 8 != 0) return pitch;
  return pitch % 16 == 0 ? pitch + 4 : pitch - 4;
}

// Whether tensor maps can describe both operands. Coordinates have 32 bits, strides have 40. No class of lines may be
// empty.
bool fits_boxes(const CudaTsmttsmProblem& p) {
  const std::int64_t longest = (std::int64_t{1} << 31) - 65536;
  const std::int64_t stride = std::max(p.pitch_a, p.pitch_b) * p.real_bytes * most_box_classes;
  return p.pitch_a != 0 && p.k >= most_box_classes && p.k * p.parts < longest && stride < std::int64_t{1} << 40;
}

CudaFeedRequest request_a(const CudaTsmttsmProblem& p, const RingTsmttsm& c) {
  const std::int64_t width = c.sections_m == 1 ? c.fold * p.m : c.reached_m();
  CudaFeedRequest r{width,       c.fold * p.pitch_a, c.reached_m(), c.rows, c.rows_of_tile(), lead_of(p, p.pitch_a),
                    p.real_bytes};
  if (c.gram()) r.reached = c.reached_n();
  if (comes_once(p, c) && !c.gram()) {
    r.reached = std::max(c.reached_m(), c.reached_n());
    r.step = std::lcm(c.rows_of_tile(), c.columns_of_tile());
  }
  return r;
}

CudaFeedRequest request_b(const CudaTsmttsmProblem& p, const RingTsmttsm& c) {
  if (c.gram()) return request_a(p, c);
  const std::int64_t width = c.sections_n == 1 ? c.fold * p.n : c.reached_n();
  return {width, c.fold * p.pitch_b, c.reached_n(), c.rows, c.columns_of_tile(), lead_of(p, p.pitch_b), p.real_bytes};
}

// The feed for a chunk that is one piece of memory.
CudaFeed flat_feed(const CudaFeedRequest& r) {
  CudaFeed feed{};
  feed.pitch = static_cast<int>(r.pitch);
  feed.panel = static_cast<int>(r.reached);
  feed.lines = r.rows;
  // A chunk begins anywhere in a line of 128 bytes. Lanes beyond the width read on behind the last row.
  const std::int64_t beyond = std::max<std::int64_t>(0, r.reached - r.pitch);
  feed.stage_bytes = whole_lines((r.rows * r.pitch + beyond) * r.real_bytes) + line_bytes;
  return feed;
}

// The feed for rows in TMA tiles. Their pitch is an odd multiple of `bank_step` numbers (a multiple of 16 bytes), so
// that lanes that read columns of several rows meet different banks. `bank_step` 0: the pitch is as small as possible.
CudaFeed row_feed(const CudaFeedRequest& r, int classes, int bank_step) {
  CudaFeed feed{};
  feed.boxed = true;
  feed.classes = classes;
  feed.lines = r.rows / classes;
  const std::int64_t lead = r.lead;
  const int unit = 16 / r.real_bytes;
  const std::int64_t most = longest_box - 2 * bank_step - lead;
  const std::int64_t fewest = ceil_div(r.width, most);
  std::int64_t least = 0;
  for (std::int64_t panels = fewest; panels < fewest + 3; ++panels) {
    const std::int64_t panel = panels == 1 ? r.reached : round_up(ceil_div(r.width, panels), r.step);
    const std::int64_t pitch = padded((panels == 1 ? r.width : panel) + lead, bank_step, unit);
    const std::int64_t used = ceil_div(r.width, panel);
    if (pitch > longest_box || (least != 0 && used * pitch >= least)) continue;
    least = used * pitch;
    feed.pitch = static_cast<int>(pitch);
    feed.panel = static_cast<int>(panel);
    feed.panels = static_cast<int>(used);
  }
  const std::int64_t last = r.width - (feed.panels - 1) * std::int64_t{feed.panel};
  const std::int64_t beyond = std::max<std::int64_t>(0, r.reached - r.width + last + lead - feed.pitch);
  feed.stage_bytes = whole_lines((feed.panels * feed.pitch * std::int64_t{r.rows} + beyond) * r.real_bytes);
  return feed;
}

// The feed for columns in TMA tiles of `panel` columns of a class. Classes lie one after the other.
CudaFeed boxed_column_feed(const CudaFeedRequest& r, int parts) {
  CudaFeed feed{};
  const std::int64_t columns = ceil_div(r.width, parts);
  feed.boxed = true;
  feed.classes = box_classes(r.pitch, r.real_bytes);
  feed.lines = static_cast<int>(columns);
  feed.pitch = pitch_in_banks(r, parts * r.rows + std::max<int>(r.apart, r.lead == 0 ? 0 : 16 / r.real_bytes));
  const std::int64_t of_class = ceil_div(columns, feed.classes);
  feed.panels = static_cast<int>(ceil_div(of_class, longest_box));
  feed.panel = static_cast<int>(ceil_div(of_class, feed.panels));
  if (feed.panels > 1) feed.panel = static_cast<int>(round_up(feed.panel, 8));  // TMA tiles begin at lines of 128 bytes
  const std::int64_t numbers = round_up(std::int64_t{feed.panels} * feed.panel * feed.pitch, line_bytes / r.real_bytes);
  feed.class_step = static_cast<int>(numbers);
  const std::int64_t reached = ceil_div(ceil_div(r.reached, parts), feed.classes);
  const std::int64_t beyond = (feed.classes - 1) * feed.class_step + reached * feed.pitch - feed.classes * numbers;
  feed.bytes_beyond = static_cast<int>(std::max<std::int64_t>(0, beyond) * r.real_bytes);
  feed.stage_bytes = static_cast<int>(feed.classes * numbers * r.real_bytes);
  return feed;
}

}  // namespace

CudaFeed column_feed(const CudaFeedRequest& r, int parts) {
  CudaFeed feed{};
  // Bulk copies are fast if source and destination begin at the same place of a line of 128 bytes.
  const int line = line_bytes / r.real_bytes;
  const std::int64_t least = parts * std::int64_t{r.rows} + r.lead;
  const std::int64_t pitch = least + ((r.pitch - least) % line + line) % line;
  const std::int64_t columns = ceil_div(r.width, parts);
  feed.pitch = pitch_in_banks(r, static_cast<int>(pitch));
  feed.lines = static_cast<int>(columns);
  feed.bytes_beyond = static_cast<int>((ceil_div(r.reached, parts) - columns) * feed.pitch * r.real_bytes);
  feed.stage_bytes = whole_lines(columns * feed.pitch * r.real_bytes) + line_bytes;
  return feed;
}

int usual_fold(const CudaTsmttsmProblem& p) {
  if (p.pitch_a != p.m || (!p.same && p.pitch_b != p.n)) return 1;
  return static_cast<int>(
      std::max<std::int64_t>(1, std::min(16 / std::max<std::int64_t>(p.m, 1), 8 / std::max<std::int64_t>(p.n, 1))));
}

int usual_feeds(const CudaTsmttsmProblem& p) {
  if (!p.row_major) return columns_both;
  const bool a = !streams(p.m, p.pitch_a);
  const bool b = p.same ? a : !streams(p.n, p.pitch_b);
  return a && b ? boxes_both : a ? boxes_a : b ? boxes_b : flat_both;
}

int lead_of(const CudaTsmttsmProblem& p, std::int64_t pitch) {
  return (p.aligned || p.aligned_before) && box_classes(pitch, p.real_bytes) == 1 ? 0 : 16 / p.real_bytes - 1;
}

bool feeds_serve(const CudaTsmttsmProblem& p, int feeds) {
  if (!p.row_major) {
    return p.pitch_a != 0 && (feeds == columns_both || (feeds == boxes_both && fits_boxes(p)));
  }
  if (feeds == columns_both || (feeds != flat_both && !fits_boxes(p))) return false;
  return (in_boxes_a(feeds) || streams(p.m, p.pitch_a)) && (p.same || in_boxes_b(feeds) || streams(p.n, p.pitch_b));
}

bool comes_once(const CudaTsmttsmProblem& p, const RingTsmttsm& c) {
  return p.same && c.sections_m * c.sections_n == 1;
}

int row_classes(const CudaTsmttsmProblem& p, const RingTsmttsm& c) {
  const int a = in_boxes_a(c.feeds) ? box_classes(p.pitch_a, p.real_bytes) : 1;
  const int b = in_boxes_b(c.feeds) ? box_classes(p.pitch_b, p.real_bytes) : 1;
  // Rows of 4-byte numbers at an odd distance conflict less in banks if lanes take every other row.
  const bool odd = p.real_bytes == 4 && c.feeds == flat_both && c.fold * p.pitch_a % 2 != 0 && !c.whole_warpgroups();
  return odd ? 2 : std::max(a, b);
}

void feed_rows(const CudaTsmttsmProblem& p, RingTsmttsm& c) {
  const int classes = row_classes(p, c);
  const int unit = 16 / p.real_bytes;
  const CudaFeedRequest a = request_a(p, c);
  const CudaFeedRequest b = request_b(p, c);
  const bool boxed_a = in_boxes_a(c.feeds);
  const bool boxed_b = in_boxes_b(c.feeds);
  // Lanes take the same rows of both operands. So the padding of a TMA tile adapts to the pitch of a flat operand.
  const auto wants_single_step = [&](std::int64_t pitch) { return classes * pitch % (2 * unit) == unit; };
  const bool single =
      (!boxed_a && wants_single_step(a.pitch)) || (!comes_once(p, c) && !boxed_b && wants_single_step(b.pitch));
  const int bank_step = c.padding == tight_boxes ? 0 : single ? unit : 2 * unit;
  c.segment = c.rows / classes;
  c.a = boxed_a ? row_feed(a, classes, bank_step) : flat_feed(a);
  c.b = comes_once(p, c) ? CudaFeed{} : boxed_b ? row_feed(b, classes, bank_step) : flat_feed(b);
}

void feed_columns(const CudaTsmttsmProblem& p, RingTsmttsm& c) {
  c.segment = c.rows;
  const auto feed = [&](const CudaFeedRequest& r) {
    return c.feeds == boxes_both ? boxed_column_feed(r, p.parts) : column_feed(r, p.parts);
  };
  CudaFeedRequest a = request_a(p, c);
  CudaFeedRequest b = request_b(p, c);
  if (c.whole_warpgroups()) {  // lanes read a row of 4 complex columns of A, and 4 rows of a column of B
    a.apart = 8;
    b.apart = 4;
  } else if (c.ring_3m()) {
    a.flips = b.flips = true;
  } else if (box_classes(p.pitch_a, p.real_bytes) > 1) {  // rows of all classes together fill half of the banks
    a.apart = b.apart = 64 / p.real_bytes;
  } else if (p.real_bytes == 4) {  // 4 rows of 4 complex columns, or 16 bytes of 4 rows of 2 columns
    a.apart = b.apart = p.parts == 2 ? 8 : 16;
  }
  c.a = feed(a);
  c.b = comes_once(p, c) ? CudaFeed{} : feed(b);
  // The last operand's part of a stage grows so that no lane reads the next stage.
  const int beyond = std::max(c.a.bytes_beyond - c.b.stage_bytes, c.b.bytes_beyond);
  CudaFeed& last = comes_once(p, c) ? c.a : c.b;
  if (beyond > 0) last.stage_bytes += static_cast<int>(round_up(beyond, line_bytes));
}

}  // namespace blockvec::kernels::dispatch

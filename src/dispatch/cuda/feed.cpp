#include "src/dispatch/cuda/feed.hpp"

#include <algorithm>
#include <numeric>

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

}  // namespace

CudaFeed flat_feed(const CudaFeedRequest& r) {
  CudaFeed feed{};
  feed.classes = 1;
  feed.pitch = static_cast<int>(r.pitch);
  feed.panel = static_cast<int>(r.reached);
  feed.panels = 1;
  feed.lines = r.rows;
  // A chunk begins anywhere in a line of 128 bytes. Lanes beyond the width read on behind the last row.
  const std::int64_t beyond = std::max<std::int64_t>(0, r.reached - r.pitch);
  feed.stage_bytes = whole_lines((r.rows * r.pitch + beyond) * r.real_bytes) + line_bytes;
  return feed;
}

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

CudaFeed column_feed(const CudaFeedRequest& r, int parts) {
  CudaFeed feed{};
  // Bulk copies are fast if source and destination begin at the same place of a line of 128 bytes.
  const int line = line_bytes / r.real_bytes;
  const std::int64_t least = parts * std::int64_t{r.rows} + r.lead;
  const std::int64_t pitch = least + ((r.pitch - least) % line + line) % line;
  const std::int64_t columns = ceil_div(r.width, parts);
  feed.classes = feed.panels = 1;
  feed.pitch = pitch_in_banks(r, static_cast<int>(pitch));
  feed.lines = static_cast<int>(columns);
  feed.bytes_beyond = static_cast<int>((ceil_div(r.reached, parts) - columns) * feed.pitch * r.real_bytes);
  feed.stage_bytes = whole_lines(columns * feed.pitch * r.real_bytes) + line_bytes;
  return feed;
}

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

CudaFeed swizzled_column_feed(const CudaFeedRequest& r) {
  CudaFeed feed{};
  feed.boxed = true;
  feed.classes = feed.panels = 1;
  feed.pitch = swizzled_rows;
  feed.panel = feed.lines = static_cast<int>(round_up(r.width, 8));  // a swizzle repeats after eight columns
  feed.bytes_beyond = static_cast<int>(std::max<std::int64_t>(0, r.reached - feed.lines) * feed.pitch * r.real_bytes);
  feed.stage_bytes = r.rows * feed.lines * r.real_bytes;
  return feed;
}

}  // namespace blockvec::kernels::dispatch

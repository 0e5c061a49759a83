#include "src/dispatch/cuda_tsmttsm_columns_warpgroup.hpp"

#include <algorithm>
#include <iterator>

#include "src/dispatch/cuda_sections.hpp"
#include "src/dispatch/cuda_split_columns.hpp"
#include "src/dispatch/cuda_stages.hpp"
#include "src/dispatch/cuda_tsmttsm_feeds.hpp"

namespace blockvec::kernels::dispatch {
namespace {

CudaFeed split_feed(const CudaTsmttsmProblem& p, std::int64_t columns, std::int64_t pitch, int rows) {
  CudaFeed feed{};
  feed.boxed = true;
  feed.classes = box_classes(pitch, p.real_bytes);
  feed.lines = static_cast<int>(ceil_div(columns, feed.classes));
  feed.pitch = rows + split_lead;
  feed.class_step = static_cast<int>(round_up(std::int64_t{feed.lines} * feed.pitch, line_bytes / p.real_bytes));
  feed.stage_bytes = feed.classes * feed.class_step * p.real_bytes;
  return feed;
}

}  // namespace

bool complete_columns_warpgroup(const CudaDevice& device, const CudaTsmttsmProblem& p, CudaTsmttsm& c) {
  const bool serves = device.warpgroups && p.real_bytes == 4 && p.parts == 1 && p.may_split && !p.row_major &&
                      !p.same && feeds_serve(p, boxes_both) && p.m > 0 && p.n > 0 && p.n <= 8 * c.tile_n;
  if (!serves) return false;
  const std::int64_t room = device.shared_bytes - static_bytes - aligned_bytes(8 * c.tile_n);
  const auto feed = [&](int rows) {
    c.rows = rows;
    c.a = split_feed(p, std::min<std::int64_t>(p.m, split_rows), p.pitch_a, rows);
    c.b = split_feed(p, p.n, p.pitch_b, rows);
    return std::int64_t{c.a.stage_bytes} + c.b.stage_bytes;
  };
  if (c.rows == 0) {
    int rows = most_pieces * piece_rows;
    while (rows > piece_rows && (3 * feed(rows) > room || rows * std::int64_t{device.multiprocessors} > p.k)) rows /= 2;
    c.rows = rows;
  }
  const int pieces = c.rows / piece_rows;
  if (c.rows % piece_rows != 0 || pieces < 1 || pieces > most_pieces || most_pieces % pieces != 0) return false;
  const std::int64_t stage = feed(c.rows);
  if (c.b.classes * c.b.lines > 8 * c.tile_n) return false;
  // Warps that take pieces in turn come back to the same stages.
  const int step = aligning_warps / pieces;
  if (c.stages == 0) c.stages = whole_groups(room / stage, step);
  if (c.stages < 2 || c.stages > max_stages || c.stages % step != 0 || c.stages * stage > room) return false;
  const std::int64_t sums = std::int64_t{8} * c.tile_n * split_rows * std::int64_t{sizeof(double)};
  if (sums > room) return false;
  c.shared_bytes = static_cast<int>(std::max(c.stages * stage, sums) + aligned_bytes(8 * c.tile_n));
  c.warps_m = c.warps_n = c.sections_n = 1;
  c.sections_m = static_cast<int>(ceil_div(p.m, split_rows));
  c.groups = c.split = c.fold = 1;
  c.segment = c.rows;
  const std::int64_t chunks = ceil_div(p.k, c.rows);
  const std::int64_t most_parts = std::max<std::int64_t>(1, device.multiprocessors / c.sections_m);
  const std::int64_t turns = ceil_div(chunks, std::min<std::int64_t>(chunks, most_parts));
  c.parts = ceil_div(chunks, turns);
  c.part_rows = 0;
  c.workspace_bytes = static_cast<std::size_t>(c.parts * p.m * p.n) * sizeof(double) + workspace_alignment;
  return true;
}

CudaWork columns_warpgroup_work(const CudaDevice& device, const CudaTsmttsmProblem& p, const CudaTsmttsm& c) {
  const std::int64_t turns = ceil_div(ceil_div(p.k, c.rows), c.parts);
  const auto pieces = static_cast<double>(turns * c.rows / piece_rows);
  const double columns = 8 * c.tile_n;
  CudaWork work{};
  const double again =
      columns_again(p, c.sections_m, std::min<double>(static_cast<double>(p.m), split_rows), static_cast<double>(p.n));
  work.bytes = (1 + read_again * again) * static_cast<double>(p.k) * static_cast<double>(p.m + p.n) * p.real_bytes;
  work.bandwidth = 0.92 * device.read_bandwidth;
  // Three products of 64 columns of A, which tensor cores multiply at 1024 numbers a clock; as measured on an H200,
  // shared memory takes longer.
  work.product_clocks = pieces * (60 + 1.1 * 3 * split_rows * piece_rows * columns / 1024);
  work.shared_clocks = pieces * 13.3 * columns;
  work.overlap = 0.9;
  work.parts = static_cast<double>(block_count(c, c.parts));
  work.bytes_in_flight = static_cast<double>(c.stages * (c.a.stage_bytes + c.b.stage_bytes));
  work.launches = 2;
  work.waits = 2;  // descriptions of boxes are fetched first
  work.tensor_cores = true;
  return work;
}

void add_columns_warpgroup(const CudaDevice& device, const CudaTsmttsmProblem& p, Search search,
                           std::vector<CudaTsmttsm>& to) {
  // As measured on an H200, fewer columns leave the tensor cores time to multiply in double precision.
  if (p.k == 0 || p.m * p.n <= 24 * (p.m + p.n)) return;
  for (const TileShape& tile : columns_warpgroup_tiles) {
    for (const int rows : {0, piece_rows, 2 * piece_rows, 4 * piece_rows}) {
      if (rows != 0 && search == Search::usual) continue;
      CudaTsmttsm c{};
      c.kernel = CudaKernel::warpgroup;
      c.tile_m = tile.m;
      c.tile_n = tile.n;
      c.rows = rows;
      if (complete(device, p, c)) to.push_back(c);
    }
  }
}

}  // namespace blockvec::kernels::dispatch

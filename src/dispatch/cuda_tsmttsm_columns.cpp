#include "src/dispatch/cuda_tsmttsm_columns.hpp"

#include <algorithm>
#include <iterator>

#include "src/dispatch/cuda_stages.hpp"

namespace blockvec::kernels::dispatch {
namespace {

constexpr int most_rows = 128;
constexpr int usual_rows = 32;  // pieces of columns of two lines at least

// From column to column in a stage: lanes that read rows of eight columns meet all banks.
constexpr int pitch_of(int rows) { return rows + 8; }

// Results of which warps with small tiles would load the same columns too often, but where rows are few.
bool is_large(const CudaTsmttsmProblem& p) { return p.n > 16 && p.m * p.n >= 48 * 48; }
constexpr std::int64_t few_rows = 20000;

// A section's columns, of both operands.
std::int64_t section_columns(const CudaTsmttsmProblem& p, const CudaTsmttsm& c) {
  return std::min<std::int64_t>(p.m, 8 * c.tile_m * c.warps_m) + std::min<std::int64_t>(p.n, 8 * c.tile_n * c.warps_n);
}

std::int64_t stages_bytes(const CudaTsmttsmProblem& p, const CudaTsmttsm& c, int rows) {
  return columns_stages * section_columns(p, c) * pitch_of(rows) * std::int64_t{sizeof(double)};
}

}  // namespace

bool complete_columns(const CudaDevice& device, const CudaTsmttsmProblem& p, CudaTsmttsm& c) {
  const bool even = p.aligned && p.pitch_a % 2 == 0 && p.pitch_b % 2 == 0;
  if (p.row_major || p.parts != 1 || p.real_bytes != 8 || p.pitch_a == 0 || !even) return false;
  const std::int64_t room = device.shared_bytes - static_bytes;
  const std::int64_t most_m = ceil_div(p.m, 8 * c.tile_m);
  const std::int64_t most_n = ceil_div(p.n, 8 * c.tile_n);
  std::int64_t least = 0;
  CudaTsmttsm best = c;
  for (int warps_m = 1; warps_m <= std::min<std::int64_t>(most_m, columns_warps); ++warps_m) {
    c.warps_m = warps_m;
    c.warps_n = static_cast<int>(std::min<std::int64_t>(most_n, columns_warps / warps_m));
    if (stages_bytes(p, c, usual_rows) > room) continue;
    const std::int64_t loads = ceil_div(most_m, c.warps_m) * ceil_div(most_n, c.warps_n) *
                               (8 * c.tile_m * c.warps_m + 8 * c.tile_n * c.warps_n);
    if (least != 0 && loads >= least) continue;
    least = loads;
    best = c;
  }
  if (least == 0) return false;
  c = best;
  c.sections_m = static_cast<int>(ceil_div(most_m, c.warps_m));
  c.sections_n = static_cast<int>(ceil_div(most_n, c.warps_n));
  const std::int64_t sections = std::int64_t{c.sections_m} * c.sections_n;
  const std::int64_t blocks = std::max<std::int64_t>(1, device.multiprocessors / sections);
  if (c.rows == 0) {
    c.rows = most_rows;
    while (c.rows > 16 && (stages_bytes(p, c, c.rows) > room || ceil_div(p.k, c.rows) < blocks)) c.rows /= 2;
  }
  if (c.rows < 16 || c.rows > most_rows || (c.rows & (c.rows - 1)) != 0) return false;
  if (c.groups == 0) c.groups = std::min(columns_warps / (c.warps_m * c.warps_n), c.rows / 16);
  if (c.groups * c.warps_m * c.warps_n > columns_warps) return false;
  c.a.pitch = pitch_of(c.rows);
  const std::int64_t sums =
      64 * std::int64_t{c.warps_m} * c.tile_m * c.warps_n * c.tile_n * std::int64_t{sizeof(double)};
  c.shared_bytes = static_cast<int>(std::max(stages_bytes(p, c, c.rows), sums));
  if (c.shared_bytes > room) return false;
  const std::int64_t turns = ceil_div(ceil_div(p.k, c.rows), blocks);
  c.parts = ceil_div(ceil_div(p.k, c.rows), turns);
  c.fold = 1;
  c.workspace_bytes = static_cast<std::size_t>(c.parts * p.m * p.n) * sizeof(double) + workspace_alignment;
  return true;
}

CudaWork columns_work(const CudaDevice& device, const CudaTsmttsmProblem& p, const CudaTsmttsm& c) {
  const auto k = static_cast<double>(p.k);
  const double sections = c.sections_m * c.sections_n;
  const double warps = c.groups * c.warps_m * c.warps_n;
  const double steps = k / (16 * static_cast<double>(c.parts) * c.groups);
  CudaWork work{};
  const double again = 0.3 * (sections - 1) / sections;
  work.bytes = (1 + again) * k * static_cast<double>((p.m + p.n) * p.real_bytes);
  const bool whole_lines = p.pitch_a % 16 == 0 && p.pitch_b % 16 == 0;
  work.bandwidth = (whole_lines ? 0.95 : 0.9) * device.read_bandwidth;
  work.product_clocks = steps * warps * 16 * ((c.tile_m + 1) / 2) * c.tile_n;
  work.shared_clocks = steps * warps * (c.tile_m + c.tile_n) * 8;
  work.overlap = 0.8;
  work.parts = static_cast<double>(c.parts) * sections;
  work.bytes_in_flight = static_cast<double>(c.shared_bytes) * (columns_stages - 1) / columns_stages;
  work.launches = 2;
  work.waits = 1;
  work.tensor_cores = true;
  return work;
}

// As measured on an H200: other kernels take longer to begin, and less for each row of wide or very narrow operands.
bool columns_are_better(const CudaTsmttsmProblem& p) {
  if (p.row_major || p.same || p.k == 0 || p.m < p.n || p.m * p.n > 8192) return false;
  const bool narrow = p.n <= 16 || (p.n <= 32 && p.m <= 64);
  const bool slim = p.m >= 16 && (p.n <= 16 || p.m <= 32) && (p.m + p.n > 24 || p.n == 1);
  return p.k <= (slim ? 500000 : narrow ? 200000 : is_large(p) ? 150000 : few_rows);
}

void add_columns(const CudaDevice& device, const CudaTsmttsmProblem& p, Search search, std::vector<CudaTsmttsm>& to) {
  for (const TileShape& tile : columns_tiles) {
    if (search == Search::usual && (tile.m > 2) != (is_large(p) && p.k > few_rows)) continue;
    CudaTsmttsm c{};
    c.kernel = CudaKernel::columns;
    c.tile_m = tile.m;
    c.tile_n = tile.n;
    if (complete(device, p, c)) to.push_back(c);
  }
}

}  // namespace blockvec::kernels::dispatch

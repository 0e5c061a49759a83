#include <algorithm>
#include <iterator>

#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/stages.hpp"
#include "src/dispatch/cuda/tsmttsm/ring.hpp"

namespace blockvec::kernels::dispatch {
namespace {

// With more groups of warps, the caches get more requests than they take at a time.
constexpr int groups_of_rows = 12;

bool is_split(const DirectTsmttsm& c) { return c.policy == Policy::tf32; }

// Whether every load of these neighbours is aligned.
bool serves(const CudaTsmttsmProblem& p, Neighbours neighbours) {
  const auto every = [&](std::int64_t step) { return p.aligned && p.pitch_a % step == 0 && p.pitch_b % step == 0; };
  if (neighbours == Neighbours::none) return true;
  if (neighbours == Neighbours::in_columns) return !p.row_major && p.parts == 1 && every(16 / p.real_bytes);
  if (!p.row_major) return p.parts == 2 && p.aligned;
  return p.m % 2 == 0 && p.n % 2 == 0 && every(2);
}

// Lanes of every tile can load single numbers.
bool is_compiled(const CudaTsmttsmProblem& p, const DirectTsmttsm& c) {
  const int neighbours = std::max(c.neighbours, static_cast<int>(Neighbours::none));
  const Neighbours loaded = loaded_neighbours(neighbours, c.tile_m, c.tile_n);
  if (is_split(c)) return is_among(tsmttsm_direct_tf32_compiled, p.real_bytes, c.tile_m, c.tile_n, loaded);
  return is_among(tsmttsm_direct_compiled, p.real_bytes, c.tile_m, c.tile_n, loaded);
}

// Sets the neighbours by rule. Returns whether a kernel loads them.
bool complete_neighbours(const CudaTsmttsmProblem& p, DirectTsmttsm& c) {
  if (c.neighbours > static_cast<int>(Neighbours::in_rows)) return false;
  if (c.neighbours != 0) return serves(p, static_cast<Neighbours>(c.neighbours)) && is_compiled(p, c);
  for (const Neighbours neighbours : {Neighbours::in_columns, Neighbours::in_rows, Neighbours::none}) {
    c.neighbours = static_cast<int>(neighbours);
    if (serves(p, neighbours) && is_compiled(p, c)) return true;
  }
  return false;
}

// The most narrow rows that may be taken as one wide row. Without that, most lanes would repeat what others load.
int most_fold(const CudaTsmttsmProblem& p, const DirectTsmttsm& c) {
  const bool in_rows = c.neighbours == static_cast<int>(Neighbours::in_rows);
  const std::int64_t room = in_rows ? 16 : 8;
  if (8 * std::min(c.tile_m, c.tile_n) < room || 8 * std::max(c.tile_m, c.tile_n) > room) return 1;
  return static_cast<int>(std::max<std::int64_t>(1, room / std::max(p.m, p.n)));
}

// Whether this kernel may be the fastest, as measured on an H200: it is for views that one warp spans, and for few
// columns. If B is A, it loads it twice, which pays only where it takes several rows at a time. In single precision, 16
// rows of columns are only a few bytes.
bool may_win(const CudaDevice& device, const CudaTsmttsmProblem& p, const DirectTsmttsm& c) {
  if (!device.bulk_copies || is_split(c)) return true;
  const std::int64_t widest = std::max(p.m, p.n);
  if (c.warps_m * c.warps_n > 1 || (p.same && widest > 8)) return false;
  if (p.row_major) return true;
  const bool splits_pairs = serves(p, Neighbours::in_rows) && c.tile_n == 1;
  return (!p.same || c.fold > 1) && !splits_pairs && widest <= (p.real_bytes == 8 ? 8 : 4) * p.parts;
}

bool complete_direct(const CudaDevice& device, const CudaTsmttsmProblem& p, DirectTsmttsm& c) {
  const auto* const shape = std::ranges::find_if(
      tsmttsm_direct_shapes, [&](const DirectShape& s) { return s.m == c.tile_m && s.n == c.tile_n; });
  if (shape == std::end(tsmttsm_direct_shapes) || p.pitch_a == 0 || (is_split(c) && !p.may_split)) return false;
  if (!complete_neighbours(p, c)) return false;
  const int foldable = most_fold(p, c);
  // In row-major operands, lanes that take columns of other rows would read pieces of memory that lie far apart.
  if (c.fold == 0) c.fold = p.row_major ? 1 : foldable;
  if (c.fold > foldable) return false;
  const std::int64_t warps_m = ceil_div(c.fold * p.m, 8 * c.tile_m);
  const std::int64_t warps_n = ceil_div(c.fold * p.n, 8 * c.tile_n);
  c.warps_m = static_cast<int>(std::min<std::int64_t>(warps_m, shape->warps));
  c.warps_n = static_cast<int>(std::min<std::int64_t>(warps_n, shape->warps / c.warps_m));
  c.sections_m = static_cast<int>(ceil_div(warps_m, c.warps_m));
  c.sections_n = static_cast<int>(ceil_div(warps_n, c.warps_n));
  const int most_groups = shape->warps / (c.warps_m * c.warps_n);
  const std::int64_t steps = ceil_div(p.k, 16 * c.fold);
  if (c.groups == 0) {
    const int usual = p.row_major && !p.same ? std::min(most_groups, groups_of_rows) : most_groups;
    c.groups = static_cast<int>(std::min<std::int64_t>(usual, steps));
  }
  if (c.groups > most_groups) return false;
  c.shared_bytes = c.groups == 1 ? 0 : 64 * c.warps_m * c.tile_m * c.warps_n * c.tile_n * int{sizeof(double)};
  if (c.shared_bytes > device.shared_bytes - static_bytes) return false;
  const std::int64_t sections = std::int64_t{c.sections_m} * c.sections_n;
  c.partials =
      std::min<std::int64_t>(ceil_div(steps, c.groups), std::max<std::int64_t>(1, device.multiprocessors / sections));
  c.threads = 32 * c.warps_m * c.warps_n * c.groups;
  c.rows = 16 * c.fold;
  c.workspace_bytes =
      static_cast<std::size_t>(c.partials * c.fold * c.fold * p.m * p.n) * sizeof(double) + workspace_alignment;
  return true;
}

CudaWork direct_work(const CudaDevice& device, const CudaTsmttsmProblem& p, const DirectTsmttsm& c) {
  const auto k = static_cast<double>(p.k);
  const auto touched = [&](std::int64_t width, std::int64_t pitch) {
    return p.row_major ? touched_bytes(width, pitch, p.real_bytes) : static_cast<double>(width * p.real_bytes);
  };
  const bool in_rows = c.neighbours == static_cast<int>(Neighbours::in_rows);
  const bool in_columns = c.neighbours == static_cast<int>(Neighbours::in_columns);
  const double sections = c.sections_m * c.sections_n;
  const double steps = k / (16 * c.fold * static_cast<double>(c.partials) * c.groups);
  const double warps = c.groups * c.warps_m * c.warps_n;
  CudaWork work{};
  const double again = 0.3 * (sections - 1) / sections;
  work.bytes = (1 + again) * k * (touched(p.m, p.pitch_a) + (p.same ? 0 : touched(p.n, p.pitch_b)));
  // Lanes beyond the last column repeat what others load.
  const double loading = static_cast<double>(c.fold * std::max(p.m, p.n)) / (8 * std::max(c.tile_m, c.tile_n));
  const double by_columns = serves(p, Neighbours::in_rows) && p.real_bytes == 4 ? 0.86 : 0.97;
  work.bandwidth = (p.row_major ? 0.935 : by_columns - 0.42 * std::max(0.0, 1 - loading)) * device.read_bandwidth;
  work.product_clocks = steps * warps * (is_split(c) ? 10 : 16) * ((c.tile_m + 1) / 2) * c.tile_n;
  // A load has 256 or 512 bytes. It takes the cache some clocks for every line that it touches.
  const double loads = (c.tile_m + c.tile_n) * (in_rows || in_columns ? 2 : 4);
  work.shared_clocks = steps * warps * loads * 8;
  work.overlap = 0.9;
  work.multiprocessors = static_cast<double>(c.partials) * sections;
  work.bytes_in_flight =
      2 * work.bytes / k * 16 * c.fold * c.groups;  // some warps have already requested the next rows
  work.launches = 2;
  work.waits = 1;
  work.products = is_split(c) ? CudaProducts::tf32_tensor : CudaProducts::f64_tensor;
  return work;
}

void add_direct(const TsmttsmCandidates& to) {
  using C = DirectTsmttsm;
  const bool any = to.all || to.found.empty();  // it is the only kernel that takes everything
  for (const DirectShape& shape : tsmttsm_direct_shapes) {
    C c{};
    c.tile_m = shape.m;
    c.tile_n = shape.n;
    for (; c.neighbours <= (to.all ? static_cast<int>(Neighbours::in_rows) : 0); ++c.neighbours) {
      C usual = c;
      if (to.completes(usual) && (any || may_win(to.device, to.problem, usual)))
        to.add(c, {{&C::fold, {1, 2, 4, 8}}, {&C::groups, {4, 8, 12, 16}}});
    }
  }
}

constexpr Field<DirectTsmttsm> fields[] = {{"tile", &DirectTsmttsm::tile_m, &DirectTsmttsm::tile_n},
                                           {"warps", &DirectTsmttsm::warps_m, &DirectTsmttsm::warps_n},
                                           {"sections", &DirectTsmttsm::sections_m, &DirectTsmttsm::sections_n},
                                           {"groups", &DirectTsmttsm::groups},
                                           {"neighbours", &DirectTsmttsm::neighbours},
                                           {"fold", &DirectTsmttsm::fold}};

}  // namespace

const TsmttsmEntry<DirectTsmttsm> DirectTsmttsm::entry{fields, is_compiled, complete_direct, direct_work, add_direct};

}  // namespace blockvec::kernels::dispatch

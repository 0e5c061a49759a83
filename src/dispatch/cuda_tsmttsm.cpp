#include <algorithm>

#include "src/dispatch/banks.hpp"
#include "src/dispatch/cuda_configuration.hpp"
#include "src/dispatch/cuda_model.hpp"
#include "src/dispatch/cuda_stages.hpp"
#include "src/tuning/rows.hpp"

namespace blockvec::kernels::dispatch {
namespace {

// The kernel that takes any layout: result tiles of 32 x 32, parts of at least 512 rows.
constexpr int general_tile = 32;

void complete_general(const CudaDevice& device, const CudaTsmttsmProblem& p, CudaTsmttsm& c) {
  c = {};
  c.kernel = CudaKernel::general;
  c.fold = 1;
  const std::int64_t tiles = ceil_div(p.m, general_tile) * ceil_div(p.n, general_tile);
  const std::int64_t most = std::max<std::int64_t>(1, 8 * device.multiprocessors / tiles);
  c.part_rows = round_up(ceil_div(p.k, std::min(most, ceil_div(p.k, 512))), 32);
  c.parts = ceil_div(p.k, c.part_rows);
  c.workspace_bytes = static_cast<std::size_t>(c.parts * p.m * p.n) * sizeof(double) + workspace_alignment;
}

CudaWork general_work(const CudaDevice& device, const CudaTsmttsmProblem& p, const CudaTsmttsm& c) {
  const auto tiles_m = static_cast<double>(ceil_div(p.m, general_tile));
  const auto tiles_n = static_cast<double>(ceil_div(p.n, general_tile));
  const auto k = static_cast<double>(p.k);
  CudaWork work{};
  work.bytes = k * (static_cast<double>(p.m) * tiles_n + static_cast<double>(p.n) * tiles_m) * p.real_bytes;
  work.bandwidth = device.read_bandwidth / 2;  // loads are waited for, and numbers far apart cost a sector each
  work.parts = std::min<double>(device.multiprocessors, static_cast<double>(c.parts) * tiles_m * tiles_n);
  const double rows = std::max(k * tiles_m * tiles_n / work.parts, static_cast<double>(c.part_rows));
  work.product_clocks = 16 * rows;
  work.shared_clocks = 48 * rows;
  work.bytes_in_flight = 65536;
  work.launches = 2;
  work.waits = static_cast<double>(ceil_div(std::min(p.k, c.part_rows), 32));
  return work;
}

// Narrow rows are taken several at a time where they follow one another without a gap.
bool folds(const CudaTsmttsmProblem& p) { return p.pitch_a == p.m && (p.same || p.pitch_b == p.n); }
int usual_fold(const CudaTsmttsmProblem& p) {
  if (!folds(p)) return 1;
  return static_cast<int>(
      std::max<std::int64_t>(1, std::min(16 / std::max<std::int64_t>(p.m, 1), 8 / std::max<std::int64_t>(p.n, 1))));
}

// Lanes whose columns lie beyond the width read on behind the last stage.
constexpr std::int64_t slack_bytes = 2048;

std::int64_t ring_stage_bytes(const CudaTsmttsmProblem& p, const CudaTsmttsm& c) {
  return stage_bytes(c.rows, c.fold * p.pitch_a, p.real_bytes) +
         (p.same ? 0 : stage_bytes(c.rows, c.fold * p.pitch_b, p.real_bytes));
}

bool ring_serves(const CudaDevice& device, const CudaTsmttsmProblem& p) {
  return device.bulk_copies && p.row_major && streams(p.m, p.pitch_a) && (p.same || streams(p.n, p.pitch_b));
}

bool complete_ring(const CudaDevice& device, const CudaTsmttsmProblem& p, CudaTsmttsm& c) {
  if (!ring_serves(device, p)) return false;
  if (c.fold == 0) c.fold = usual_fold(p);
  if (c.fold > 1 && !folds(p)) return false;
  const std::int64_t warps_m = ceil_div(c.fold * p.m, 16 * c.tile_m);
  const std::int64_t warps_n = ceil_div(c.fold * p.n, 8 * c.tile_n);
  if (warps_m * warps_n > computing_warps) return false;
  c.warps_m = static_cast<int>(warps_m);
  c.warps_n = static_cast<int>(warps_n);
  const int most_groups = computing_warps / (c.warps_m * c.warps_n);
  const std::int64_t k = ceil_div(p.k, c.fold);
  if (c.rows == 0) {
    const std::int64_t row_bytes = c.fold * (p.pitch_a + (p.same ? 0 : p.pitch_b)) * p.real_bytes;
    const int groups = c.groups != 0 ? c.groups : most_groups;
    c.rows = chunk_rows(row_bytes, 16384, p.real_bytes, k, std::int64_t{device.multiprocessors} * groups);
  }
  if (c.rows % least_rows(p.real_bytes) != 0) return false;
  const std::int64_t chunks = ceil_div(k, c.rows);
  c.parts = std::min<std::int64_t>(chunks, device.multiprocessors);
  const std::int64_t turns = ceil_div(chunks, c.parts);
  if (c.groups == 0) {
    c.groups = most_groups;
    while (c.groups / 2 >= turns) c.groups /= 2;  // those without a chunk would only add zeros
  }
  if (c.groups > most_groups) return false;
  const std::int64_t stage = ring_stage_bytes(p, c);
  const std::int64_t room = device.shared_bytes - static_bytes;
  if (c.stages == 0) {
    c.stages = whole_groups(std::min((room - slack_bytes) / stage, round_up(turns, c.groups)), c.groups);
  }
  if (c.stages < c.groups || c.stages % c.groups != 0 || c.stages > max_stages) return false;
  const std::int64_t total = 128 * warps_m * warps_n * c.tile_m * c.tile_n * std::int64_t{sizeof(double)};
  const std::int64_t shared = std::max(c.stages * stage + slack_bytes, total);
  if (shared > room) return false;
  c.shared_bytes = static_cast<int>(shared);
  c.part_rows = 0;
  c.workspace_bytes =
      static_cast<std::size_t>(c.parts * c.fold * c.fold * p.m * p.n) * sizeof(double) + workspace_alignment;
  return true;
}

CudaWork ring_work(const CudaDevice& device, const CudaTsmttsmProblem& p, const CudaTsmttsm& c) {
  const std::int64_t pitch_a = c.fold * p.pitch_a;
  const std::int64_t pitch_b = p.same ? pitch_a : c.fold * p.pitch_b;
  const std::int64_t turns = ceil_div(ceil_div(ceil_div(p.k, c.fold), c.rows), c.parts);
  const auto steps = static_cast<double>(round_up(turns, c.groups) * c.rows) / 16;
  const int warps = c.warps_m * c.warps_n;
  const RowMap map = row_map_of(c, pitch_a, pitch_b);
  CudaWork work{};
  work.bytes = static_cast<double>(p.k) * static_cast<double>(p.pitch_a + (p.same ? 0 : p.pitch_b)) * p.real_bytes;
  work.bandwidth = device.read_bandwidth;
  work.product_clocks = steps * 16 * c.tile_m * c.tile_n * computing_warps / c.groups;
  work.shared_clocks = steps * warps *
                       (8 * c.tile_m * fragment_read_clocks(map, pitch_a, p.real_bytes) +
                        4 * c.tile_n * fragment_read_clocks(map, pitch_b, p.real_bytes));
  work.overlap = 0.9;
  work.parts = static_cast<double>(c.parts);
  work.bytes_in_flight = static_cast<double>(c.stages * ring_stage_bytes(p, c));
  work.launches = 2;
  work.waits = 2;
  work.tensor_cores = true;
  return work;
}

void add_ring(const CudaDevice& device, const CudaTsmttsmProblem& p, Search search, std::vector<CudaTsmttsm>& to) {
  if (!ring_serves(device, p)) return;
  const auto add = [&](const TileShape& tile, int fold, int groups, int rows, int stages) {
    CudaTsmttsm c{};
    c.kernel = CudaKernel::ring;
    c.tile_m = tile.m;
    c.tile_n = tile.n;
    c.fold = fold;
    c.groups = groups;
    c.rows = rows;
    c.stages = stages;
    if (complete(device, p, c)) to.push_back(c);
    return c;
  };
  for (const TileShape& tile : tsmttsm_tiles) {
    const CudaTsmttsm usual = add(tile, 0, 0, 0, 0);
    if (search == Search::usual || usual.warps_m == 0) continue;
    for (int fold = 1; fold <= usual.fold; fold *= 2) {
      for (int groups = usual.groups; groups > 0; groups /= 2) {
        for (int rows = least_rows(p.real_bytes); rows <= 1024; rows *= 2) {
          const CudaTsmttsm full = add(tile, fold, groups, rows, 0);
          for (int stages = full.stages / 2; stages >= 2 * groups; stages /= 2) {
            add(tile, fold, groups, rows, stages / groups * groups);
          }
        }
      }
    }
  }
}

}  // namespace

bool complete(const CudaDevice& device, const CudaTsmttsmProblem& problem, CudaTsmttsm& configuration) {
  if (problem.k == 0) {
    configuration = {};
    configuration.fold = 1;
    return true;
  }
  switch (configuration.kernel) {
    case CudaKernel::ring:
      return complete_ring(device, problem, configuration);
    case CudaKernel::general:
      complete_general(device, problem, configuration);
      return true;
    case CudaKernel::boxes:
    case CudaKernel::none:
      break;
  }
  return false;
}

std::vector<CudaTsmttsm> candidates(const CudaDevice& device, const CudaTsmttsmProblem& problem, Search search) {
  std::vector<CudaTsmttsm> found;
  found.reserve(std::size(tsmttsm_tiles) + 1);
  add_ring(device, problem, search, found);
  CudaTsmttsm general{};
  general.kernel = CudaKernel::general;
  complete(device, problem, general);
  found.push_back(general);
  return found;
}

CudaPrediction predict(const CudaDevice& device, const CudaTsmttsmProblem& problem, const CudaTsmttsm& configuration) {
  switch (configuration.kernel) {
    case CudaKernel::ring:
      return predict(device, ring_work(device, problem, configuration));
    case CudaKernel::general:
      return predict(device, general_work(device, problem, configuration));
    case CudaKernel::boxes:
    case CudaKernel::none:
      break;
  }
  return {launch_seconds, CudaBound::latency, 0};
}

CudaChoice<CudaTsmttsm> choose(const CudaDevice& device, const CudaTsmttsmProblem& problem) {
  CudaTsmttsm measured{};
  if (const tuning::Row* const row = tuning::find(device, problem, measured)) {
    return {measured, predict(device, problem, measured), row->place};
  }
  return best_candidate(device, problem, candidates(device, problem));
}

CudaTsmttsm configure_cuda_tsmttsm(const CudaDevice& device, const CudaTsmttsmProblem& problem) {
  return choose(device, problem).configuration;
}

std::size_t cuda_tsmttsm_workspace(const CudaDevice& device, std::int64_t k, std::int64_t m, std::int64_t n,
                                   int real_bytes) {
  const CudaTsmttsmProblem p{k, m, n, m, n, real_bytes, true, false};
  const std::int64_t fold = usual_fold(p);
  const auto ring =
      static_cast<std::size_t>(device.multiprocessors * fold * fold * m * n) * sizeof(double) + workspace_alignment;
  CudaTsmttsm general{};
  complete_general(device, p, general);
  return std::max(ring, general.workspace_bytes);
}

}  // namespace blockvec::kernels::dispatch

#include <algorithm>

#include "src/dispatch/cuda/kernels.hpp"
#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/rules.hpp"
#include "src/dispatch/cuda/stages.hpp"
#include "src/dispatch/cuda/tsmm/serves.hpp"
#include "src/dispatch/cuda/tsmm/strided.hpp"

namespace blockvec::kernels::dispatch {
namespace {

constexpr std::int64_t longest_side = 256;  // of a TMA tile (box)
constexpr int numbers_of_step = 16;         // of A's columns
constexpr int box_rows = 16 * computing_warps;

int columns_of(const StridedTf32& c) { return 8 * c.tile_n; }

// The pitch of rows in a stage that hold `numbers` numbers. Four lanes read four pairs of a row. The next four lanes
// meet other banks.
std::int64_t spread(std::int64_t numbers) { return round_up(numbers + 8, 16) - 8; }

// Bytes of `rows` rows of C, high and low.
std::int64_t small_bytes(const StridedTf32& c, std::int64_t rows) {
  return round_up(rows, numbers_of_step) * columns_of(c) * 2 * std::int64_t{sizeof(float)};
}
std::int64_t box_bytes(const StridedTf32& c) {
  return std::int64_t{c.blocks_n} * box_rows * c.pitch * std::int64_t{sizeof(float)};
}

// The pitch of rows in a TMA tile.
std::int64_t pitch_of(const CudaTsmmProblem& p, const StridedTf32& c, std::int64_t panel) {
  const bool moved = c.classes > 1 || !p.aligned;  // TMA tiles begin ahead of a row's numbers
  return spread(panel + (moved ? 3 : 0));
}

// Sets what follows from the width of a panel (K slice). C stays in the block, or comes with A if it does not fit.
bool fit_panel(const CudaDevice& device, const CudaTsmmProblem& p, std::int64_t panel, StridedTf32& c) {
  c.panel = static_cast<int>(panel);
  c.pitch = static_cast<int>(pitch_of(p, c, panel));
  if (c.pitch > longest_side) return false;
  c.staged_pitch = c.staged != 0 ? static_cast<int>(spread(p.n)) : 0;
  const std::int64_t staged = std::int64_t{c.blocks_n} * box_rows * c.staged_pitch * std::int64_t{sizeof(float)};
  const int stages = c.stages;
  for (const bool resident : {true, false}) {
    const std::int64_t beside = staged + (resident ? small_bytes(c, p.m) : 0);
    const std::int64_t room = device.shared_bytes - static_bytes - beside;
    const std::int64_t stage = box_bytes(c) + (resident ? 0 : small_bytes(c, panel));
    c.small_in_ring = !resident;
    c.stages = stages != 0 ? stages : static_cast<int>(std::clamp<std::int64_t>(room / stage, 0, 16));
    c.shared_bytes = static_cast<int>(beside + c.stages * stage);
    // These numbers of stages are enough, as measured on an H200.
    const bool enough =
        stages != 0 || c.stages >= 3 || (c.stages == 2 && (box_bytes(c) >= 65536 || (resident && c.tile_n >= 8)));
    if (enough && c.stages >= 2 && c.stages * stage <= room) return true;
    if (panel >= p.m) break;
  }
  c.stages = stages;
  return false;
}

}  // namespace

bool boxes_split_serve(const CudaDevice& device, const CudaTsmmProblem& p) {
  if (!device.warpgroups || p.real_bytes != 4 || !p.row_major || !p.may_split || !boxes_serve(device, p)) return false;
  const int classes = box_classes(p);
  return p.parts == 2 ? classes <= 2 : classes == 1 && p.aligned;
}

static bool complete_strided_tf32(const CudaDevice& device, const CudaTsmmProblem& p, StridedTf32& c) {
  if (!boxes_split_serve(device, p)) return false;
  c.classes = box_classes(p);
  if (p.n > p.parts * columns_of(c)) return false;
  c.groups = c.warps = 1;
  c.row_warps = computing_warps;
  c.rows = box_rows * c.blocks_n;
  const std::int64_t whole = round_up(p.m, numbers_of_step);
  if (c.panel != 0) {
    if (c.panel % numbers_of_step != 0 || (c.panel != whole && c.panel >= p.m)) return false;
    if (!fit_panel(device, p, c.panel, c)) return false;
  } else {
    bool fits = fit_panel(device, p, whole, c);
    for (std::int64_t panel = 64; !fits && panel >= numbers_of_step; panel /= 2) {
      fits = panel < p.m && fit_panel(device, p, panel, c);
    }
    if (!fits) return false;
  }
  if (c.chunks_per_ticket == 0) c.chunks_per_ticket = 1;
  c.parts = std::min<std::int64_t>(ceil_div(p.k, c.rows), device.multiprocessors);
  c.workspace_bytes = 2 * workspace_alignment;
  if (c.small_in_ring) c.workspace_bytes += static_cast<std::size_t>(small_bytes(c, round_up(p.m, c.panel)));
  return true;
}

static CudaWork strided_tf32_work(const CudaDevice& device, const CudaTsmmProblem& p, const StridedTf32& c) {
  const std::int64_t turns = ceil_div(ceil_div(p.k, c.rows), c.parts);
  const auto rows = static_cast<double>(turns * c.rows);
  CudaWork work{};
  work.bytes = tall_bytes(p);
  work.bandwidth = 0.97 * device.copy_bandwidth;
  // C crosses the L2 cache with every chunk, which is twice as fast.
  if (c.small_in_ring) {
    const double chunk = static_cast<double>(c.rows) * static_cast<double>(p.m) * p.real_bytes;
    work.bandwidth *= chunk / (chunk + 0.5 * static_cast<double>(small_bytes(c, p.m)));
  }
  // Old results are loaded early if there are registers for them.
  if (p.reads_output && p.parts * c.blocks_n * columns_of(c) > 64) work.bandwidth *= 0.85;
  // The same counts as in tf32_warpgroup.cpp.
  const auto pairs = static_cast<double>(round_up(p.m, numbers_of_step) / 2);
  const double products = rows * pairs * columns_of(c) * (p.parts == 2 ? 12 : 6);
  work.product_clocks = products / 1024;
  work.shared_clocks = products / 2048 + rows * static_cast<double>(p.m + p.n) * 2 / 32;
  work.overlap = 0.6;
  work.tensor_cores = true;
  work.parts = static_cast<double>(c.parts);
  work.bytes_in_flight = (c.stages - 1.5) * static_cast<double>(box_bytes(c));
  work.launches = 2;
  work.waits = 2;
  return work;
}

namespace {

StridedTf32 configuration_of(const TileShape& tile, int panel, int stages) {
  StridedTf32 c{};
  static_cast<TsmmKind&>(c) = {TsmmKernel::strided, Policy::tf32};
  c.blocks_n = tile.m;
  c.tile_n = tile.n;
  c.panel = panel;
  c.stages = stages;
  return c;
}

}  // namespace

static void add_strided_tf32(const TsmmKind&, const CudaDevice& device, const CudaTsmmProblem& p, Search search,
                             std::vector<CudaTsmm>& to) {
  const bool few = splits_few_columns(p);
  const bool usual = search == Search::usual;
  if (p.real_bytes != 4 || !p.row_major) return;
  if (usual && !few && p.m * p.n < 16 * (p.m + p.n)) return;  // narrower products wait for memory anyway
  if (usual && prefers_per_warp(p)) return;
  for (const TileShape& tile : tsmm_strided_tf32_shapes) {
    const bool narrower_does = tile.n > 1 && 4 * p.parts * tile.n >= p.n;
    if (narrower_does && (usual || tile.n > 4)) continue;
    if (usual && few && (tile.m == 2) != (p.m <= 64)) continue;  // short rows: fewer, longer chunks
    // Short rows come faster in flat pieces, together with B's old rows.
    const int shortest = p.parts == 1 && tile.n > 4 ? 96 : 48;
    if (usual && p.reads_output && p.m < shortest) continue;
    const auto add = [&](int panel, int stages, bool through_shared) {
      StridedTf32 c = configuration_of(tile, panel, stages);
      c.staged = through_shared ? 1 : 0;
      if (complete(device, p, c)) to.push_back(c);
    };
    add(0, 0, false);  // as measured on an H200, best even if rows begin inside sectors of memory
    if (usual) continue;
    add(0, 0, true);
    for (const int panel : {16, 32, 48, 64, 128}) {
      add(panel, 0, true);
      for (const int stages : {0, 2, 3, 4}) add(panel, stages, false);
    }
  }
}

static bool is_compiled(const CudaTsmmProblem& p, const StridedTf32& c) {
  return is_among(tsmm_strided_tf32_compiled, p.real_bytes, c.blocks_n, c.tile_n, p.parts);
}

static std::span<const Field<StridedTf32>> fields(const TsmmKind&) { return strided_fields<StridedTf32>; }

const TsmmEntry<StridedTf32> StridedTf32::entry{fields, is_compiled, complete_strided_tf32, strided_tf32_work,
                                                add_strided_tf32};

}  // namespace blockvec::kernels::dispatch

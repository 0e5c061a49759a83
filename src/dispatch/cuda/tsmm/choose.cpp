#include <algorithm>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/kernels.hpp"
#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/stages.hpp"
#include "src/dispatch/cuda/tsmm/strided.hpp"
#include "src/dispatch/cuda/tsmm/strided_tf32.hpp"
#include "src/dispatch/cuda/tsmm/column_pieces.hpp"
#include "src/dispatch/cuda/tsmm/column_ring.hpp"
#include "src/dispatch/cuda/tsmm/direct.hpp"
#include "src/dispatch/cuda/tsmm/registers_3m.hpp"
#include "src/dispatch/cuda/tsmm/short_k.hpp"
#include "src/dispatch/cuda/tsmm/row_ring.hpp"
#include "src/dispatch/cuda/tsmm/tf32_warpgroup.hpp"
#include "src/dispatch/cuda/tsmm/per_warp.hpp"
#include "src/dispatch/cuda/tsmm/wide.hpp"

namespace blockvec::kernels::dispatch {
namespace {

constexpr int general_rows = 32;
constexpr int general_columns = 32;

void complete_general(const CudaDevice& device, const CudaTsmmProblem& p, CudaTsmm& c) {
  c = {};
  c.kernel = TsmmKernel::general;
  c.parts = std::min<std::int64_t>(ceil_div(p.k, general_rows), 8 * device.multiprocessors);
}

CudaWork general_work(const CudaDevice& device, const CudaTsmmProblem& p, const CudaTsmm& c) {
  const auto tiles = static_cast<double>(ceil_div(p.n, general_columns));
  CudaWork work{};
  work.bytes = tall_bytes(p) + static_cast<double>(p.k) * static_cast<double>(p.m) * (tiles - 1) * p.real_bytes;
  work.bandwidth = device.copy_bandwidth / 2;
  work.parts = std::min<double>(device.multiprocessors, static_cast<double>(c.parts));
  const double pieces =
      static_cast<double>(ceil_div(ceil_div(p.k, general_rows), c.parts)) * static_cast<double>(c.parts) / work.parts;
  const double depth = static_cast<double>(p.m);
  work.product_clocks = pieces * tiles * depth * 16;
  work.shared_clocks = pieces * tiles * (depth * 48 + 32 * 32);
  work.bytes_in_flight = 65536;
  work.launches = 1;
  work.waits = 1 + 3 * static_cast<double>(ceil_div(p.m, 32)) * tiles;
  return work;
}

}  // namespace

bool complete(const CudaDevice& device, const CudaTsmmProblem& problem, CudaTsmm& configuration) {
  if (!has_kernel(problem, configuration)) return false;
  switch (configuration.kernel) {
    case TsmmKernel::row_ring:
    case TsmmKernel::row_ring_tf32:
    case TsmmKernel::row_fma:
    case TsmmKernel::row_deep:
      return complete_ring(device, problem, configuration);
    case TsmmKernel::column_ring:
      return complete_columns(device, problem, configuration);
    case TsmmKernel::column_tf32:
    case TsmmKernel::column_fma:
      return complete_column_pieces(device, problem, configuration);
    case TsmmKernel::strided:
    case TsmmKernel::strided_3m:
      return complete_boxes(device, problem, configuration);
    case TsmmKernel::strided_tf32:
      return complete_boxes_split(device, problem, configuration);
    case TsmmKernel::registers_3m:
      return complete_gauss_registers(device, problem, configuration);
    case TsmmKernel::wide:
      return complete_wide(device, problem, configuration);
    case TsmmKernel::per_warp:
    case TsmmKernel::per_warp_tf32:
      return complete_warps(device, problem, configuration);
    case TsmmKernel::tf32_warpgroup:
      return complete_warpgroup(device, problem, configuration);
    case TsmmKernel::short_k:
      return complete_panels(device, problem, configuration);
    case TsmmKernel::direct:
      return complete_direct(device, problem, configuration);
    case TsmmKernel::general:
      if (problem.in_place) return false;
      complete_general(device, problem, configuration);
      return true;
    case TsmmKernel::none:
      break;
  }
  return false;
}

namespace {

void collect(const CudaDevice& device, const CudaTsmmProblem& problem, Search search, std::vector<CudaTsmm>& to) {
  const bool all = search == Search::all;
  if (!all && split_is_better_for_few(problem)) {
    add_warpgroup(device, problem, search, to);
    if (to.empty()) add_boxes_split(device, problem, search, to);
    if (!to.empty()) return;
  }
  if (all || columns_fma_is_better(device, problem)) add_columns_fma(device, problem, search, to);
  if (all || (to.empty() && direct_is_better(problem))) add_direct(device, problem, search, to);
  if (all || wide_is_better(device, problem)) add_wide(device, problem, search, to);
  const bool in_boxes = to.empty() && boxed_ring_is_better(device, problem);
  if (all || ring_is_better(problem) || deep_is_better(problem) || in_boxes) add_ring(device, problem, search, to);
  if (all || (warps_are_better(problem) && !in_boxes)) add_warps(device, problem, search, to);
  if (all || panels_are_better(device, problem)) add_panels(device, problem, search, to);
  if (all || to.empty()) add_columns(device, problem, search, to);
  if (all || to.empty()) add_boxes(device, problem, search, to);
  if (to.empty()) add_ring(device, problem, search, to);
  if (to.empty()) add_warps(device, problem, search, to);
  if (to.empty()) add_direct(device, problem, search, to);
  const bool in_registers = add_gauss_registers(device, problem, search, to);
  if (all || !in_registers) add_gauss(device, problem, search, to);
  const std::size_t before = to.size();
  add_warpgroup(device, problem, search, to);
  if (all || to.size() == before) add_boxes_split(device, problem, search, to);
  CudaTsmm general{};
  general.kernel = TsmmKernel::general;
  if (complete(device, problem, general)) to.push_back(general);
}

}  // namespace

std::vector<CudaTsmm> candidates(const CudaDevice& device, const CudaTsmmProblem& problem, Search search) {
  std::vector<CudaTsmm> found;
  collect(device, problem, search, found);
  return found;
}

namespace {

CudaWork work_of(const CudaDevice& device, const CudaTsmmProblem& problem, const CudaTsmm& configuration) {
  switch (configuration.kernel) {
    case TsmmKernel::row_ring:
    case TsmmKernel::row_ring_tf32:
    case TsmmKernel::row_fma:
    case TsmmKernel::row_deep:
      return ring_work(device, problem, configuration);
    case TsmmKernel::column_ring:
      return columns_work(device, problem, configuration);
    case TsmmKernel::column_tf32:
    case TsmmKernel::column_fma:
      return column_pieces_work(device, problem, configuration);
    case TsmmKernel::strided:
    case TsmmKernel::strided_3m:
      return boxes_work(device, problem, configuration);
    case TsmmKernel::strided_tf32:
      return boxes_split_work(device, problem, configuration);
    case TsmmKernel::registers_3m:
      return gauss_registers_work(device, problem, configuration);
    case TsmmKernel::wide:
      return wide_work(device, problem, configuration);
    case TsmmKernel::per_warp:
    case TsmmKernel::per_warp_tf32:
      return warps_work(device, problem, configuration);
    case TsmmKernel::tf32_warpgroup:
      return warpgroup_work(device, problem, configuration);
    case TsmmKernel::short_k:
      return panels_work(device, problem, configuration);
    case TsmmKernel::direct:
      return direct_work(device, problem, configuration);
    case TsmmKernel::general:
    case TsmmKernel::none:
      break;
  }
  return general_work(device, problem, configuration);
}

}  // namespace

CudaPrediction predict(const CudaDevice& device, const CudaTsmmProblem& problem, const CudaTsmm& configuration) {
  return predict(device, work_of(device, problem, configuration));
}

namespace {

// What goes through the workspace at a time where no kernel multiplies in place: of up to 128 columns as much as stays
// in the cache until it is copied back; of more, the parts of a slab have so much to do that few slabs are better.
std::int64_t slab_rows(std::int64_t k, std::int64_t n, int real_bytes) {
  const std::int64_t bytes = std::int64_t{n > 128 ? 128 : 32} << 20;
  return std::min(k, std::max<std::int64_t>(bytes / (n * real_bytes) / 1024 * 1024, 256));
}

CudaChoice<CudaTsmm> choose_whole(const CudaDevice& device, const CudaTsmmProblem& problem) {
  return row_or_best<CudaTsmm>(device, problem,
                               [&](std::vector<CudaTsmm>& found) { collect(device, problem, Search::usual, found); });
}

// The widest parts that have a kernel of their own.
CudaChoice<CudaTsmm> choose_in_parts(const CudaDevice& device, const CudaTsmmProblem& problem) {
  CudaTsmmProblem part = problem;
  if (problem.in_place) {
    part.in_place = false;
    part.k = slab_rows(problem.k, problem.n, problem.real_bytes);
    part.pitch_b = problem.row_major ? problem.n : problem.parts * part.k;
    part.aligned_output = true;
  }
  CudaChoice<CudaTsmm> choice = choose_whole(device, part);
  for (std::int64_t count = 2; choice.configuration.kernel == TsmmKernel::general && part.n > 8 * problem.parts;
       ++count) {
    part.n = round_up(ceil_div(problem.n, count), 8 * problem.parts);
    choice = choose_whole(device, part);
  }
  const std::int64_t columns = ceil_div(problem.n, part.n);
  choice.configuration.part_columns = part.n / problem.parts;
  choice.configuration.part_rows = problem.in_place ? part.k : 0;
  choice.configuration.workspace_bytes =
      cuda_tsmm_workspace(device, problem.k, problem.m, problem.n, problem.real_bytes);
  choice.prediction.seconds *= static_cast<double>(columns);
  if (problem.in_place) {
    const double copied = 2 * static_cast<double>(part.k * problem.n) * problem.real_bytes / device.copy_bandwidth;
    choice.prediction.seconds = (choice.prediction.seconds + launch_seconds + copied) * static_cast<double>(problem.k) /
                                static_cast<double>(part.k);
  }
  return choice;
}

}  // namespace

CudaChoice<CudaTsmm> choose(const CudaDevice& device, const CudaTsmmProblem& problem) {
  const CudaChoice<CudaTsmm> whole = choose_whole(device, problem);
  const bool none = whole.configuration.kernel == TsmmKernel::none;
  if (!none && whole.configuration.kernel != TsmmKernel::general) return whole;
  const CudaChoice<CudaTsmm> in_parts = choose_in_parts(device, problem);
  return none || in_parts.prediction.seconds < whole.prediction.seconds ? in_parts : whole;
}

CudaTsmm configure_cuda_tsmm(const CudaDevice& device, const CudaTsmmProblem& problem) {
  return choose(device, problem).configuration;
}

std::size_t cuda_tsmm_workspace(const CudaDevice& device, std::int64_t k, std::int64_t m, std::int64_t n,
                                int real_bytes) {
  // C, padded to whole panels and tiles, and what hands out the chunks; of products in parts, C as a whole and, in
  // place, results on their way.
  const auto packed = static_cast<std::size_t>((m + 128) * std::max<std::int64_t>(2 * n, 64));
  const auto whole = static_cast<std::size_t>(m * n * real_bytes);
  const std::int64_t slab_entries = wide_serves_in_place(device, k, n) ? 0 : slab_rows(k, n, real_bytes) * n;
  const auto slab = static_cast<std::size_t>(slab_entries * real_bytes);
  return slab + whole + packed * sizeof(double) + 6 * workspace_alignment;
}

}  // namespace blockvec::kernels::dispatch

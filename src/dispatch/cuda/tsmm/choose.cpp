#include <algorithm>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/rules.hpp"
#include "src/dispatch/cuda/stages.hpp"
#include "src/dispatch/cuda/tsmm/strided.hpp"

namespace blockvec::kernels::dispatch {
namespace {

// The rows that go through the workspace at a time (a slab) if no kernel multiplies in place. Up to 128 columns, a slab
// stays in the cache until it is copied back. For more columns, the parts of a slab have so much work that few slabs
// are better.
std::int64_t slab_rows(std::int64_t k, std::int64_t n, int real_bytes) {
  const std::int64_t bytes = std::int64_t{n > 128 ? 128 : 32} << 20;
  return std::min(k, std::max<std::int64_t>(bytes / (n * real_bytes) / 1024 * 1024, 256));
}

CudaChoice<CudaTsmm> choose_whole(const CudaDevice& device, const CudaTsmmProblem& problem) {
  return row_or_best<CudaTsmm>(device, problem, [&](std::vector<CudaTsmm>& found) {
    add_candidates(tsmm_rules(), device, problem, Search::usual, found);
  });
}

bool has_no_fast_kernel(const CudaChoice<CudaTsmm>& choice) {
  const TsmmKernel kernel = choice.configuration->kernel;
  return kernel == TsmmKernel::none || kernel == TsmmKernel::general;
}

// Whether parts of a product may be faster than all of it: it has no fast kernel, or multiplies in double precision
// where memory waits for that. In place, parts need room in the workspace, which may have none.
bool may_gain_by_parts(const CudaDevice& device, const CudaTsmmProblem& p, const CudaChoice<CudaTsmm>& whole) {
  const CudaProducts products = whole.prediction.products;
  const bool in_double = products == CudaProducts::f64_fma || products == CudaProducts::f64_tensor;
  const bool has_room = !p.in_place || !wide_serves_in_place(device, p.k, p.n);
  return has_no_fast_kernel(whole) || (has_room && in_double && waits_for_double(device, p));
}

// Divides a product into parts: the widest ones that have a fast kernel, or narrower ones if that gains time.
CudaChoice<CudaTsmm> choose_in_parts(const CudaDevice& device, const CudaTsmmProblem& problem) {
  CudaTsmmProblem part = problem;
  if (problem.in_place) {
    part.in_place = false;
    part.k = slab_rows(problem.k, problem.n, problem.real_bytes);
    part.pitch_b = problem.row_major ? problem.n : problem.parts * part.k;
    part.aligned_output = true;
  }
  const auto in_parts_of = [&](std::int64_t n) {
    part.n = n;
    CudaChoice<CudaTsmm> one = choose_whole(device, part);
    one.configuration.part_columns = n / problem.parts;
    one.prediction.seconds *= static_cast<double>(ceil_div(problem.n, n));
    return one;
  };
  CudaChoice<CudaTsmm> last = in_parts_of(problem.n);
  CudaChoice<CudaTsmm> choice = last;
  for (std::int64_t count = 2; may_gain_by_parts(device, part, last) && part.n > 8 * problem.parts; ++count) {
    last = in_parts_of(round_up(ceil_div(problem.n, count), 8 * problem.parts));
    if (has_no_fast_kernel(choice) || last.prediction.seconds < choice.prediction.seconds) choice = last;
  }
  choice.configuration.part_rows = problem.in_place ? part.k : 0;
  choice.configuration->workspace_bytes =
      cuda_tsmm_workspace(device, problem.k, problem.m, problem.n, problem.real_bytes);
  if (problem.in_place) {
    const double copied = 2 * static_cast<double>(part.k * problem.n) * problem.real_bytes / device.copy_bandwidth;
    choice.prediction.seconds = (choice.prediction.seconds + launch_seconds + copied) * static_cast<double>(problem.k) /
                                static_cast<double>(part.k);
  }
  return choice;
}

}  // namespace

const TsmmEntry<NoTsmm> NoTsmm::entry{};

bool complete(const CudaDevice& device, const CudaTsmmProblem& problem, CudaTsmm& configuration) {
  return std::visit([&](auto& c) { return complete(device, problem, c); }, configuration.of_kernel);
}

std::vector<CudaTsmm> candidates(const CudaDevice& device, const CudaTsmmProblem& problem, Search search) {
  std::vector<CudaTsmm> found;
  add_candidates(tsmm_rules(), device, problem, search, found);
  return found;
}

CudaPrediction predict(const CudaDevice& device, const CudaTsmmProblem& problem, const CudaTsmm& configuration) {
  return std::visit([&](const auto& c) { return predict(device, c.entry.work(device, problem, c)); },
                    configuration.of_kernel);
}

CudaChoice<CudaTsmm> choose(const CudaDevice& device, const CudaTsmmProblem& problem) {
  const CudaChoice<CudaTsmm> whole = choose_whole(device, problem);
  if (!may_gain_by_parts(device, problem, whole)) return whole;
  const bool none = whole.configuration->kernel == TsmmKernel::none;
  const CudaChoice<CudaTsmm> in_parts = choose_in_parts(device, problem);
  return none || in_parts.prediction.seconds < whole.prediction.seconds ? in_parts : whole;
}

std::size_t cuda_tsmm_workspace(const CudaDevice& device, std::int64_t k, std::int64_t m, std::int64_t n,
                                int real_bytes) {
  // The workspace holds C, padded to whole panels (K slices) and tiles, and the ticket that hands out chunks. For
  // products in parts it also holds all of C and, in place, a slab of results.
  const auto packed = static_cast<std::size_t>((m + 128) * std::max<std::int64_t>(2 * n, 64));
  const auto whole = static_cast<std::size_t>(m * n * real_bytes);
  const std::int64_t slab_entries = wide_serves_in_place(device, k, n) ? 0 : slab_rows(k, n, real_bytes) * n;
  const auto slab = static_cast<std::size_t>(slab_entries * real_bytes);
  return slab + whole + packed * sizeof(double) + 6 * workspace_alignment;
}

}  // namespace blockvec::kernels::dispatch

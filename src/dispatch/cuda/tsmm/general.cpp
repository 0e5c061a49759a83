#include <algorithm>

#include "src/dispatch/cuda/kernels.hpp"
#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/stages.hpp"

namespace blockvec::kernels::dispatch {
namespace {

constexpr int general_rows = 32;
constexpr int general_columns = 32;

bool complete_general(const CudaDevice& device, const CudaTsmmProblem& p, GeneralTsmm& c) {
  if (p.in_place) return false;
  c = {};
  c.kernel = TsmmKernel::general;
  c.parts = std::min<std::int64_t>(ceil_div(p.k, general_rows), 8 * device.multiprocessors);
  return true;
}

CudaWork general_work(const CudaDevice& device, const CudaTsmmProblem& p, const GeneralTsmm& c) {
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

void add_general(const TsmmKind& kind, const CudaDevice& device, const CudaTsmmProblem& p, Search,
                 std::vector<CudaTsmm>& to) {
  GeneralTsmm c{};
  static_cast<TsmmKind&>(c) = kind;
  if (complete_general(device, p, c)) to.push_back(c);
}

}  // namespace

const TsmmEntry<GeneralTsmm> GeneralTsmm::entry{[](const TsmmKind&) { return std::span<const Field<GeneralTsmm>>{}; },
                                                [](const CudaTsmmProblem&, const GeneralTsmm&) { return true; },
                                                complete_general, general_work, add_general};

}  // namespace blockvec::kernels::dispatch

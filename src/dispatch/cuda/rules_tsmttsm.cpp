#include <algorithm>

#include "src/dispatch/cuda/rules.hpp"

namespace blockvec::kernels::dispatch {
namespace {

using Problem = CudaTsmttsmProblem;
using enum TsmttsmKernel;

template <TsmttsmKernel kernel, Policy policy = Policy::usual>
constexpr TsmttsmKind only[] = {{kernel, policy}};

bool is_complex_double(const Problem& p) { return p.parts == 2 && p.real_bytes == 8; }
bool is_split(const CudaDevice& device, const Problem& p) {
  return device.warpgroups && p.real_bytes == 4 && p.may_split;
}

// A tile of narrow rows takes several rows.
bool waits_for_double(const CudaDevice& device, const Problem& p) {
  const std::int64_t fold = std::max<std::int64_t>(1, 8 / std::max(p.m, p.n));
  const auto tiles = static_cast<double>(ceil_div(fold * p.m, 16) * ceil_div(fold * p.n, 8));
  const std::int64_t width = p.same ? p.m : p.m + p.n;
  return waits_for_double(device, tiles / (16.0 * static_cast<double>(fold)),
                          static_cast<double>(width * p.real_bytes));
}

constexpr Rule<TsmttsmKernel, Problem> rules[] = {
    {only<gram>, Place::beside, "A^H A; beyond 128 real columns in CTA tiles",
     [](const CudaDevice&, const Problem& p) { return p.same; },
     "kernel_house.md: 17 % (2 to 41) over ring, in CTA tiles 47 %"},
    {only<ring>, Place::beside, "everything", [](const CudaDevice&, const Problem&) { return true; },
     "cuda_vs_cublas.csv: 98 to 100 % of the roof, M = N = 1..64"},
    {only<tf32_warpgroup>, Place::beside, "single precision, squares from 49 real columns on",
     [](const CudaDevice& device, const Problem& p) { return is_split(device, p); },
     "kernel_house.md: 10 % (to 21) over ring"},
    {only<ring, Policy::square_3m>, Place::beside, "complex double, squares of 33 to 40 and 49 to 56 columns",
     [](const CudaDevice&, const Problem& p) { return is_complex_double(p); }, "kernel_house.md: 11 % (to 17) over 3m"},
    {only<ring, Policy::three_m>, Place::beside, "complex double, squares from 41 columns on",
     [](const CudaDevice&, const Problem& p) { return is_complex_double(p); },
     "kernel_house.md: 12 % (to 15) over ring"},
    {only<tf32_warpgroup, Policy::three_m>, Place::beside, "complex single precision, squares from 33 columns on",
     [](const CudaDevice& device, const Problem& p) { return p.parts == 2 && is_split(device, p); },
     "kernel_house.md: 34 % (to 46) over ring"},
    {only<direct>, Place::beside, "views that one warp spans; few columns, column-major; what no rule before takes",
     [](const CudaDevice&, const Problem&) { return true; }, "kernel_house.md: 8 % (to 35) over ring on odd views"},
    {only<direct, Policy::tf32>, Place::beside, "single precision where memory would wait for double precision",
     [](const CudaDevice& device, const Problem& p) {
       return p.real_bytes == 4 && p.may_split && waits_for_double(device, p);
     },
     "not measured: no such device was there"},
};

}  // namespace

std::span<const Rule<TsmttsmKernel, CudaTsmttsmProblem>> tsmttsm_rules() { return rules; }

bool waits_for_double(const CudaDevice& device, double tiles, double bytes) {
  constexpr auto kind = static_cast<std::size_t>(CudaProducts::f64_tensor);
  const double clocks = device.product_clocks[kind];
  const double seconds = tiles * clocks / (device.multiprocessors * device.clock);
  return clocks > h200_product_clocks[kind] && seconds > 0.4 * bytes / device.read_bandwidth;
}

bool has_enough_products(const TsmttsmKind& kind, const CudaTsmttsmProblem& p) {
  const bool by_3m = kind.policy == Policy::three_m;
  const std::int64_t products = kind.kernel == tf32_warpgroup ? (by_3m ? 32 : 24) : by_3m ? 40 : 0;
  return products == 0 || p.m * p.n > products * (p.m + p.n);
}

}  // namespace blockvec::kernels::dispatch

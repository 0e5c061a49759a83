#include "src/dispatch/cuda/rules.hpp"

namespace blockvec::kernels::dispatch {
namespace {

using Problem = CudaTsmttsmProblem;
using enum TsmttsmKernel;

template <TsmttsmKernel kernel>
constexpr TsmttsmKernel only[] = {kernel};

bool is_complex_double(const Problem& p) { return p.parts == 2 && p.real_bytes == 8; }
bool is_split(const CudaDevice& device, const Problem& p) {
  return device.warpgroups && p.real_bytes == 4 && p.may_split;
}

constexpr Rule<TsmttsmKernel, Problem> rules[] = {
    {only<gram>, Place::beside, "A^H A, up to 128 real columns",
     [](const CudaDevice&, const Problem& p) { return p.same; }, "kernel_house.md: 17 % (2 to 41) over ring"},
    {only<gram_wide>, Place::beside, "A^H A of more than 128 real columns",
     [](const CudaDevice&, const Problem& p) { return p.same; }, "kernel_house.md: 47 % over ring"},
    {only<fma>, Place::beside, "column-major, 3 real columns, or 2 complex ones in single precision",
     [](const CudaDevice&, const Problem& p) { return !p.same && !p.row_major; },
     "kernel_house.md: 4 % (to 46) over ring and direct"},
    {only<gram_fma>, Place::beside, "A^H A of up to 12 real columns; of 8 columns, tensor cores have full tiles",
     [](const CudaDevice&, const Problem& p) { return p.same && (p.row_major || p.n != 8); },
     "kernel_house.md: 3 % (to 23) over gram, by columns 4 % (to 46)"},
    {only<ring>, Place::beside, "everything", [](const CudaDevice&, const Problem&) { return true; },
     "cuda_vs_cublas.csv: 98 to 100 % of the roof, M = N = 1..64"},
    {only<tf32_warpgroup>, Place::beside, "single precision, squares from 49 real columns on",
     [](const CudaDevice& device, const Problem& p) { return is_split(device, p); },
     "kernel_house.md: 10 % (to 21) over ring"},
    {only<square_3m>, Place::beside, "complex double, squares of 33 to 40 and 49 to 56 columns",
     [](const CudaDevice&, const Problem& p) { return is_complex_double(p); },
     "kernel_house.md: 11 % (to 17) over ring_3m"},
    {only<ring_3m>, Place::beside, "complex double, squares from 41 columns on",
     [](const CudaDevice&, const Problem& p) { return is_complex_double(p); },
     "kernel_house.md: 12 % (to 15) over ring"},
    {only<tf32_3m_warpgroup>, Place::beside, "complex single precision, squares from 33 columns on",
     [](const CudaDevice& device, const Problem& p) { return p.parts == 2 && is_split(device, p); },
     "kernel_house.md: 34 % (to 46) over ring"},
    {only<direct>, Place::beside, "views that one warp spans; few columns, column-major; all views without bulk copies",
     [](const CudaDevice&, const Problem&) { return true; }, "kernel_house.md: 8 % (to 35) over ring on odd views"},
    {only<direct>, Place::if_none, "the remainder, whatever its layout and stride",
     [](const CudaDevice&, const Problem&) { return true; }, "the only kernel that takes everything"},
};

}  // namespace

std::span<const Rule<TsmttsmKernel, CudaTsmttsmProblem>> tsmttsm_rules() { return rules; }

bool has_enough_products(TsmttsmKernel kernel, const CudaTsmttsmProblem& p) {
  const std::int64_t products = kernel == tf32_warpgroup      ? 24
                                : kernel == tf32_3m_warpgroup ? 32
                                : kernel == ring_3m           ? 40
                                                              : 0;
  return products == 0 || p.m * p.n > products * (p.m + p.n);
}

}  // namespace blockvec::kernels::dispatch

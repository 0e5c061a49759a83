#include "src/cuda/kernel_of.hpp"

#include <algorithm>
#include <blockvec/kernels/error.hpp>

#include "src/dispatch/cuda_words.hpp"

namespace blockvec::kernels::cuda {
namespace {

using dispatch::CudaKernel;

// Only single precision is split, and only complex products are made of three real ones.
template <class Real>
bool has_kernel_of(const dispatch::CudaTsmttsmProblem& p, const dispatch::CudaTsmttsm& x) {
  if (sizeof(Real) == 8 && x.tf32 != 0) return false;
  if (p.parts == 1 && x.complex_tiles()) return false;
  if (x.kernel == CudaKernel::ring) return ring_kernel_of<Real>(x, p.parts, !p.row_major, p.same, false) != nullptr;
  if (x.kernel != CudaKernel::direct) return false;
  const auto neighbours = static_cast<dispatch::Neighbours>(std::max(x.neighbours, 1));  // any, for those by rule
  return tsmttsm_direct_kernel_of<Real>(x.tile_m, x.tile_n, neighbours) != nullptr;
}

template <class Real>
bool has_kernel_of(const dispatch::CudaTsmmProblem& p, const dispatch::CudaTsmm& x) {
  if (sizeof(Real) == 8 && x.tf32 != 0) return false;
  if (p.parts == 1 && x.gauss != 0) return false;
  const bool real_double = sizeof(Real) == 8 && p.parts == 1;
  switch (x.kernel) {
    case CudaKernel::ring:
    case CudaKernel::warpgroup:
      return ring_kernel_of<Real>(x, p.parts, p.m, p.pitch_a % 2 == 0, p.reads_output) != nullptr;
    case CudaKernel::boxes:
      return boxes_kernel_of<Real>(x, p.parts, !p.row_major) != nullptr;
    case CudaKernel::wide:
      return tsmm_wide_kernel_of<Real>(x.blocks_n, x.tile_n) != nullptr;
    case CudaKernel::warps:
      return warps_kernel_of<Real>(x) != nullptr;
    case CudaKernel::columns:
      return has_columns_kernel<Real>(x, p.parts);
    case CudaKernel::panels:
      if constexpr (sizeof(Real) == 8) return real_double && tsmm_panels_kernel_of<Real>(x.blocks_n, x.tile_n);
      break;
    case CudaKernel::direct:
      return direct_kernel_of<Real>(x, p.parts) != nullptr;
    case CudaKernel::general:
      return true;
    case CudaKernel::none:
      break;
  }
  return false;
}

}  // namespace

bool has_kernel(const dispatch::CudaTsmttsmProblem& p, const dispatch::CudaTsmttsm& x) {
  return p.real_bytes == 4 ? has_kernel_of<float>(p, x) : has_kernel_of<double>(p, x);
}

bool has_kernel(const dispatch::CudaTsmmProblem& p, const dispatch::CudaTsmm& x) {
  return p.real_bytes == 4 ? has_kernel_of<float>(p, x) : has_kernel_of<double>(p, x);
}

namespace {

template <class Problem, class Configuration>
void require(const Problem& p, const Configuration& x, const Product& product) {
  if (has_kernel(p, x)) return;
  throw Error(words(product) + ": no kernel of this type for \"" + dispatch::name_of(x.kernel) + ' ' +
              dispatch::words(x) + '"');
}

}  // namespace

void require_kernel(const dispatch::CudaTsmttsmProblem& p, const dispatch::CudaTsmttsm& x, const Product& product) {
  require(p, x, product);
}

void require_kernel(const dispatch::CudaTsmmProblem& p, const dispatch::CudaTsmm& x, const Product& product) {
  require(p, x, product);
}

}  // namespace blockvec::kernels::cuda

#include "src/cuda/kernel_of.hpp"

#include <algorithm>

namespace blockvec::kernels::cuda {
namespace {

using dispatch::CudaKernel;

template <class Real>
bool has_kernel_of(const dispatch::CudaTsmttsmProblem& p, const dispatch::CudaTsmttsm& x) {
  if (x.kernel == CudaKernel::ring) return ring_kernel_of<Real>(x, p.parts, !p.row_major, p.same, false) != nullptr;
  if constexpr (sizeof(Real) == 8) {
    if (x.kernel == CudaKernel::columns) return tsmttsm_columns_kernel_of<Real>(x.tile_m, x.tile_n) != nullptr;
  } else {
    if (x.kernel == CudaKernel::warpgroup) {
      return tsmttsm_columns_warpgroup_kernel_of<Real>(x.tile_m, x.tile_n) != nullptr;
    }
  }
  if (x.kernel != CudaKernel::direct) return x.kernel == CudaKernel::general;
  const auto neighbours = static_cast<dispatch::Neighbours>(std::max(x.neighbours, 1));  // any, for those by rule
  return tsmttsm_direct_kernel_of<Real>(x.tile_m, x.tile_n, neighbours) != nullptr;
}

template <class Real>
bool has_kernel_of(const dispatch::CudaTsmmProblem& p, const dispatch::CudaTsmm& x) {
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
    case CudaKernel::deep:
      if constexpr (sizeof(Real) == 8) return tsmm_columns_deep_kernel_of<Real>(x.blocks_n, x.tile_n) != nullptr;
      break;
    case CudaKernel::panels:
      if constexpr (sizeof(Real) == 8) return tsmm_panels_kernel_of<Real>(x.blocks_n, x.tile_n) != nullptr;
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

}  // namespace blockvec::kernels::cuda

#pragma once

#include "src/cuda/kernels.hpp"
#include "src/dispatch/cuda/launch.hpp"

/// Finds the kernel that a configuration names.
namespace blockvec::kernels::cuda {

/// Throws Error with the product and the configuration if the kernel is not compiled.
void require_kernel(const dispatch::CudaTsmttsmProblem& p, const dispatch::CudaTsmttsm& x, const Product& product);
void require_kernel(const dispatch::CudaTsmmProblem& p, const dispatch::CudaTsmm& x, const Product& product);

/// `aligned`: in both operands, lanes can read pairs of neighbours in a row at once.
template <class Real>
TsmttsmRingKernel<Real> ring_kernel_of(const dispatch::CudaTsmttsm& x, int parts, bool by_columns, bool aligned) {
  using dispatch::TsmttsmKernel;
  switch (x.kernel) {
    case TsmttsmKernel::fma:
      return tsmttsm_fma_kernel_of<Real>(x.tile_n, parts);
    case TsmttsmKernel::gram_fma:
      return tsmttsm_gram_fma_kernel_of<Real>(x.tile_n, by_columns, parts);
    case TsmttsmKernel::gram:
      return tsmttsm_gram_kernel_of<Real>(x.tile_m, by_columns);
    case TsmttsmKernel::tf32_warpgroup:
      if constexpr (sizeof(Real) == 4) {
        return tsmttsm_tf32_warpgroup_kernel_of<Real>(x.tile_m, x.tile_n, by_columns || aligned, by_columns);
      }
      break;
    case TsmttsmKernel::tf32_3m_warpgroup:
      if constexpr (sizeof(Real) == 4) {
        return tsmttsm_tf32_3m_warpgroup_kernel_of<Real>(x.tile_m, x.tile_n, by_columns);
      }
      break;
    case TsmttsmKernel::ring_3m:
      if constexpr (sizeof(Real) == 8) return tsmttsm_ring_3m_kernel_of<Real>(x.tile_m, x.tile_n, by_columns);
      break;
    case TsmttsmKernel::square_3m:
      if constexpr (sizeof(Real) == 8) return tsmttsm_square_3m_kernel_of<Real>(x.tile_m, by_columns);
      break;
    default:
      break;
  }
  return tsmttsm_ring_kernel_of<Real>(x.tile_m, x.tile_n, by_columns);
}

/// A has m real columns. `paired`: its rows begin a multiple of two numbers apart. `updates`: beta may differ from
/// zero.
template <class Real>
TsmmRingKernel<Real> ring_kernel_of(const dispatch::CudaTsmm& x, int parts, std::int64_t m, bool paired, bool updates) {
  using dispatch::TsmmKernel;
  if (x.kernel == TsmmKernel::row_fma) return tsmm_row_fma_kernel_of<Real>(x.blocks_n);
  if constexpr (sizeof(Real) == 4) {
    if (x.kernel == TsmmKernel::tf32_warpgroup) {
      return tsmm_tf32_warpgroup_kernel_of<Real>(x.tile_n, paired, updates, parts);
    }
    if (x.kernel == TsmmKernel::row_ring_tf32) return tsmm_row_ring_tf32_kernel_of<Real>(x.tile_n, x.blocks_n);
  } else {
    if (x.kernel == TsmmKernel::row_deep) return tsmm_row_deep_kernel_of<Real>(x.tile_n, dispatch::deep_columns(m));
  }
  return tsmm_row_ring_kernel_of<Real>(x.tile_n, x.blocks_n);
}

template <class Real>
TsmmBoxesKernel<Real> boxes_kernel_of(const dispatch::CudaTsmm& x, int parts, bool by_columns) {
  using dispatch::TsmmKernel;
  if (x.kernel == TsmmKernel::wide) return tsmm_wide_kernel_of<Real>(x.blocks_n, x.tile_n);
  if constexpr (sizeof(Real) == 8) {
    if (x.kernel == TsmmKernel::registers_3m) {
      return tsmm_registers_3m_kernel_of<Real>(x.blocks_n, x.tile_n, by_columns);
    }
    if (x.kernel == TsmmKernel::strided_3m) return tsmm_strided_3m_kernel_of<Real>(x.blocks_n, x.tile_n, by_columns);
  } else {
    if (x.kernel == TsmmKernel::strided_tf32) return tsmm_strided_tf32_kernel_of<Real>(x.blocks_n, x.tile_n, parts);
  }
  return tsmm_strided_kernel_of<Real>(x.blocks_n, x.tile_n);
}

template <class Real>
TsmmWarpsKernel<Real> warps_kernel_of(const dispatch::CudaTsmm& x) {
  if constexpr (sizeof(Real) == 4) {
    if (x.kernel == dispatch::TsmmKernel::per_warp_tf32) {
      return tsmm_per_warp_tf32_kernel_of<Real>(x.blocks_n, x.tile_n);
    }
  }
  return tsmm_per_warp_kernel_of<Real>(x.blocks_n, x.tile_n);
}

}  // namespace blockvec::kernels::cuda

#pragma once

#include "src/cuda/launch.hpp"
#include "src/cuda/ring_kernels.hpp"

/// The kernel that a configuration names.
namespace blockvec::kernels::cuda {

/// Whether it is compiled; that is known before the configuration is complete.
bool has_kernel(const dispatch::CudaTsmttsmProblem& p, const dispatch::CudaTsmttsm& x);
bool has_kernel(const dispatch::CudaTsmmProblem& p, const dispatch::CudaTsmm& x);
/// Throws Error naming product and configuration where it is not.
void require_kernel(const dispatch::CudaTsmttsmProblem& p, const dispatch::CudaTsmttsm& x, const Product& product);
void require_kernel(const dispatch::CudaTsmmProblem& p, const dispatch::CudaTsmm& x, const Product& product);

/// `same`: of a Gram matrix. `aligned`: of both operands, pairs of neighbours in a row can be read at once.
template <class Real>
TsmttsmRingKernel<Real> ring_kernel_of(const dispatch::CudaTsmttsm& x, int parts, bool by_columns, bool same,
                                       bool aligned) {
  if (x.narrow()) {
    if (same) return tsmttsm_narrow_gram_kernel_of<Real>(x.tile_m, x.tile_n, by_columns, parts);
    return by_columns ? tsmttsm_narrow_kernel_of<Real>(x.tile_m, x.tile_n, parts) : nullptr;
  }
  if constexpr (sizeof(Real) == 4) {
    if (x.tf32 == 3) return tsmttsm_complex_warpgroup_kernel_of<Real>(x.tile_m, x.tile_n, by_columns);
    if (x.tf32 == 4)
      return tsmttsm_rows_warpgroup_kernel_of<Real>(x.tile_m, x.tile_n, by_columns || aligned, by_columns);
  }
  if constexpr (sizeof(Real) == 8) {
    if (x.square()) return tsmttsm_gauss_square_kernel_of<Real>(x.tile_m, x.tile_n, by_columns);
  }
  if constexpr (sizeof(Real) == 8) {
    if (x.gauss != 0) return tsmttsm_gauss_kernel_of<Real>(x.tile_m, x.tile_n, by_columns);
  }
  if (x.gram()) return tsmttsm_gram_kernel_of<Real>(x.tile_m, by_columns);
  return tsmttsm_ring_kernel_of<Real>(x.tile_m, x.tile_n, by_columns);
}

/// A has m real columns. `paired`: its rows begin two numbers apart, or multiples of it. `updates`: beta may not be
/// zero.
template <class Real>
TsmmRingKernel<Real> ring_kernel_of(const dispatch::CudaTsmm& x, int parts, std::int64_t m, bool paired, bool updates) {
  if constexpr (sizeof(Real) == 4) {
    if (x.kernel == dispatch::CudaKernel::warpgroup) {
      return tsmm_warpgroup_kernel_of<Real>(parts, x.tile_n, paired, updates);
    }
    if (x.tf32 != 0) return tsmm_split_kernel_of<Real>(x.tile_n, x.blocks_n);
  } else {
    if (x.blocks_n == 0) return tsmm_deep_kernel_of<Real>(x.tile_n, x.blocks_n, dispatch::deep_columns(m));
  }
  return tsmm_ring_kernel_of<Real>(x.tile_n, x.blocks_n);
}

template <class Real>
TsmmBoxesKernel<Real> boxes_kernel_of(const dispatch::CudaTsmm& x, int parts, bool by_columns) {
  if constexpr (sizeof(Real) == 8) {
    if (x.holds_gauss()) return tsmm_gauss_registers_kernel_of<Real>(x.blocks_n, x.tile_n, by_columns);
    if (x.gauss != 0) return tsmm_gauss_kernel_of<Real>(x.blocks_n, x.tile_n, by_columns);
  } else {
    if (x.tf32 != 0) return tsmm_boxes_split_kernel_of<Real>(x.blocks_n, x.tile_n, parts);
  }
  return tsmm_boxes_kernel_of<Real>(x.blocks_n, x.tile_n);
}

template <class Real>
TsmmWarpsKernel<Real> warps_kernel_of(const dispatch::CudaTsmm& x) {
  if constexpr (sizeof(Real) == 4) {
    if (x.tf32 != 0) return tsmm_warps_split_kernel_of<Real>(x.blocks_n, x.tile_n);
  }
  return tsmm_warps_kernel_of<Real>(x.blocks_n, x.tile_n);
}

template <class Real>
TsmmDirectKernel<Real> direct_kernel_of(const dispatch::CudaTsmm& x, int parts) {
  return tsmm_direct_kernel_of<Real>(x.tile_n, x.blocks_n, x.panel, parts);
}

/// Without tensor cores.
inline bool by_fma(const dispatch::CudaTsmm& x) { return x.tf32 == 0 && x.row_warps == 0; }

template <class Real>
bool has_columns_kernel(const dispatch::CudaTsmm& x, int parts) {
  if (by_fma(x)) return tsmm_columns_fma_kernel_of<Real>(x.blocks_n, x.tile_n, parts) != nullptr;
  if constexpr (sizeof(Real) == 4) {
    return tsmm_columns_split_kernel_of<Real>(x.blocks_n, x.tile_n, parts) != nullptr;
  } else {
    return tsmm_columns_kernel_of<Real>(x.blocks_n, x.tile_n, parts) != nullptr;
  }
}

}  // namespace blockvec::kernels::cuda

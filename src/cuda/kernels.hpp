#pragma once

#include "src/dispatch/cuda/configuration.hpp"

/// NAME_kernel_of returns the kernel for a tile of the list NAME of src/tuning/instances.json and for the type Real. It
/// returns null where the list has no such tile. src/generator/instances.py writes the definitions into the build tree.
namespace blockvec::kernels::cuda {

template <class Real>
struct TsmttsmRing;
template <class Real>
struct TsmttsmDirect;
template <class Real>
struct TsmmRing;
template <class Real>
struct TsmmBoxes;
template <class Real>
struct TsmmWarps;
template <class Real>
struct TsmmColumns;
template <class Real>
struct TsmmColumnPieces;
struct TsmmPanels;
template <class Real>
struct TsmmDirect;

template <class Real>
using TsmttsmRingKernel = void (*)(TsmttsmRing<Real>);
template <class Real>
TsmttsmRingKernel<Real> tsmttsm_ring_kernel_of(int m, int n, bool by_columns);
template <class Real>
TsmttsmRingKernel<Real> tsmttsm_gram_kernel_of(int blocks, bool by_columns);
/// For column-major operands only. `parts`: real numbers per scalar.
template <class Real>
TsmttsmRingKernel<Real> tsmttsm_fma_kernel_of(int columns, int parts);
template <class Real>
TsmttsmRingKernel<Real> tsmttsm_gram_fma_kernel_of(int columns, bool by_columns, int parts);
template <class Real>
TsmttsmRingKernel<Real> tsmttsm_ring_3m_kernel_of(int m, int n, bool by_columns);
template <class Real>
TsmttsmRingKernel<Real> tsmttsm_square_3m_kernel_of(int blocks, bool by_columns);
/// `aligned`: lanes can read pairs of neighbours in a row at once, like the complex numbers of columns.
template <class Real>
TsmttsmRingKernel<Real> tsmttsm_tf32_warpgroup_kernel_of(int m, int n, bool aligned, bool by_columns);
template <class Real>
TsmttsmRingKernel<Real> tsmttsm_tf32_3m_warpgroup_kernel_of(int m, int n, bool by_columns);

template <class Real>
using TsmttsmDirectKernel = void (*)(TsmttsmDirect<Real>);
template <class Real>
TsmttsmDirectKernel<Real> tsmttsm_direct_kernel_of(int m, int n, dispatch::Neighbours neighbours);

template <class Real>
using TsmmRingKernel = void (*)(TsmmRing<Real>);
template <class Real>
TsmmRingKernel<Real> tsmm_row_ring_kernel_of(int m, int n);
template <class Real>
TsmmRingKernel<Real> tsmm_row_fma_kernel_of(int columns);
/// `columns`: columns of A per warp.
template <class Real>
TsmmRingKernel<Real> tsmm_row_deep_kernel_of(int n, int columns);
template <class Real>
TsmmRingKernel<Real> tsmm_row_ring_tf32_kernel_of(int m, int n);
/// `updates`: beta may differ from zero.
template <class Real>
TsmmRingKernel<Real> tsmm_tf32_warpgroup_kernel_of(int n, bool paired, bool updates, int parts);

template <class Real>
using TsmmBoxesKernel = void (*)(TsmmBoxes<Real>);
template <class Real>
TsmmBoxesKernel<Real> tsmm_strided_kernel_of(int m, int n);
/// `parts`: real numbers per scalar.
template <class Real>
TsmmBoxesKernel<Real> tsmm_strided_tf32_kernel_of(int m, int n, int parts);
template <class Real>
TsmmBoxesKernel<Real> tsmm_wide_kernel_of(int m, int n);
template <class Real>
TsmmBoxesKernel<Real> tsmm_strided_3m_kernel_of(int m, int n, bool by_columns);
template <class Real>
TsmmBoxesKernel<Real> tsmm_registers_3m_kernel_of(int m, int n, bool by_columns);

template <class Real>
using TsmmWarpsKernel = void (*)(TsmmWarps<Real>);
template <class Real>
TsmmWarpsKernel<Real> tsmm_per_warp_kernel_of(int m, int n);
template <class Real>
TsmmWarpsKernel<Real> tsmm_per_warp_tf32_kernel_of(int m, int n);

template <class Real>
using TsmmColumnsKernel = void (*)(TsmmColumns<Real>);
template <class Real>
TsmmColumnsKernel<Real> tsmm_column_ring_kernel_of(int m, int n, int parts);
template <class Real>
using TsmmColumnPiecesKernel = void (*)(TsmmColumnPieces<Real>);
template <class Real>
TsmmColumnPiecesKernel<Real> tsmm_column_tf32_kernel_of(int m, int n, int parts);
template <class Real>
TsmmColumnPiecesKernel<Real> tsmm_column_fma_kernel_of(int m, int n, int parts);

template <class Real>
using TsmmPanelsKernel = void (*)(TsmmPanels);
template <class Real>
TsmmPanelsKernel<Real> tsmm_short_k_kernel_of(int m, int n);

template <class Real>
using TsmmDirectKernel = void (*)(TsmmDirect<Real>);
template <class Real>
TsmmDirectKernel<Real> tsmm_direct_kernel_of(int rows, int columns, int panel, int parts);

}  // namespace blockvec::kernels::cuda

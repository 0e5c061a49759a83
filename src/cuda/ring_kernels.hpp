#pragma once

#include "src/dispatch/cuda_configuration.hpp"

/// The kernel for a tile of a list of src/tuning/instances.json, of the type Real; null where the list has no such
/// tile. src/generator/instances.py writes the definitions into the build tree.
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
/// tsmttsm_tiles.
template <class Real>
TsmttsmRingKernel<Real> tsmttsm_ring_kernel_of(int m, int n, bool by_columns);
/// gram_shapes.
template <class Real>
TsmttsmRingKernel<Real> tsmttsm_gram_kernel_of(int blocks, bool by_columns);
/// tsmttsm_narrow_tiles, of column-major operands alone; scalars have so many real numbers.
template <class Real>
TsmttsmRingKernel<Real> tsmttsm_narrow_kernel_of(int m, int n, int parts);
/// gram_narrow_tiles, in either layout.
template <class Real>
TsmttsmRingKernel<Real> tsmttsm_narrow_gram_kernel_of(int m, int n, bool by_columns, int parts);
/// gauss_tiles.
template <class Real>
TsmttsmRingKernel<Real> tsmttsm_gauss_kernel_of(int m, int n, bool by_columns);
/// gauss_square_tiles.
template <class Real>
TsmttsmRingKernel<Real> tsmttsm_gauss_square_kernel_of(int m, int n, bool by_columns);
/// row_warpgroup_tiles; `aligned`: pairs of neighbours in a row can be read at once, as complex numbers of columns.
template <class Real>
TsmttsmRingKernel<Real> tsmttsm_rows_warpgroup_kernel_of(int m, int n, bool aligned, bool by_columns);
/// complex_warpgroup_tiles.
template <class Real>
TsmttsmRingKernel<Real> tsmttsm_complex_warpgroup_kernel_of(int m, int n, bool by_columns);

/// direct_shapes.
template <class Real>
using TsmttsmDirectKernel = void (*)(TsmttsmDirect<Real>);
template <class Real>
TsmttsmDirectKernel<Real> tsmttsm_direct_kernel_of(int m, int n, dispatch::Neighbours neighbours);

template <class Real>
using TsmmRingKernel = void (*)(TsmmRing<Real>);
/// tsmm_tiles.
template <class Real>
TsmmRingKernel<Real> tsmm_ring_kernel_of(int m, int n);
/// tsmm_deep_tiles, of so many columns of A a warp.
template <class Real>
TsmmRingKernel<Real> tsmm_deep_kernel_of(int m, int n, int columns);
/// tsmm_split_tiles.
template <class Real>
TsmmRingKernel<Real> tsmm_split_kernel_of(int m, int n);
/// tsmm_warpgroup_tiles; `updates`: beta may not be zero.
template <class Real>
TsmmRingKernel<Real> tsmm_warpgroup_kernel_of(int parts, int n, bool paired, bool updates);

template <class Real>
using TsmmBoxesKernel = void (*)(TsmmBoxes<Real>);
/// tsmm_box_tiles.
template <class Real>
TsmmBoxesKernel<Real> tsmm_boxes_kernel_of(int m, int n);
/// tsmm_box_split_tiles; scalars have so many real numbers.
template <class Real>
TsmmBoxesKernel<Real> tsmm_boxes_split_kernel_of(int m, int n, int parts);
/// tsmm_wide_tiles.
template <class Real>
TsmmBoxesKernel<Real> tsmm_wide_kernel_of(int m, int n);
/// tsmm_gauss_tiles.
template <class Real>
TsmmBoxesKernel<Real> tsmm_gauss_kernel_of(int m, int n, bool by_columns);
/// tsmm_gauss_register_tiles.
template <class Real>
TsmmBoxesKernel<Real> tsmm_gauss_registers_kernel_of(int m, int n, bool by_columns);

/// tsmm_warps_tiles.
template <class Real>
using TsmmWarpsKernel = void (*)(TsmmWarps<Real>);
template <class Real>
TsmmWarpsKernel<Real> tsmm_warps_kernel_of(int m, int n);
/// tsmm_warps_split_tiles.
template <class Real>
TsmmWarpsKernel<Real> tsmm_warps_split_kernel_of(int m, int n);

/// tsmm_column_tiles; scalars have so many real numbers.
template <class Real>
using TsmmColumnsKernel = void (*)(TsmmColumns<Real>);
template <class Real>
TsmmColumnsKernel<Real> tsmm_columns_kernel_of(int m, int n, int parts);
/// tsmm_column_split_tiles; likewise.
template <class Real>
using TsmmColumnPiecesKernel = void (*)(TsmmColumnPieces<Real>);
template <class Real>
TsmmColumnPiecesKernel<Real> tsmm_columns_split_kernel_of(int m, int n, int parts);
/// tsmm_column_fma_tiles; likewise.
template <class Real>
TsmmColumnPiecesKernel<Real> tsmm_columns_fma_kernel_of(int m, int n, int parts);

/// tsmm_panels_tiles.
template <class Real>
using TsmmPanelsKernel = void (*)(TsmmPanels);
template <class Real>
TsmmPanelsKernel<Real> tsmm_panels_kernel_of(int m, int n);

/// tsmm_direct_shapes; likewise.
template <class Real>
using TsmmDirectKernel = void (*)(TsmmDirect<Real>);
template <class Real>
TsmmDirectKernel<Real> tsmm_direct_kernel_of(int columns, int rows, int panel, int parts);

}  // namespace blockvec::kernels::cuda

#pragma once

#include <vector_types.h>

#include "src/dispatch/cuda_configuration.hpp"

namespace blockvec::kernels::cuda {

template <class Real>
struct TsmttsmRing;
struct TsmttsmColumns;
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
struct TsmmDirect;

/// The instantiation for a warp tile of tsmttsm_tiles, tsmm_tiles or tsmm_box_tiles; null for any other. For tsmttsm a
/// tile of m x 0 stands for the shape of gram_shapes with m blocks.
template <class Real>
using TsmttsmRingKernel = void (*)(TsmttsmRing<Real>);
template <class Real>
TsmttsmRingKernel<Real> tsmttsm_ring_kernel_of(int tile_m, int tile_n, bool by_columns);
/// For a tile of gauss_tiles, in single precision of split_gauss_tiles, of row-major operands.
template <class Real>
TsmttsmRingKernel<Real> tsmttsm_gauss_kernel_of(int tile_m, int tile_n);
/// For a tile of warpgroup_tiles or complex_warpgroup_tiles; `aligned`: pairs of neighbours can be read at once.
TsmttsmRingKernel<float> tsmttsm_warpgroup_kernel_of(bool complex, int tile_n, bool aligned);

/// And for one of direct_shapes.
template <class Real>
using TsmttsmDirectKernel = void (*)(TsmttsmDirect<Real>);
template <class Real>
TsmttsmDirectKernel<Real> tsmttsm_direct_kernel_of(int tile_m, int tile_n, dispatch::Neighbours neighbours);

/// And for one of columns_tiles.
using TsmttsmColumnsKernel = void (*)(TsmttsmColumns);
TsmttsmColumnsKernel tsmttsm_columns_kernel_of(int tile_m, int tile_n);

template <class Real>
using TsmmRingKernel = void (*)(TsmmRing<Real>);
template <class Real>
TsmmRingKernel<Real> tsmm_ring_kernel_of(int tile_n, int blocks_n);
/// For one of tsmm_deep_tiles.
TsmmRingKernel<double> tsmm_deep_kernel_of(int tile_n);
/// For a tile of tsmm_split_tiles.
TsmmRingKernel<float> tsmm_split_kernel_of(int tile_n, int blocks_n);
/// For one of tsmm_warpgroup_tiles.
TsmmRingKernel<float> tsmm_warpgroup_kernel_of(int parts, int tile_n);

template <class Real>
using TsmmBoxesKernel = void (*)(TsmmBoxes<Real>);
template <class Real>
TsmmBoxesKernel<Real> tsmm_boxes_kernel_of(int tile_m, int tile_n);
TsmmBoxesKernel<double> tsmm_gauss_kernel_of();

/// For a tile of tsmm_warps_tiles.
template <class Real>
using TsmmWarpsKernel = void (*)(TsmmWarps<Real>);
template <class Real>
TsmmWarpsKernel<Real> tsmm_warps_kernel_of(int tile_m, int tile_n);

/// For a tile of tsmm_column_tiles, and scalars of so many real numbers; and the one that packs C for it.
template <class Real>
using TsmmColumnsKernel = void (*)(TsmmColumns<Real>);
template <class Real>
struct TsmmColumnsKernels {
  TsmmColumnsKernel<Real> multiply;
  void (*pack)(TsmmColumns<Real>, int, uint4*);
};
template <class Real>
TsmmColumnsKernels<Real> tsmm_columns_kernels_of(int parts, int tile_m, int tile_n, bool tf32);

/// For a shape of tsmm_direct_shapes, and scalars of so many real numbers.
template <class Real>
using TsmmDirectKernel = void (*)(TsmmDirect<Real>);
template <class Real>
TsmmDirectKernel<Real> tsmm_direct_kernel_of(int parts, int columns, int rows, int panel);

}  // namespace blockvec::kernels::cuda

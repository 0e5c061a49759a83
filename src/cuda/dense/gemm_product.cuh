#pragma once

#include "src/cuda/dense/pieces.cuh"

/// What gemm's kernels take, and where to find them: they are compiled in files of their own.
namespace blockvec::kernels::cuda {

template <class Real>
struct GemmProduct {
  PieceSource<Real> a;
  const double* packed;  ///< [unit of a tile][product of a piece][tile of 8 columns] of read_right
  double* partial;       ///< [block + tile][result][column]
  std::int64_t steps, units;
  int stages, stage_bytes, packed_bytes;
};

template <class Real>
using GemmKernel = void (*)(GemmProduct<Real>);

/// The kernel for so many tiles of 8 columns; null: none is compiled.
template <class Real, bool by_rows>
GemmKernel<Real> gemm_kernel_of(int tiles_n);

}  // namespace blockvec::kernels::cuda

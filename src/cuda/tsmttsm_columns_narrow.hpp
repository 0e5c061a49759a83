#pragma once

/// tsmttsm of a few columns, column-major (tsmttsm_columns_narrow.cu).
namespace blockvec::kernels::cuda {

template <class Real>
struct TsmttsmNarrow;  // tsmttsm_columns_narrow.cuh

template <class Real>
using TsmttsmNarrowKernel = void (*)(TsmttsmNarrow<Real>);

/// For so many columns of scalars of `parts` real numbers in either operand; null where tensor cores are as fast.
template <class Real>
TsmttsmNarrowKernel<Real> tsmttsm_narrow_kernel_of(int parts, int columns);

}  // namespace blockvec::kernels::cuda

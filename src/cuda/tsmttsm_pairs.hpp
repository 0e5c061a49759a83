#pragma once

#include "src/cuda/ring_kernels.hpp"

namespace blockvec::kernels::cuda {

/// The kernel for Gram matrices that are wider than one block holds (dispatch/cuda_sections.hpp).
template <class Real>
TsmttsmRingKernel<Real> tsmttsm_pairs_kernel_of(bool by_columns);

}  // namespace blockvec::kernels::cuda

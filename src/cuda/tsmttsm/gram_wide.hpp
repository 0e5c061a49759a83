#pragma once

#include "src/cuda/kernels.hpp"
#include "src/dispatch/cuda/sections.hpp"

namespace blockvec::kernels::cuda {

/// The kernel for Gram matrices that are wider than one CTA tile, with its squares (dispatch/cuda/sections.hpp).
template <class Real>
using TsmttsmPairsKernel = void (*)(TsmttsmRing<Real>, dispatch::SquarePairs);
template <class Real>
TsmttsmPairsKernel<Real> tsmttsm_pairs_kernel_of(bool by_columns);

}  // namespace blockvec::kernels::cuda

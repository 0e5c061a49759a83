#pragma once

#include "src/dispatch/cuda/launch.hpp"

namespace blockvec::kernels::cuda {

/// tsmm of more columns than a kernel takes, some of B's at a time; in place where no kernel is, slabs of rows besides,
/// into the workspace and back.
template <class T>
void launch_in_parts(const TsmmCall<T>& call, const dispatch::CudaTsmm& configuration, const CudaExecution& execution);

}  // namespace blockvec::kernels::cuda

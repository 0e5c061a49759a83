#pragma once

#include "src/dispatch/cuda/launch.hpp"

namespace blockvec::kernels::cuda {

/// Runs tsmm for more columns than a kernel takes: it cuts B's columns into parts. In place, where no kernel serves, it
/// also cuts the rows into slabs, computes each slab into the workspace, and copies it back.
template <class T>
void launch_in_parts(const TsmmCall<T>& call, const dispatch::CudaTsmm& configuration, const CudaExecution& execution);

}  // namespace blockvec::kernels::cuda

#pragma once

#include "src/dispatch/cuda/configuration.hpp"

/// Which kernels are compiled: src/generator/instances.py writes the list.
namespace blockvec::kernels::dispatch {

/// Whether a configuration's kernel is compiled for the problem's type; known before the configuration is complete.
bool has_kernel(const CudaTsmttsmProblem& problem, const CudaTsmttsm& configuration);
bool has_kernel(const CudaTsmmProblem& problem, const CudaTsmm& configuration);

}  // namespace blockvec::kernels::dispatch

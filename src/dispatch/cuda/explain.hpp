#pragma once

#include <blockvec/kernels/cuda.hpp>

#include "src/dispatch/cuda/configuration.hpp"

/// Explains the choice of a kernel for any device, whether it is present or not.
namespace blockvec::kernels::dispatch {

CudaExplanation explain(const CudaDevice& device, const CudaTsmttsmProblem& problem);
CudaExplanation explain(const CudaDevice& device, const CudaTsmmProblem& problem);

}  // namespace blockvec::kernels::dispatch

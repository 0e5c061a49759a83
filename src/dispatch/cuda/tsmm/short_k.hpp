#pragma once

#include <vector>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/model.hpp"

/// tsmm's candidates whose blocks take one chunk of rows each (src/cuda/tsmm/short_k.cuh): row-major operands that are
/// soon done with.
namespace blockvec::kernels::dispatch {

bool panels_are_better(const CudaDevice& device, const CudaTsmmProblem& p);
void add_panels(const CudaDevice& device, const CudaTsmmProblem& p, Search search, std::vector<CudaTsmm>& to);
bool complete_panels(const CudaDevice& device, const CudaTsmmProblem& p, CudaTsmm& c);
CudaWork panels_work(const CudaDevice& device, const CudaTsmmProblem& p, const CudaTsmm& c);

}  // namespace blockvec::kernels::dispatch

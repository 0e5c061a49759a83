#pragma once

#include <vector>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/model.hpp"

/// tsmm's candidates whose warps fetch rows of row-major operands of any stride by themselves: up to 32 real columns of
/// B.
namespace blockvec::kernels::dispatch {

/// Where boxes would ask for more than the rows' own pieces of memory.
bool warps_are_better(const CudaTsmmProblem& p);
void add_warps(const CudaDevice& device, const CudaTsmmProblem& p, Search search, std::vector<CudaTsmm>& to);
bool complete_warps(const CudaDevice& device, const CudaTsmmProblem& p, CudaTsmm& c);
CudaWork warps_work(const CudaDevice& device, const CudaTsmmProblem& p, const CudaTsmm& c);

}  // namespace blockvec::kernels::dispatch

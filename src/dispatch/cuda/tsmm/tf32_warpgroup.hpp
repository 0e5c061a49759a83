#pragma once

#include <vector>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/model.hpp"

/// tsmm of wide tight row-major operands in single precision, by whole warpgroups (src/cuda/tsmm/tf32_warpgroup.cuh).
namespace blockvec::kernels::dispatch {

void add_warpgroup(const CudaDevice& device, const CudaTsmmProblem& p, Search search, std::vector<CudaTsmm>& to);
bool complete_warpgroup(const CudaDevice& device, const CudaTsmmProblem& p, CudaTsmm& c);
CudaWork warpgroup_work(const CudaDevice& device, const CudaTsmmProblem& p, const CudaTsmm& c);

}  // namespace blockvec::kernels::dispatch

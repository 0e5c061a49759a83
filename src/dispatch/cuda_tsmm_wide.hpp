#pragma once

#include <vector>

#include "src/dispatch/cuda_configuration.hpp"
#include "src/dispatch/cuda_model.hpp"

/// tsmm's candidates for many columns of A and of B (src/cuda/tsmm_wide.cuh), which multiprocessors bind.
namespace blockvec::kernels::dispatch {

bool wide_is_better(const CudaDevice& device, const CudaTsmmProblem& p);
void add_wide(const CudaDevice& device, const CudaTsmmProblem& p, Search search, std::vector<CudaTsmm>& to);
bool complete_wide(const CudaDevice& device, const CudaTsmmProblem& p, CudaTsmm& c);
CudaWork wide_work(const CudaDevice& device, const CudaTsmmProblem& p, const CudaTsmm& c);

}  // namespace blockvec::kernels::dispatch

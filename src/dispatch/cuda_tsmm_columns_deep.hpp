#pragma once

#include <vector>

#include "src/dispatch/cuda_configuration.hpp"
#include "src/dispatch/cuda_model.hpp"

/// tsmm's candidates that take many column-major columns of A in long pieces, panel by panel, and keep few columns of
/// results in registers.
namespace blockvec::kernels::dispatch {

/// Whether they take most columns at the speed of memory.
bool columns_deep_is_better(const CudaDevice& device, const CudaTsmmProblem& p);
void add_columns_deep(const CudaDevice& device, const CudaTsmmProblem& p, Search search, std::vector<CudaTsmm>& to);
bool complete_columns_deep(const CudaDevice& device, const CudaTsmmProblem& p, CudaTsmm& c);
CudaWork columns_deep_work(const CudaDevice& device, const CudaTsmmProblem& p, const CudaTsmm& c);

}  // namespace blockvec::kernels::dispatch

#pragma once

#include <vector>

#include "src/dispatch/cuda_configuration.hpp"
#include "src/dispatch/cuda_model.hpp"

/// tsmttsm's candidates for column-major operands in double precision that copy pieces of columns into shared memory.
namespace blockvec::kernels::dispatch {

/// Whether they are what a call should take where they can be had.
bool columns_are_better(const CudaTsmttsmProblem& p);

void add_columns(const CudaDevice& device, const CudaTsmttsmProblem& p, Search search, std::vector<CudaTsmttsm>& to);
bool complete_columns(const CudaDevice& device, const CudaTsmttsmProblem& p, CudaTsmttsm& c);
CudaWork columns_work(const CudaDevice& device, const CudaTsmttsmProblem& p, const CudaTsmttsm& c);

}  // namespace blockvec::kernels::dispatch

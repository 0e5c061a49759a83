#pragma once

#include <vector>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/model.hpp"

/// tsmm's candidates whose threads load rows of column-major operands straight into registers: up to 16 columns of B;
/// or whose lanes share rows of row-major ones.
namespace blockvec::kernels::dispatch {

/// Boxes are as fast where all columns start at multiples of 16 bytes and are neither very few nor many.
bool direct_is_better(const CudaTsmmProblem& p);
void add_direct(const CudaDevice& device, const CudaTsmmProblem& p, Search search, std::vector<CudaTsmm>& to);
bool complete_direct(const CudaDevice& device, const CudaTsmmProblem& p, CudaTsmm& c);
CudaWork direct_work(const CudaDevice& device, const CudaTsmmProblem& p, const CudaTsmm& c);

}  // namespace blockvec::kernels::dispatch

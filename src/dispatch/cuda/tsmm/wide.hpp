#pragma once

#include <vector>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/model.hpp"

/// tsmm's candidates for many columns of A and of B (src/cuda/tsmm/wide.cuh), which multiprocessors bind.
namespace blockvec::kernels::dispatch {

/// Whether the kernel multiplies in place for every layout and stride of these extents: of more columns than others
/// take, and of no more than a cluster's blocks share out.
bool wide_serves_in_place(const CudaDevice& device, std::int64_t k, std::int64_t n);
bool wide_is_better(const CudaDevice& device, const CudaTsmmProblem& p);
void add_wide(const CudaDevice& device, const CudaTsmmProblem& p, Search search, std::vector<CudaTsmm>& to);
bool complete_wide(const CudaDevice& device, const CudaTsmmProblem& p, CudaTsmm& c);
CudaWork wide_work(const CudaDevice& device, const CudaTsmmProblem& p, const CudaTsmm& c);

}  // namespace blockvec::kernels::dispatch

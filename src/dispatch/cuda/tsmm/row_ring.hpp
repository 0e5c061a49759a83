#pragma once

#include <vector>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/model.hpp"

/// tsmm's candidates that a ring of stages in shared memory feeds with A's rows (src/cuda/tsmm/row_ring.cuh,
/// tsmm/row_deep.cuh).
namespace blockvec::kernels::dispatch {

/// Rows of views that come in boxes.
bool boxed_ring_is_better(const CudaDevice& device, const CudaTsmmProblem& p);
/// Many columns of A, which warps share out.
bool deep_is_better(const CudaTsmmProblem& p);
void add_ring(const CudaDevice& device, const CudaTsmmProblem& p, Search search, std::vector<CudaTsmm>& to);
bool complete_ring(const CudaDevice& device, const CudaTsmmProblem& p, CudaTsmm& c);
CudaWork ring_work(const CudaDevice& device, const CudaTsmmProblem& p, const CudaTsmm& c);

}  // namespace blockvec::kernels::dispatch

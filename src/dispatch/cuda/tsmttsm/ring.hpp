#pragma once

#include <vector>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/model.hpp"

/// tsmttsm's candidates that a ring of stages in shared memory feeds.
namespace blockvec::kernels::dispatch {

/// Entries of a block's partial sum where narrow rows are taken several at a time, at most.
inline constexpr std::int64_t most_folded_sums = 16 * 16;

/// Adds those of one of its kernels.
void add_ring(TsmttsmKernel kernel, const CudaDevice& device, const CudaTsmttsmProblem& p, Search search,
              std::vector<CudaTsmttsm>& to);
bool complete_ring(const CudaDevice& device, const CudaTsmttsmProblem& p, CudaTsmttsm& c);
CudaWork ring_work(const CudaDevice& device, const CudaTsmttsmProblem& p, const CudaTsmttsm& c);

}  // namespace blockvec::kernels::dispatch

#pragma once

#include <vector>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/model.hpp"

/// tsmttsm's candidates that load operands straight into registers: any layout, stride and alignment.
namespace blockvec::kernels::dispatch {

/// Memory moves 64 bytes at a time: what a row of so many numbers touches on average.
double touched_bytes(std::int64_t width, std::int64_t pitch, int real_bytes);

void add_direct(const CudaDevice& device, const CudaTsmttsmProblem& p, Search search, std::vector<CudaTsmttsm>& to);
bool complete_direct(const CudaDevice& device, const CudaTsmttsmProblem& p, CudaTsmttsm& c);
CudaWork direct_work(const CudaDevice& device, const CudaTsmttsmProblem& p, const CudaTsmttsm& c);

}  // namespace blockvec::kernels::dispatch

#pragma once

#include <vector>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/model.hpp"

/// Candidates of tsmttsm that load operands straight into registers, for any layout, stride and alignment.
namespace blockvec::kernels::dispatch {

/// The bytes that are moved for a row of `width` numbers, on average. Memory moves 64 bytes at a time.
double touched_bytes(std::int64_t width, std::int64_t pitch, int real_bytes);

void add_direct(const CudaDevice& device, const CudaTsmttsmProblem& p, Search search, std::vector<CudaTsmttsm>& to);
bool complete_direct(const CudaDevice& device, const CudaTsmttsmProblem& p, CudaTsmttsm& c);
CudaWork direct_work(const CudaDevice& device, const CudaTsmttsmProblem& p, const CudaTsmttsm& c);

}  // namespace blockvec::kernels::dispatch

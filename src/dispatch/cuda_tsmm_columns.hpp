#pragma once

#include <vector>

#include "src/dispatch/cuda_configuration.hpp"
#include "src/dispatch/cuda_model.hpp"

/// tsmm's candidates for column-major operands on tensor cores (src/cuda/tsmm_columns.cuh): any stride, any width.
namespace blockvec::kernels::dispatch {

/// Of a multiprocessor's shared memory where columns of A are misaligned, and come by plain copies: these are on their
/// way in the first-level cache, which has the rest.
inline constexpr int plain_columns_percent = 58;
inline constexpr int plain_columns_bytes = 131 * 1024;

void add_columns(const CudaDevice& device, const CudaTsmmProblem& p, Search search, std::vector<CudaTsmm>& to);
bool complete_columns(const CudaDevice& device, const CudaTsmmProblem& p, CudaTsmm& c);
CudaWork columns_work(const CudaDevice& device, const CudaTsmmProblem& p, const CudaTsmm& c);

}  // namespace blockvec::kernels::dispatch

#pragma once

#include <vector>

#include "src/dispatch/cuda_configuration.hpp"
#include "src/dispatch/cuda_model.hpp"

/// tsmttsm's candidates for column-major operands in single precision, by split products of whole warpgroups
/// (src/cuda/tsmttsm_columns_warpgroup.cuh): tile_n eights of columns of B.
namespace blockvec::kernels::dispatch {

void add_columns_warpgroup(const CudaDevice& device, const CudaTsmttsmProblem& p, Search search,
                           std::vector<CudaTsmttsm>& to);
bool complete_columns_warpgroup(const CudaDevice& device, const CudaTsmttsmProblem& p, CudaTsmttsm& c);
CudaWork columns_warpgroup_work(const CudaDevice& device, const CudaTsmttsmProblem& p, const CudaTsmttsm& c);

}  // namespace blockvec::kernels::dispatch

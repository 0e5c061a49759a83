#pragma once

#include <vector>

#include "src/dispatch/cuda_configuration.hpp"
#include "src/dispatch/cuda_model.hpp"

/// tsmm's candidates for column-major operands in single precision (src/cuda/tsmm_columns_split.cuh): any stride, any
/// alignment, widths whose C fits into shared memory.
namespace blockvec::kernels::dispatch {

void add_column_pieces(const CudaDevice& device, const CudaTsmmProblem& p, Search search, std::vector<CudaTsmm>& to);
bool complete_column_pieces(const CudaDevice& device, const CudaTsmmProblem& p, CudaTsmm& c);
CudaWork column_pieces_work(const CudaDevice& device, const CudaTsmmProblem& p, const CudaTsmm& c);

}  // namespace blockvec::kernels::dispatch

#pragma once

#include <vector>

#include "src/dispatch/cuda/dense.hpp"

/// Configurations of dense products to be measured beside the one that a call takes.
namespace blockvec::kernels::dispatch {

///@{
/// What a call takes, and then all that differs from it and is legal: kernels for more columns, fewer stages, other
/// numbers of thread blocks and, for hemm, of exchanges. None takes more shared memory than the model's choice with the
/// same kernel. Arguments as those of configure_gemm and configure_hemm.
std::vector<GemmConfiguration> gemm_candidates(const CudaDevice& device, const DenseLines& lines, bool by_rows,
                                               int columns);
std::vector<HemmConfiguration> hemm_candidates(const CudaDevice& device, const DenseLines& lines, int parts, bool lower,
                                               int columns);
///@}

}  // namespace blockvec::kernels::dispatch

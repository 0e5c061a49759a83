#pragma once

#include <vector>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/model.hpp"

/// tsmm's candidates for wide complex operands in double precision, of either layout, by three real products instead of
/// four, with C in registers (src/cuda/tsmm/registers_3m.cuh). They are boxes (dispatch/cuda/tsmm/strided.hpp) with `gauss` and
/// `held`.
namespace blockvec::kernels::dispatch {

/// Whether there are any.
bool add_gauss_registers(const CudaDevice& device, const CudaTsmmProblem& p, Search search, std::vector<CudaTsmm>& to);
bool complete_gauss_registers(const CudaDevice& device, const CudaTsmmProblem& p, CudaTsmm& c);
CudaWork gauss_registers_work(const CudaDevice& device, const CudaTsmmProblem& p, const CudaTsmm& c);

}  // namespace blockvec::kernels::dispatch

#pragma once

#include "src/dispatch/cuda/configuration.hpp"

/// TMA tiles of A, for all kernels of tsmm that fetch it in K slices: any stride, either layout.
namespace blockvec::kernels::dispatch {

/// Classes of lines that lie multiples of 16 bytes apart (src/cuda/operands/load_tma.cuh).
int box_classes(const CudaTsmmProblem& p);
/// Whether results go through shared memory, so that memory's sectors are written whole.
bool stages_results(const CudaTsmmProblem& p);
/// Whether tensor maps can describe A.
bool boxes_serve(const CudaDevice& device, const CudaTsmmProblem& p);
/// Lines of panels of this width; false if the boxes are not such as tensor maps take.
bool fit_panel(const CudaTsmmProblem& p, std::int64_t panel, CudaTsmm& c);
std::int64_t bytes_of_stage(const CudaTsmmProblem& p, const CudaTsmm& c);

}  // namespace blockvec::kernels::dispatch

#pragma once

#include "src/dispatch/cuda/configuration.hpp"

/// TMA tiles (boxes) of A, for all kernels of tsmm that load A in K slices (panels): any stride, either layout.
namespace blockvec::kernels::dispatch {

/// The number of classes of lines. Lines of a class are multiples of 16 bytes apart (src/cuda/operands/load_tma.cuh).
int box_classes(const CudaTsmmProblem& p);
/// Whether results go through shared memory, so that whole sectors of memory are written.
bool stages_results(const CudaTsmmProblem& p);
/// Whether tensor maps can describe A.
bool boxes_serve(const CudaDevice& device, const CudaTsmmProblem& p);
/// Sets the pitch of lines for panels of this width. Returns false if tensor maps cannot make such TMA tiles.
bool fit_panel(const CudaTsmmProblem& p, std::int64_t panel, CudaTsmm& c);
/// Bytes of a stage: its TMA tiles, and its K slice of C if C comes along.
std::int64_t bytes_of_stage(const CudaTsmmProblem& p, const CudaTsmm& c);

}  // namespace blockvec::kernels::dispatch

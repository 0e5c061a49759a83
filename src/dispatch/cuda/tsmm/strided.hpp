#pragma once

#include <vector>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/model.hpp"

/// tsmm's candidates that fetch A in boxes: any stride, both layouts, any width whose C fits into shared memory.
namespace blockvec::kernels::dispatch {

/// Flat pieces (the ring's) are as fast for rows without gaps, but for wide ones and some squares.
bool ring_is_better(const CudaTsmmProblem& p);
void add_boxes(const CudaDevice& device, const CudaTsmmProblem& p, Search search, std::vector<CudaTsmm>& to);
/// Those for wide complex operands by three real products (src/cuda/tsmm/strided_3m.cuh).
void add_gauss(const CudaDevice& device, const CudaTsmmProblem& p, Search search, std::vector<CudaTsmm>& to);
/// Classes of lines that lie multiples of 16 bytes apart (src/cuda/operands/load_tma.cuh).
int box_classes(const CudaTsmmProblem& p);
/// Whether results go through shared memory, so that memory's sectors are written whole.
bool stages_results(const CudaTsmmProblem& p);
/// Whether tensor maps can describe A.
bool boxes_serve(const CudaDevice& device, const CudaTsmmProblem& p);
/// Lines of panels of this width; false if the boxes are not such as tensor maps take.
bool fit_panel(const CudaTsmmProblem& p, std::int64_t panel, CudaTsmm& c);
std::int64_t bytes_of_stage(const CudaTsmmProblem& p, const CudaTsmm& c);
bool complete_boxes(const CudaDevice& device, const CudaTsmmProblem& p, CudaTsmm& c);
CudaWork boxes_work(const CudaDevice& device, const CudaTsmmProblem& p, const CudaTsmm& c);

}  // namespace blockvec::kernels::dispatch

#pragma once

#include <vector>

#include "src/dispatch/cuda_configuration.hpp"
#include "src/dispatch/cuda_model.hpp"

/// tsmm's candidates that fetch A in boxes: any stride, both layouts, any width whose C fits into shared memory.
namespace blockvec::kernels::dispatch {

/// Flat pieces (the ring's) are as fast for rows without gaps, but for wide ones and some squares.
bool ring_is_better(const CudaTsmmProblem& p);
void add_boxes(const CudaDevice& device, const CudaTsmmProblem& p, Search search, std::vector<CudaTsmm>& to);
/// The one for wide complex operands by three real products (src/cuda/tsmm_gauss.cuh).
void add_gauss(const CudaDevice& device, const CudaTsmmProblem& p, std::vector<CudaTsmm>& to);
/// Whether tensor maps can describe A.
bool boxes_serve(const CudaDevice& device, const CudaTsmmProblem& p);
/// Classes of lines that have strides and addresses such as tensor maps want.
int box_classes(const CudaTsmmProblem& p);
/// Lines of panels of this width; false if the boxes are not such as tensor maps take.
bool fit_panel(const CudaTsmmProblem& p, std::int64_t panel, CudaTsmm& c);
std::int64_t bytes_of_stage(const CudaTsmmProblem& p, const CudaTsmm& c);
bool complete_boxes(const CudaDevice& device, const CudaTsmmProblem& p, CudaTsmm& c);
CudaWork boxes_work(const CudaDevice& device, const CudaTsmmProblem& p, const CudaTsmm& c);

}  // namespace blockvec::kernels::dispatch

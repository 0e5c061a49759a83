#pragma once

#include <vector>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/model.hpp"

/// tsmm's candidates by split products of whole warpgroups that fetch A in boxes (src/cuda/tsmm/strided_tf32.cuh): rows
/// of any stride and width, and updates. They are boxes (dispatch/cuda/tsmm/strided.hpp) with `tf32`.
namespace blockvec::kernels::dispatch {

/// Whether they can serve, whatever the widths: pairs of neighbours are read at once.
bool boxes_split_serve(const CudaDevice& device, const CudaTsmmProblem& p);
/// Rows of many columns of A to few of B: conversions to double precision, and columns of tiles that idle, would bind.
bool split_is_better_for_few(const CudaTsmmProblem& p);
void add_boxes_split(const CudaDevice& device, const CudaTsmmProblem& p, Search search, std::vector<CudaTsmm>& to);
bool complete_boxes_split(const CudaDevice& device, const CudaTsmmProblem& p, CudaTsmm& c);
CudaWork boxes_split_work(const CudaDevice& device, const CudaTsmmProblem& p, const CudaTsmm& c);

}  // namespace blockvec::kernels::dispatch

#pragma once

#include "src/dispatch/cuda_model.hpp"

/// tsmm in place by blocks that take one chunk of rows each (src/cuda/tsmm_once.cu). They are boxes
/// (cuda_tsmm_boxes.hpp) with `held`.
namespace blockvec::kernels::dispatch {

inline constexpr int once_columns = 64;
inline constexpr int once_rows = 128;
/// Blocks of a multiprocessor.
inline constexpr int once_blocks = 2;

bool complete_once(const CudaDevice& device, const CudaTsmmProblem& p, CudaTsmm& c);
CudaWork once_work(const CudaDevice& device, const CudaTsmmProblem& p, const CudaTsmm& c);

}  // namespace blockvec::kernels::dispatch

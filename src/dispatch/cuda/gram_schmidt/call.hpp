#pragma once

#include <blockvec/kernels/cuda.hpp>
#include <blockvec/kernels/matrix.hpp>
#include <span>

#include "src/dispatch/cuda/gram_schmidt/sweep.hpp"
#include "src/dispatch/cuda/launch.hpp"

/// Between the dispatch, which knows no CUDA, and the kernel.
namespace blockvec::kernels::cuda {

/// W <- [V W] C where C has columns, then P = [V W]^H R where P has columns; R is the image of W, or W itself.
template <class T>
struct SweepCall {
  std::span<const Matrix<const T>> v;
  Matrix<T> w;
  Matrix<const T> image;  ///< no columns: W
  Matrix<const T> c;
  Matrix<T> p;
  SweepConditions conditions;
};

template <class T>
Product product_of(const SweepCall<T>& call) {
  Product product{"gram_schmidt_sweep", call.w.rows, 0, call.w.columns};
  for (const auto& piece : call.v) product.m += piece.columns;
  return product;
}

/// Launches what the configuration says; the arguments have been checked.
template <class T>
void launch_sweep(const SweepCall<T>& call, const dispatch::CudaSweep& configuration, const CudaExecution& execution);

}  // namespace blockvec::kernels::cuda

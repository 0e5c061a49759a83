#pragma once

#include <blockvec/kernels/cuda.hpp>
#include <blockvec/kernels/matrix.hpp>
#include <cstdint>

#include "src/dispatch/cuda_configuration.hpp"

/// Between the dispatch, which knows no CUDA, and the kernels.
namespace blockvec::kernels::cuda {

/// The current device. Throws CudaError where there is none or it is older than compute capability 8.0.
const dispatch::CudaDevice& current_device();

/// alpha or beta: a value, or a place in device memory.
template <class T>
struct Coefficients {
  T value;
  const T* device;
};

template <class T>
struct TsmttsmCall {
  Op op;
  Coefficients<T> alpha, beta;
  Matrix<const T> a, b;
  Matrix<T> c;
};

template <class T>
struct TsmmCall {
  Coefficients<T> alpha, beta;
  Matrix<const T> a, c;
  Matrix<T> b;
  Triangle triangle;
};

/// Launches what the configuration says; the arguments have been checked.
template <class T>
void launch_tsmttsm(const TsmttsmCall<T>& call, const dispatch::CudaTsmttsm& configuration,
                    const CudaExecution& execution);
template <class T>
void launch_tsmm(const TsmmCall<T>& call, const dispatch::CudaTsmm& configuration, const CudaExecution& execution);

}  // namespace blockvec::kernels::cuda

#pragma once

#include <blockvec/kernels/cuda.hpp>
#include <blockvec/kernels/matrix.hpp>
#include <cstdint>
#include <string>

#include "src/dispatch/cuda/configuration.hpp"

/// Between the dispatch, which knows no CUDA, and the kernels.
namespace blockvec::kernels::cuda {

/// What a call of CUDA belongs to, put into words only where it fails.
struct Product {
  const char* name;
  std::int64_t k, m, n;
};
/// "tsmm with K = 1000, M = 4, N = 2"
std::string words(const Product& product);

/// The current device. Throws CudaError naming the product where there is none or it is too old for the kernels.
const dispatch::CudaDevice& current_device(const Product& product);
/// Throws CudaError naming the product unless a device's compute capability, major.minor, is at least 8.0.
void check_capability(int device, int major, int minor, const Product& product);

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

template <class T>
Product product_of(const TsmttsmCall<T>& call) {
  return {"tsmttsm", call.a.rows, call.a.columns, call.b.columns};
}
template <class T>
Product product_of(const TsmmCall<T>& call) {
  return {call.a.data == call.b.data ? "tsmm_inplace" : "tsmm", call.a.rows, call.a.columns, call.b.columns};
}

/// Launches what the configuration says; the arguments have been checked.
template <class T>
void launch_tsmttsm(const TsmttsmCall<T>& call, const dispatch::CudaTsmttsm& configuration,
                    const CudaExecution& execution);
template <class T>
void launch_tsmm(const TsmmCall<T>& call, const dispatch::CudaTsmm& configuration, const CudaExecution& execution);

}  // namespace blockvec::kernels::cuda

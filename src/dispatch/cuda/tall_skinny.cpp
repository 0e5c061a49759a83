#include <blockvec/kernels/cuda.hpp>
#include <complex>
#include <cstdint>
#include <sstream>
#include <tuple>
#include <type_traits>

#include "src/dispatch/cuda/calls.hpp"

namespace blockvec::kernels {
namespace dispatch {
namespace {

/// Runs a checked call.
template <template <class> class Call, class T>
void run(const Call<T>& call, const CudaExecution& execution) {
  constexpr bool reduces = std::is_same_v<Call<T>, cuda::TsmttsmCall<T>>;
  if (!has_result(call)) return;
  const cuda::Product product = cuda::product_of(call);
  const CudaDevice& device = cuda::current_device(product);
  const std::int64_t m = parts<T> * product.m;
  const std::int64_t n = parts<T> * product.n;
  check_workspace_size(product.name, execution.workspace,
                       reduces ? cuda_tsmttsm_workspace(device, product.k, m, n)
                               : cuda_tsmm_workspace(device, product.k, m, n, real_bytes<T>));
  const auto choice = choose(device, problem_of(call, execution.single_precision));
  if constexpr (reduces) {
    cuda::launch_tsmttsm(call, choice.configuration, execution);
  } else {
    cuda::launch_tsmm(call, choice.configuration, execution);
  }
}

/// Explains a checked call for the current device.
template <class Call>
CudaExplanation explain_call(const Call& call, const CudaExecution& execution) {
  if (!has_result(call)) return {"none", "nothing to multiply", "model", 0, 0, "latency"};
  return explain(cuda::current_device(cuda::product_of(call)), problem_of(call, execution.single_precision));
}

}  // namespace
}  // namespace dispatch

std::string CudaExplanation::text() const {
  std::ostringstream line;
  line << kernel << ", " << configuration << " (" << source << "): " << seconds * 1e6 << " us, " << gbps
       << " GB/s expected, bound by " << bound;
  return line.str();
}

template <class T>
std::size_t cuda_tsmttsm_workspace(std::int64_t k, std::int64_t m, std::int64_t n) {
  const dispatch::CudaDevice& device = cuda::current_device({"cuda_tsmttsm_workspace", k, m, n});
  return dispatch::cuda_tsmttsm_workspace(device, k, dispatch::parts<T> * m, dispatch::parts<T> * n);
}

template <class T>
std::size_t cuda_tsmm_workspace(std::int64_t k, std::int64_t m, std::int64_t n) {
  const dispatch::CudaDevice& device = cuda::current_device({"cuda_tsmm_workspace", k, m, n});
  return dispatch::cuda_tsmm_workspace(device, k, dispatch::parts<T> * m, dispatch::parts<T> * n,
                                       dispatch::real_bytes<T>);
}

template <class T>
void tsmttsm(Op op, T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> b, T beta,
             Matrix<T> c, const CudaExecution& execution) {
  dispatch::run(dispatch::tsmttsm_call<T>(op, alpha, a, b, beta, c, execution.workspace), execution);
}

template <class T>
void tsmttsm(Op op, const T* alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> b,
             const T* beta, Matrix<T> c, const CudaExecution& execution) {
  dispatch::run(dispatch::tsmttsm_call<T>(op, alpha, a, b, beta, c, execution.workspace), execution);
}

template <class T>
void tsmm(T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> c, T beta,
          Matrix<T> b, Triangle triangle, const CudaExecution& execution) {
  dispatch::run(dispatch::tsmm_call<T>(alpha, a, c, beta, b, triangle, execution.workspace), execution);
}

template <class T>
void tsmm(const T* alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> c,
          const T* beta, Matrix<T> b, Triangle triangle, const CudaExecution& execution) {
  dispatch::run(dispatch::tsmm_call<T>(alpha, a, c, beta, b, triangle, execution.workspace), execution);
}

template <class T>
void tsmm_inplace(Matrix<T> v, std::type_identity_t<Matrix<const T>> c, Triangle triangle,
                  const CudaExecution& execution, std::int64_t first) {
  dispatch::run(dispatch::checked_tsmm_inplace<T>(v, c, triangle, first, execution.workspace), execution);
}

template <class T>
CudaExplanation explain_cuda_tsmttsm(Op op, T alpha, std::type_identity_t<Matrix<const T>> a,
                                     std::type_identity_t<Matrix<const T>> b, T beta, Matrix<T> c,
                                     const CudaExecution& execution) {
  return dispatch::explain_call(dispatch::tsmttsm_call<T>(op, alpha, a, b, beta, c, {}), execution);
}

template <class T>
CudaExplanation explain_cuda_tsmttsm(Op op, const T* alpha, std::type_identity_t<Matrix<const T>> a,
                                     std::type_identity_t<Matrix<const T>> b, const T* beta, Matrix<T> c,
                                     const CudaExecution& execution) {
  return dispatch::explain_call(dispatch::tsmttsm_call<T>(op, alpha, a, b, beta, c, {}), execution);
}

template <class T>
CudaExplanation explain_cuda_tsmm(T alpha, std::type_identity_t<Matrix<const T>> a,
                                  std::type_identity_t<Matrix<const T>> c, T beta, Matrix<T> b, Triangle triangle,
                                  const CudaExecution& execution) {
  return dispatch::explain_call(dispatch::tsmm_call<T>(alpha, a, c, beta, b, triangle, {}), execution);
}

template <class T>
CudaExplanation explain_cuda_tsmm(const T* alpha, std::type_identity_t<Matrix<const T>> a,
                                  std::type_identity_t<Matrix<const T>> c, const T* beta, Matrix<T> b,
                                  Triangle triangle, const CudaExecution& execution) {
  return dispatch::explain_call(dispatch::tsmm_call<T>(alpha, a, c, beta, b, triangle, {}), execution);
}

template <class T>
CudaExplanation explain_cuda_tsmm_inplace(Matrix<T> v, std::type_identity_t<Matrix<const T>> c, Triangle triangle,
                                          const CudaExecution& execution, std::int64_t first) {
  return dispatch::explain_call(dispatch::checked_tsmm_inplace<T>(v, c, triangle, first, {}), execution);
}

/// Instantiates the functions: an explicit instantiation of this struct defines constants that hold their addresses.
/// Factor: T or const T*, the type of alpha and beta.
template <class T, class Factor>
struct CudaProducts {
  template <class Result>
  using OfTwo = Result (*)(Op, Factor, Matrix<const T>, Matrix<const T>, Factor, Matrix<T>, const CudaExecution&);
  template <class Result>
  using OfOne = Result (*)(Factor, Matrix<const T>, Matrix<const T>, Factor, Matrix<T>, Triangle, const CudaExecution&);
  using InPlace = void (*)(Matrix<T>, Matrix<const T>, Triangle, const CudaExecution&, std::int64_t);

  static constexpr std::tuple<OfTwo<void>, OfOne<void>, InPlace> products{&tsmttsm<T>, &tsmm<T>, &tsmm_inplace<T>};
  static constexpr std::tuple<OfTwo<CudaExplanation>, OfOne<CudaExplanation>> explanations{&explain_cuda_tsmttsm<T>,
                                                                                           &explain_cuda_tsmm<T>};
  static constexpr auto others =
      std::tuple{&explain_cuda_tsmm_inplace<T>, &cuda_tsmttsm_workspace<T>, &cuda_tsmm_workspace<T>};
};
template struct CudaProducts<float, float>;
template struct CudaProducts<float, const float*>;
template struct CudaProducts<double, double>;
template struct CudaProducts<double, const double*>;
template struct CudaProducts<std::complex<float>, std::complex<float>>;
template struct CudaProducts<std::complex<float>, const std::complex<float>*>;
template struct CudaProducts<std::complex<double>, std::complex<double>>;
template struct CudaProducts<std::complex<double>, const std::complex<double>*>;

}  // namespace blockvec::kernels

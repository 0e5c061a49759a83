#include <blockvec/kernels/cuda.hpp>
#include <complex>
#include <cstdint>

#include "src/dispatch/cuda/calls.hpp"
#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/launch.hpp"
#include "src/dispatch/host/checks.hpp"

namespace blockvec::kernels {
namespace {

template <class T>
std::size_t tsmttsm_workspace(const dispatch::CudaDevice& device, const cuda::Product& p) {
  if (p.k <= 0 || p.m <= 0 || p.n <= 0) return 0;
  return dispatch::cuda_tsmttsm_workspace(device, p.k, dispatch::parts<T> * p.m, dispatch::parts<T> * p.n);
}

template <class T>
std::size_t tsmm_workspace(const dispatch::CudaDevice& device, const cuda::Product& p) {
  if (p.k <= 0 || p.m < 0 || p.n <= 0) return 0;
  return dispatch::cuda_tsmm_workspace(device, p.k, dispatch::parts<T> * p.m, dispatch::parts<T> * p.n,
                                       dispatch::real_bytes<T>);
}

template <class T>
void run_tsmttsm(const cuda::TsmttsmCall<T>& unchecked, const CudaExecution& execution) {
  const cuda::TsmttsmCall<T> call = dispatch::checked_tsmttsm(unchecked, execution.workspace);
  if (!dispatch::has_result(call)) return;
  const cuda::Product product = cuda::product_of(call);
  const dispatch::CudaDevice& device = cuda::current_device(product);
  dispatch::check_workspace_size(product.name, execution.workspace, tsmttsm_workspace<T>(device, product));
  const auto problem = dispatch::problem_of(call, execution.single_precision);
  cuda::launch_tsmttsm(call, dispatch::configure_cuda_tsmttsm(device, problem), execution);
}

template <class T>
void run_tsmm(const cuda::TsmmCall<T>& call, const CudaExecution& execution) {
  if (!dispatch::has_result(call)) return;
  const cuda::Product product = cuda::product_of(call);
  const dispatch::CudaDevice& device = cuda::current_device(product);
  dispatch::check_workspace_size(product.name, execution.workspace, tsmm_workspace<T>(device, product));
  const auto problem = dispatch::problem_of(call, execution.single_precision);
  cuda::launch_tsmm(call, dispatch::configure_cuda_tsmm(device, problem), execution);
}

}  // namespace

template <class T>
std::size_t cuda_tsmttsm_workspace(std::int64_t k, std::int64_t m, std::int64_t n) {
  const cuda::Product product{"cuda_tsmttsm_workspace", k, m, n};
  return tsmttsm_workspace<T>(cuda::current_device(product), product);
}

template <class T>
std::size_t cuda_tsmm_workspace(std::int64_t k, std::int64_t m, std::int64_t n) {
  const cuda::Product product{"cuda_tsmm_workspace", k, m, n};
  return tsmm_workspace<T>(cuda::current_device(product), product);
}

template <class T>
void tsmttsm(Op op, T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> b, T beta,
             Matrix<T> c, const CudaExecution& execution) {
  run_tsmttsm<T>({op, {alpha, nullptr}, {beta, nullptr}, a, b, c}, execution);
}

template <class T>
void tsmttsm(Op op, const T* alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> b,
             const T* beta, Matrix<T> c, const CudaExecution& execution) {
  run_tsmttsm<T>(
      {op, dispatch::in_memory("tsmttsm", "alpha", alpha), dispatch::in_memory("tsmttsm", "beta", beta), a, b, c},
      execution);
}

template <class T>
void tsmm(T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> c, T beta,
          Matrix<T> b, Triangle triangle, const CudaExecution& execution) {
  run_tsmm(dispatch::checked_tsmm<T>({{alpha, nullptr}, {beta, nullptr}, a, c, b, triangle}, execution.workspace),
           execution);
}

template <class T>
void tsmm(const T* alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> c,
          const T* beta, Matrix<T> b, Triangle triangle, const CudaExecution& execution) {
  run_tsmm(dispatch::checked_tsmm<T>({dispatch::in_memory("tsmm", "alpha", alpha),
                                      dispatch::in_memory("tsmm", "beta", beta), a, c, b, triangle},
                                     execution.workspace),
           execution);
}

template <class T>
void tsmm_inplace(Matrix<T> v, std::type_identity_t<Matrix<const T>> c, Triangle triangle,
                  const CudaExecution& execution) {
  run_tsmm(dispatch::checked_tsmm_inplace<T>(v, c, triangle, execution.workspace), execution);
}

template std::size_t cuda_tsmttsm_workspace<float>(std::int64_t, std::int64_t, std::int64_t);
template std::size_t cuda_tsmm_workspace<float>(std::int64_t, std::int64_t, std::int64_t);
template void tsmttsm<float>(Op, float, Matrix<const float>, Matrix<const float>, float, Matrix<float>,
                             const CudaExecution&);
template void tsmm<float>(float, Matrix<const float>, Matrix<const float>, float, Matrix<float>, Triangle,
                          const CudaExecution&);
template void tsmttsm<float>(Op, const float*, Matrix<const float>, Matrix<const float>, const float*, Matrix<float>,
                             const CudaExecution&);
template void tsmm<float>(const float*, Matrix<const float>, Matrix<const float>, const float*, Matrix<float>, Triangle,
                          const CudaExecution&);
template void tsmm_inplace<float>(Matrix<float>, Matrix<const float>, Triangle, const CudaExecution&);
template std::size_t cuda_tsmttsm_workspace<double>(std::int64_t, std::int64_t, std::int64_t);
template std::size_t cuda_tsmm_workspace<double>(std::int64_t, std::int64_t, std::int64_t);
template void tsmttsm<double>(Op, double, Matrix<const double>, Matrix<const double>, double, Matrix<double>,
                              const CudaExecution&);
template void tsmm<double>(double, Matrix<const double>, Matrix<const double>, double, Matrix<double>, Triangle,
                           const CudaExecution&);
template void tsmttsm<double>(Op, const double*, Matrix<const double>, Matrix<const double>, const double*,
                              Matrix<double>, const CudaExecution&);
template void tsmm<double>(const double*, Matrix<const double>, Matrix<const double>, const double*, Matrix<double>,
                           Triangle, const CudaExecution&);
template void tsmm_inplace<double>(Matrix<double>, Matrix<const double>, Triangle, const CudaExecution&);
template std::size_t cuda_tsmttsm_workspace<std::complex<float>>(std::int64_t, std::int64_t, std::int64_t);
template std::size_t cuda_tsmm_workspace<std::complex<float>>(std::int64_t, std::int64_t, std::int64_t);
template void tsmttsm<std::complex<float>>(Op, std::complex<float>, Matrix<const std::complex<float>>,
                                           Matrix<const std::complex<float>>, std::complex<float>,
                                           Matrix<std::complex<float>>, const CudaExecution&);
template void tsmm<std::complex<float>>(std::complex<float>, Matrix<const std::complex<float>>,
                                        Matrix<const std::complex<float>>, std::complex<float>,
                                        Matrix<std::complex<float>>, Triangle, const CudaExecution&);
template void tsmttsm<std::complex<float>>(Op, const std::complex<float>*, Matrix<const std::complex<float>>,
                                           Matrix<const std::complex<float>>, const std::complex<float>*,
                                           Matrix<std::complex<float>>, const CudaExecution&);
template void tsmm<std::complex<float>>(const std::complex<float>*, Matrix<const std::complex<float>>,
                                        Matrix<const std::complex<float>>, const std::complex<float>*,
                                        Matrix<std::complex<float>>, Triangle, const CudaExecution&);
template void tsmm_inplace<std::complex<float>>(Matrix<std::complex<float>>, Matrix<const std::complex<float>>,
                                                Triangle, const CudaExecution&);
template std::size_t cuda_tsmttsm_workspace<std::complex<double>>(std::int64_t, std::int64_t, std::int64_t);
template std::size_t cuda_tsmm_workspace<std::complex<double>>(std::int64_t, std::int64_t, std::int64_t);
template void tsmttsm<std::complex<double>>(Op, std::complex<double>, Matrix<const std::complex<double>>,
                                            Matrix<const std::complex<double>>, std::complex<double>,
                                            Matrix<std::complex<double>>, const CudaExecution&);
template void tsmm<std::complex<double>>(std::complex<double>, Matrix<const std::complex<double>>,
                                         Matrix<const std::complex<double>>, std::complex<double>,
                                         Matrix<std::complex<double>>, Triangle, const CudaExecution&);
template void tsmttsm<std::complex<double>>(Op, const std::complex<double>*, Matrix<const std::complex<double>>,
                                            Matrix<const std::complex<double>>, const std::complex<double>*,
                                            Matrix<std::complex<double>>, const CudaExecution&);
template void tsmm<std::complex<double>>(const std::complex<double>*, Matrix<const std::complex<double>>,
                                         Matrix<const std::complex<double>>, const std::complex<double>*,
                                         Matrix<std::complex<double>>, Triangle, const CudaExecution&);
template void tsmm_inplace<std::complex<double>>(Matrix<std::complex<double>>, Matrix<const std::complex<double>>,
                                                 Triangle, const CudaExecution&);

}  // namespace blockvec::kernels

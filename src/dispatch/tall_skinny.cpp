#include <bit>
#include <blockvec/kernels/tall_skinny.hpp>
#include <complex>
#include <cstdint>

#include "src/dispatch/checks.hpp"

namespace blockvec::kernels {

std::int64_t summation_depth(std::int64_t k) { return k; }

template <class T>
std::size_t tsmttsm_workspace(std::int64_t, std::int64_t, std::int64_t, Layout) {
  return 0;
}

template <class T>
std::size_t tsmm_workspace(std::int64_t, std::int64_t, std::int64_t, Layout, int) {
  return 0;
}

template <class T>
void tsmttsm(Op op, T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> b, T beta,
             Matrix<T> c, HostExecution execution) {
  dispatch::check_execution("tsmttsm", execution.threads, execution.workspace, 0);
  reference::tsmttsm(op, alpha, a, b, beta, c);
}

template <class T>
void tsmm(T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> c, T beta,
          Matrix<T> b, Triangle triangle, HostExecution execution) {
  dispatch::check_execution("tsmm", execution.threads, execution.workspace, 0);
  reference::tsmm(alpha, a, c, beta, b, triangle);
}

template <class T>
void tsmm_inplace(Matrix<T> v, std::type_identity_t<Matrix<const T>> c, Triangle triangle, HostExecution execution) {
  dispatch::check_execution("tsmm_inplace", execution.threads, execution.workspace, 0);
  reference::tsmm_inplace(v, c, triangle);
}

template std::size_t tsmttsm_workspace<float>(std::int64_t, std::int64_t, std::int64_t, Layout);
template std::size_t tsmttsm_workspace<double>(std::int64_t, std::int64_t, std::int64_t, Layout);
template std::size_t tsmttsm_workspace<std::complex<float>>(std::int64_t, std::int64_t, std::int64_t, Layout);
template std::size_t tsmttsm_workspace<std::complex<double>>(std::int64_t, std::int64_t, std::int64_t, Layout);
template std::size_t tsmm_workspace<float>(std::int64_t, std::int64_t, std::int64_t, Layout, int);
template std::size_t tsmm_workspace<double>(std::int64_t, std::int64_t, std::int64_t, Layout, int);
template std::size_t tsmm_workspace<std::complex<float>>(std::int64_t, std::int64_t, std::int64_t, Layout, int);
template std::size_t tsmm_workspace<std::complex<double>>(std::int64_t, std::int64_t, std::int64_t, Layout, int);
template void tsmttsm(Op, float, Matrix<const float>, Matrix<const float>, float, Matrix<float>, HostExecution);
template void tsmttsm(Op, double, Matrix<const double>, Matrix<const double>, double, Matrix<double>, HostExecution);
template void tsmttsm(Op, std::complex<float>, Matrix<const std::complex<float>>, Matrix<const std::complex<float>>,
                      std::complex<float>, Matrix<std::complex<float>>, HostExecution);
template void tsmttsm(Op, std::complex<double>, Matrix<const std::complex<double>>, Matrix<const std::complex<double>>,
                      std::complex<double>, Matrix<std::complex<double>>, HostExecution);
template void tsmm(float, Matrix<const float>, Matrix<const float>, float, Matrix<float>, Triangle, HostExecution);
template void tsmm(double, Matrix<const double>, Matrix<const double>, double, Matrix<double>, Triangle, HostExecution);
template void tsmm(std::complex<float>, Matrix<const std::complex<float>>, Matrix<const std::complex<float>>,
                   std::complex<float>, Matrix<std::complex<float>>, Triangle, HostExecution);
template void tsmm(std::complex<double>, Matrix<const std::complex<double>>, Matrix<const std::complex<double>>,
                   std::complex<double>, Matrix<std::complex<double>>, Triangle, HostExecution);
template void tsmm_inplace(Matrix<float>, Matrix<const float>, Triangle, HostExecution);
template void tsmm_inplace(Matrix<double>, Matrix<const double>, Triangle, HostExecution);
template void tsmm_inplace(Matrix<std::complex<float>>, Matrix<const std::complex<float>>, Triangle, HostExecution);
template void tsmm_inplace(Matrix<std::complex<double>>, Matrix<const std::complex<double>>, Triangle, HostExecution);

}  // namespace blockvec::kernels

#include <blockvec/kernels/cuda.hpp>
#include <complex>
#include <cstdint>
#include <string>

#include "src/cuda/launch.hpp"
#include "src/dispatch/checks.hpp"
#include "src/dispatch/cuda_configuration.hpp"
#include "src/dispatch/cuda_problems.hpp"

namespace blockvec::kernels {
namespace {

void check_workspace(const char* product, std::span<std::byte> workspace, std::size_t needed) {
  if (workspace.size() >= needed) return;
  throw ShapeError(std::string(product) + ": workspace of " + std::to_string(workspace.size()) +
                   " bytes of device memory: expected at least " + std::to_string(needed) + " bytes");
}

template <class T>
bool is_zero(const cuda::Coefficients<T>& x) {
  return x.device == nullptr && x.value == T(0);
}

template <class T>
void run_tsmttsm(cuda::TsmttsmCall<T> call, const CudaExecution& execution) {
  dispatch::check_tsmttsm(call.a, call.b, call.c);
  dispatch::check_alignment(
      "tsmttsm", {dispatch::operand("A", call.a), dispatch::operand("B", call.b), dispatch::operand("C", call.c)});
  if (call.c.rows == 0 || call.c.columns == 0) return;
  check_workspace("tsmttsm", execution.workspace,
                  cuda_tsmttsm_workspace<T>(call.a.rows, call.a.columns, call.b.columns));
  dispatch::prefer_rows(call.a, call.b);
  dispatch::CudaTsmttsmProblem problem = dispatch::problem_of(call.a, call.b);
  problem.may_split = execution.single_precision == SinglePrecision::split;
  if (is_zero(call.alpha)) problem.k = 0;
  cuda::launch_tsmttsm(call, dispatch::configure_cuda_tsmttsm(cuda::current_device(), problem), execution);
}

template <class T>
void run_tsmm(const char* product, cuda::TsmmCall<T> call, const CudaExecution& execution) {
  const bool in_place = call.a.data == call.b.data;
  dispatch::check_alignment(product, {dispatch::operand(in_place ? "V" : "A", call.a), dispatch::operand("C", call.c),
                                      dispatch::operand("B", call.b)});
  if (call.a.columns == 1 && call.b.columns == 1 && call.a.layout == Layout::column_major) {
    call.a.layout = call.b.layout = Layout::row_major;  // single columns are rows of one entry
    call.a.ld = call.b.ld = 1;
  }
  if (call.b.rows == 0 || call.b.columns == 0) return;
  check_workspace(product, execution.workspace, cuda_tsmm_workspace<T>(call.a.rows, call.a.columns, call.b.columns));
  dispatch::CudaTsmmProblem problem =
      dispatch::problem_of<T>(call.a, Matrix<const T>(call.b), call.beta.device != nullptr || call.beta.value != T(0));
  problem.may_split = execution.single_precision == SinglePrecision::split;
  problem.may_skip_a = call.alpha.device != nullptr || is_zero(call.alpha);
  cuda::launch_tsmm(call, dispatch::configure_cuda_tsmm(cuda::current_device(), problem), execution);
}

}  // namespace

template <class T>
std::size_t cuda_tsmttsm_workspace(std::int64_t k, std::int64_t m, std::int64_t n) {
  if (k <= 0 || m <= 0 || n <= 0) return 0;
  return dispatch::cuda_tsmttsm_workspace(cuda::current_device(), k, dispatch::parts<T> * m, dispatch::parts<T> * n,
                                          dispatch::real_bytes<T>);
}

template <class T>
std::size_t cuda_tsmm_workspace(std::int64_t k, std::int64_t m, std::int64_t n) {
  if (k <= 0 || m < 0 || n <= 0) return 0;
  return dispatch::cuda_tsmm_workspace(cuda::current_device(), k, dispatch::parts<T> * m, dispatch::parts<T> * n,
                                       dispatch::real_bytes<T>);
}

template <class T>
void tsmttsm(Op op, T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> b, T beta,
             Matrix<T> c, const CudaExecution& execution) {
  run_tsmttsm<T>({op, {alpha, nullptr}, {beta, nullptr}, a, b, c}, execution);
}

template <class T>
void tsmttsm(Op op, const T* alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> b,
             const T* beta, Matrix<T> c, const CudaExecution& execution) {
  run_tsmttsm<T>({op, {T(1), alpha}, {T(0), beta}, a, b, c}, execution);
}

template <class T>
void tsmm(T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> c, T beta,
          Matrix<T> b, Triangle triangle, const CudaExecution& execution) {
  dispatch::check_tsmm(a, c, b);
  run_tsmm<T>("tsmm", {{alpha, nullptr}, {beta, nullptr}, a, c, b, triangle}, execution);
}

template <class T>
void tsmm(const T* alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> c,
          const T* beta, Matrix<T> b, Triangle triangle, const CudaExecution& execution) {
  dispatch::check_tsmm(a, c, b);
  run_tsmm<T>("tsmm", {{T(1), alpha}, {T(0), beta}, a, c, b, triangle}, execution);
}

template <class T>
void tsmm_inplace(Matrix<T> v, std::type_identity_t<Matrix<const T>> c, Triangle triangle,
                  const CudaExecution& execution) {
  dispatch::check_tsmm_inplace(v, c);
  Matrix<T> first = v;  // the columns that are written
  first.columns = c.columns;
  run_tsmm<T>("tsmm_inplace", {{T(1), nullptr}, {T(0), nullptr}, v, c, first, triangle}, execution);
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

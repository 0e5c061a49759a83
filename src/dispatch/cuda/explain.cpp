#include "src/dispatch/cuda/explain.hpp"

#include <blockvec/kernels/tall_skinny.hpp>
#include <complex>
#include <sstream>

#include "src/dispatch/cuda/calls.hpp"
#include "src/dispatch/cuda/launch.hpp"
#include "src/dispatch/cuda/text.hpp"

namespace blockvec::kernels {
namespace dispatch {
namespace {

template <class Configuration>
CudaExplanation explanation(const CudaChoice<Configuration>& choice, double bytes) {
  return {name_of(choice.configuration->kernel),
          words(choice.configuration),
          choice.row.empty() ? "model" : "measured " + std::string(choice.row),
          choice.prediction.seconds,
          bytes / choice.prediction.seconds * 1e-9,
          name_of(choice.prediction.bound)};
}

/// Kernels see real numbers: `bytes(T())` with T of their size.
template <class Bytes>
double bytes_of_reals(int real_bytes, Bytes&& bytes) {
  return real_bytes == sizeof(float) ? bytes(float()) : bytes(double());
}

}  // namespace

CudaExplanation explain(const CudaDevice& device, const CudaTsmttsmProblem& p) {
  return explanation(choose(device, p), bytes_of_reals(p.real_bytes, [&](auto real) {
                       return tsmttsm_bytes<decltype(real)>(p.k, p.m, p.n, p.same);
                     }));
}

CudaExplanation explain(const CudaDevice& device, const CudaTsmmProblem& p) {
  return explanation(choose(device, p), bytes_of_reals(p.real_bytes, [&](auto real) {
                       return tsmm_bytes<decltype(real)>(p.k, p.m, p.n, p.reads_output);
                     }));
}

namespace {

CudaExplanation nothing() {
  CudaExplanation nothing;
  nothing.kernel = "none";
  nothing.configuration = "nothing to multiply";
  nothing.source = "model";
  nothing.bound = "latency";
  return nothing;
}

/// A checked call's explanation for the current device.
template <class Call>
CudaExplanation explain_call(const Call& call, const CudaExecution& execution) {
  if (!has_result(call)) return nothing();
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
CudaExplanation explain_cuda_tsmttsm(Op op, T alpha, std::type_identity_t<Matrix<const T>> a,
                                     std::type_identity_t<Matrix<const T>> b, T beta, Matrix<T> c,
                                     const CudaExecution& execution) {
  return dispatch::explain_call(dispatch::checked_tsmttsm<T>({op, {alpha, nullptr}, {beta, nullptr}, a, b, c}, {}),
                                execution);
}

template <class T>
CudaExplanation explain_cuda_tsmttsm(Op op, const T* alpha, std::type_identity_t<Matrix<const T>> a,
                                     std::type_identity_t<Matrix<const T>> b, const T* beta, Matrix<T> c,
                                     const CudaExecution& execution) {
  return dispatch::explain_call(dispatch::checked_tsmttsm<T>({op, dispatch::in_memory("tsmttsm", "alpha", alpha),
                                                              dispatch::in_memory("tsmttsm", "beta", beta), a, b, c},
                                                             {}),
                                execution);
}

template <class T>
CudaExplanation explain_cuda_tsmm(T alpha, std::type_identity_t<Matrix<const T>> a,
                                  std::type_identity_t<Matrix<const T>> c, T beta, Matrix<T> b, Triangle triangle,
                                  const CudaExecution& execution) {
  return dispatch::explain_call(dispatch::checked_tsmm<T>({{alpha, nullptr}, {beta, nullptr}, a, c, b, triangle}, {}),
                                execution);
}

template <class T>
CudaExplanation explain_cuda_tsmm(const T* alpha, std::type_identity_t<Matrix<const T>> a,
                                  std::type_identity_t<Matrix<const T>> c, const T* beta, Matrix<T> b,
                                  Triangle triangle, const CudaExecution& execution) {
  return dispatch::explain_call(
      dispatch::checked_tsmm<T>(
          {dispatch::in_memory("tsmm", "alpha", alpha), dispatch::in_memory("tsmm", "beta", beta), a, c, b, triangle},
          {}),
      execution);
}

template <class T>
CudaExplanation explain_cuda_tsmm_inplace(Matrix<T> v, std::type_identity_t<Matrix<const T>> c, Triangle triangle,
                                          const CudaExecution& execution) {
  return dispatch::explain_call(dispatch::checked_tsmm_inplace<T>(v, c, triangle, {}), execution);
}

template CudaExplanation explain_cuda_tsmttsm<float>(Op, float, Matrix<const float>, Matrix<const float>, float,
                                                     Matrix<float>, const CudaExecution&);
template CudaExplanation explain_cuda_tsmttsm<float>(Op, const float*, Matrix<const float>, Matrix<const float>,
                                                     const float*, Matrix<float>, const CudaExecution&);
template CudaExplanation explain_cuda_tsmm<float>(float, Matrix<const float>, Matrix<const float>, float, Matrix<float>,
                                                  Triangle, const CudaExecution&);
template CudaExplanation explain_cuda_tsmm<float>(const float*, Matrix<const float>, Matrix<const float>, const float*,
                                                  Matrix<float>, Triangle, const CudaExecution&);
template CudaExplanation explain_cuda_tsmm_inplace<float>(Matrix<float>, Matrix<const float>, Triangle,
                                                          const CudaExecution&);
template CudaExplanation explain_cuda_tsmttsm<double>(Op, double, Matrix<const double>, Matrix<const double>, double,
                                                      Matrix<double>, const CudaExecution&);
template CudaExplanation explain_cuda_tsmttsm<double>(Op, const double*, Matrix<const double>, Matrix<const double>,
                                                      const double*, Matrix<double>, const CudaExecution&);
template CudaExplanation explain_cuda_tsmm<double>(double, Matrix<const double>, Matrix<const double>, double,
                                                   Matrix<double>, Triangle, const CudaExecution&);
template CudaExplanation explain_cuda_tsmm<double>(const double*, Matrix<const double>, Matrix<const double>,
                                                   const double*, Matrix<double>, Triangle, const CudaExecution&);
template CudaExplanation explain_cuda_tsmm_inplace<double>(Matrix<double>, Matrix<const double>, Triangle,
                                                           const CudaExecution&);
template CudaExplanation explain_cuda_tsmttsm<std::complex<float>>(Op, std::complex<float>,
                                                                   Matrix<const std::complex<float>>,
                                                                   Matrix<const std::complex<float>>,
                                                                   std::complex<float>, Matrix<std::complex<float>>,
                                                                   const CudaExecution&);
template CudaExplanation explain_cuda_tsmttsm<std::complex<float>>(Op, const std::complex<float>*,
                                                                   Matrix<const std::complex<float>>,
                                                                   Matrix<const std::complex<float>>,
                                                                   const std::complex<float>*,
                                                                   Matrix<std::complex<float>>, const CudaExecution&);
template CudaExplanation explain_cuda_tsmm<std::complex<float>>(std::complex<float>, Matrix<const std::complex<float>>,
                                                                Matrix<const std::complex<float>>, std::complex<float>,
                                                                Matrix<std::complex<float>>, Triangle,
                                                                const CudaExecution&);
template CudaExplanation explain_cuda_tsmm<std::complex<float>>(const std::complex<float>*,
                                                                Matrix<const std::complex<float>>,
                                                                Matrix<const std::complex<float>>,
                                                                const std::complex<float>*, Matrix<std::complex<float>>,
                                                                Triangle, const CudaExecution&);
template CudaExplanation explain_cuda_tsmm_inplace<std::complex<float>>(Matrix<std::complex<float>>,
                                                                        Matrix<const std::complex<float>>, Triangle,
                                                                        const CudaExecution&);
template CudaExplanation explain_cuda_tsmttsm<std::complex<double>>(Op, std::complex<double>,
                                                                    Matrix<const std::complex<double>>,
                                                                    Matrix<const std::complex<double>>,
                                                                    std::complex<double>, Matrix<std::complex<double>>,
                                                                    const CudaExecution&);
template CudaExplanation explain_cuda_tsmttsm<std::complex<double>>(Op, const std::complex<double>*,
                                                                    Matrix<const std::complex<double>>,
                                                                    Matrix<const std::complex<double>>,
                                                                    const std::complex<double>*,
                                                                    Matrix<std::complex<double>>, const CudaExecution&);
template CudaExplanation explain_cuda_tsmm<std::complex<double>>(std::complex<double>,
                                                                 Matrix<const std::complex<double>>,
                                                                 Matrix<const std::complex<double>>,
                                                                 std::complex<double>, Matrix<std::complex<double>>,
                                                                 Triangle, const CudaExecution&);
template CudaExplanation explain_cuda_tsmm<std::complex<double>>(
    const std::complex<double>*, Matrix<const std::complex<double>>, Matrix<const std::complex<double>>,
    const std::complex<double>*, Matrix<std::complex<double>>, Triangle, const CudaExecution&);
template CudaExplanation explain_cuda_tsmm_inplace<std::complex<double>>(Matrix<std::complex<double>>,
                                                                         Matrix<const std::complex<double>>, Triangle,
                                                                         const CudaExecution&);

}  // namespace blockvec::kernels

#include "src/dispatch/cuda_explain.hpp"

#include <complex>
#include <sstream>

#include "src/cuda/launch.hpp"
#include "src/dispatch/cuda_problems.hpp"
#include "src/dispatch/cuda_words.hpp"

namespace blockvec::kernels {
namespace dispatch {
namespace {

template <class Configuration>
CudaExplanation explanation(const CudaChoice<Configuration>& choice, double bytes) {
  return {name_of(choice.configuration.kernel),
          words(choice.configuration),
          choice.row.empty() ? "model" : "measured " + std::string(choice.row),
          choice.prediction.seconds,
          bytes / choice.prediction.seconds * 1e-9,
          name_of(choice.prediction.bound)};
}

double words_of(std::int64_t k, std::int64_t width) { return static_cast<double>(k) * static_cast<double>(width); }

}  // namespace

CudaExplanation explain(const CudaDevice& device, const CudaTsmttsmProblem& p) {
  return explanation(choose(device, p), p.real_bytes * words_of(p.k, p.m + (p.same ? 0 : p.n)));
}

CudaExplanation explain(const CudaDevice& device, const CudaTsmmProblem& p) {
  return explanation(choose(device, p), p.real_bytes * words_of(p.k, p.m + (p.reads_output ? 2 : 1) * p.n));
}

}  // namespace dispatch

namespace {

CudaExplanation nothing() {
  CudaExplanation nothing;
  nothing.kernel = "none";
  nothing.configuration = "nothing to multiply";
  nothing.source = "model";
  nothing.bound = "latency";
  return nothing;
}

}  // namespace

std::string CudaExplanation::text() const {
  std::ostringstream line;
  line << kernel << ", " << configuration << " (" << source << "): " << seconds * 1e6 << " us, " << gbps
       << " GB/s expected, bound by " << bound;
  return line.str();
}

template <class T>
CudaExplanation explain_cuda_tsmttsm(const Matrix<const T>& a, const Matrix<const T>& b) {
  if (a.rows == 0 || a.columns == 0 || b.columns == 0) return nothing();
  Matrix<const T> left = a;
  Matrix<const T> right = b;
  dispatch::prefer_rows(left, right);
  return dispatch::explain(cuda::current_device(), dispatch::problem_of(left, right));
}

template <class T>
CudaExplanation explain_cuda_tsmm(const Matrix<const T>& a, const Matrix<const T>& b, bool reads_output) {
  if (b.rows == 0 || b.columns == 0) return nothing();
  return dispatch::explain(cuda::current_device(), dispatch::problem_of(a, b, reads_output));
}

template <class T>
CudaExplanation explain_cuda_tsmm_inplace(const Matrix<const T>& v, std::int64_t columns) {
  Matrix<const T> first = v;
  first.columns = columns;
  return explain_cuda_tsmm(v, first, false);
}

template CudaExplanation explain_cuda_tsmttsm(const Matrix<const float>&, const Matrix<const float>&);
template CudaExplanation explain_cuda_tsmm(const Matrix<const float>&, const Matrix<const float>&, bool);
template CudaExplanation explain_cuda_tsmm_inplace(const Matrix<const float>&, std::int64_t);
template CudaExplanation explain_cuda_tsmttsm(const Matrix<const double>&, const Matrix<const double>&);
template CudaExplanation explain_cuda_tsmm(const Matrix<const double>&, const Matrix<const double>&, bool);
template CudaExplanation explain_cuda_tsmm_inplace(const Matrix<const double>&, std::int64_t);
template CudaExplanation explain_cuda_tsmttsm(const Matrix<const std::complex<float>>&,
                                              const Matrix<const std::complex<float>>&);
template CudaExplanation explain_cuda_tsmm(const Matrix<const std::complex<float>>&,
                                           const Matrix<const std::complex<float>>&, bool);
template CudaExplanation explain_cuda_tsmm_inplace(const Matrix<const std::complex<float>>&, std::int64_t);
template CudaExplanation explain_cuda_tsmttsm(const Matrix<const std::complex<double>>&,
                                              const Matrix<const std::complex<double>>&);
template CudaExplanation explain_cuda_tsmm(const Matrix<const std::complex<double>>&,
                                           const Matrix<const std::complex<double>>&, bool);
template CudaExplanation explain_cuda_tsmm_inplace(const Matrix<const std::complex<double>>&, std::int64_t);

}  // namespace blockvec::kernels

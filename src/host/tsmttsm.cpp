#include "src/host/tsmttsm.hpp"

#include <blockvec/kernels/parallel.hpp>
#include <complex>

#include "src/host/results.hpp"

namespace blockvec::kernels::host {
template <class T>
void tsmttsm(Op op, T alpha, const Matrix<const T>& a, const Matrix<const T>& b, T beta, const Matrix<T>& c,
             const dispatch::TsmttsmConfiguration& configuration, int threads, real_t<T>* scratch) {
  const SumPlan& plan = configuration.plan;
  const bool by_rows = a.layout == Layout::row_major || configuration.packed;
  const std::int64_t sums = plan.levels * configuration.entries;  // where a part keeps its result
  parallel_for(threads, plan.parts, [&](std::int64_t part, int) {
    part_of_sum(op, a, b, plan, part, configuration, scratch + part * configuration.part_stride);
  });
  add_parts(scratch + sums, plan.parts, configuration.part_stride, configuration.result, threads);
  write_result(op, alpha, scratch + sums, by_rows, beta, c);
}

template void tsmttsm(Op, float, const Matrix<const float>&, const Matrix<const float>&, float, const Matrix<float>&,
                      const dispatch::TsmttsmConfiguration&, int, float*);
template void tsmttsm(Op, double, const Matrix<const double>&, const Matrix<const double>&, double,
                      const Matrix<double>&, const dispatch::TsmttsmConfiguration&, int, double*);
template void tsmttsm(Op, std::complex<float>, const Matrix<const std::complex<float>>&,
                      const Matrix<const std::complex<float>>&, std::complex<float>, const Matrix<std::complex<float>>&,
                      const dispatch::TsmttsmConfiguration&, int, float*);
template void tsmttsm(Op, std::complex<double>, const Matrix<const std::complex<double>>&,
                      const Matrix<const std::complex<double>>&, std::complex<double>,
                      const Matrix<std::complex<double>>&, const dispatch::TsmttsmConfiguration&, int, double*);

}  // namespace blockvec::kernels::host

#include "src/host/tsmm.hpp"

#include <algorithm>
#include <blockvec/kernels/parallel.hpp>
#include <complex>

#include "src/host/pack.hpp"

namespace blockvec::kernels::host {

template <class T>
void tsmm(T alpha, const Matrix<const T>& a, const Matrix<const T>& c, T beta, const Matrix<T>& b, Triangle triangle,
          const dispatch::TsmmConfiguration& configuration, real_t<T>* scratch) {
  const auto product = packed_product(alpha, a, c, beta, b, triangle, configuration, scratch);
  auto* const buffers = first_page(scratch + configuration.packed_entries);
  parallel_for(static_cast<int>(configuration.threads), configuration.items, [&](std::int64_t item, int thread) {
    const std::int64_t first = item * configuration.item_rows;
    const std::int64_t count = std::min(configuration.item_rows, b.rows - first);
    auto* const buffer = buffers + thread * configuration.buffer_entries;
    product_rows(product, b.layout, first, count, buffer);
  });
}

template void tsmm(float, const Matrix<const float>&, const Matrix<const float>&, float, const Matrix<float>&, Triangle,
                   const dispatch::TsmmConfiguration&, float*);
template void tsmm(double, const Matrix<const double>&, const Matrix<const double>&, double, const Matrix<double>&,
                   Triangle, const dispatch::TsmmConfiguration&, double*);
template void tsmm(std::complex<float>, const Matrix<const std::complex<float>>&,
                   const Matrix<const std::complex<float>>&, std::complex<float>, const Matrix<std::complex<float>>&,
                   Triangle, const dispatch::TsmmConfiguration&, float*);
template void tsmm(std::complex<double>, const Matrix<const std::complex<double>>&,
                   const Matrix<const std::complex<double>>&, std::complex<double>, const Matrix<std::complex<double>>&,
                   Triangle, const dispatch::TsmmConfiguration&, double*);

}  // namespace blockvec::kernels::host

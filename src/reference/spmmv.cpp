#include <blockvec/kernels/spmmv.hpp>
#include <complex>
#include <cstdint>

#include "src/dispatch/host/spmmv_checks.hpp"
#include "src/reference/entry.hpp"

namespace blockvec::kernels::reference {

template <class T, class Offset>
void spmmv(T alpha, const CsrMatrix<T, Offset>& a, T shift, std::type_identity_t<Matrix<const T>> x, T beta,
           std::type_identity_t<Matrix<const T>> z, Matrix<T> y) {
  dispatch::check_spmmv(dispatch::operand(a), shift != T(0), dispatch::operand("X", x), beta != T(0),
                        dispatch::operand("Z", z), dispatch::operand("Y", y));
  for (std::int64_t i = 0; i < y.rows; ++i) {
    for (std::int64_t j = 0; j < y.columns; ++j) {
      T sum(0);
      if (alpha != T(0)) {
        for (Offset at = a.row_begin[i]; at < a.row_begin[i + 1]; ++at) sum += a.value[at] * entry(x, a.column[at], j);
        if (shift != T(0)) sum -= shift * entry(x, i, j);
        sum *= alpha;
      }
      entry(y, i, j) = beta == T(0) ? sum : sum + beta * entry(z, i, j);
    }
  }
}

template <class T, class Offset>
using Function = void(T, const CsrMatrix<T, Offset>&, T, Matrix<const T>, T, Matrix<const T>, Matrix<T>);
template Function<float, std::int32_t> spmmv<float, std::int32_t>;
template Function<float, std::int64_t> spmmv<float, std::int64_t>;
template Function<double, std::int32_t> spmmv<double, std::int32_t>;
template Function<double, std::int64_t> spmmv<double, std::int64_t>;
template Function<std::complex<float>, std::int32_t> spmmv<std::complex<float>, std::int32_t>;
template Function<std::complex<float>, std::int64_t> spmmv<std::complex<float>, std::int64_t>;
template Function<std::complex<double>, std::int32_t> spmmv<std::complex<double>, std::int32_t>;
template Function<std::complex<double>, std::int64_t> spmmv<std::complex<double>, std::int64_t>;

}  // namespace blockvec::kernels::reference

#include <algorithm>
#include <blockvec/kernels/tall_skinny.hpp>
#include <complex>
#include <cstdint>
#include <vector>

#include "src/dispatch/host/checks.hpp"
#include "src/reference/entry.hpp"

namespace blockvec::kernels::reference {
namespace {

// What beta C + value means when beta = 0 must not read C.
template <class T>
void assign(T& out, T value, T beta) {
  out = beta == T(0) ? value : value + beta * out;
}

// The rows m of column n of C that count.
struct Range {
  std::int64_t begin, end;
};
Range counted_rows(Triangle triangle, std::int64_t rows, std::int64_t n) {
  switch (triangle) {
    case Triangle::upper:
      return {0, std::min(rows, n + 1)};
    case Triangle::lower:
      return {std::min(rows, n), rows};
    case Triangle::general:
      break;
  }
  return {0, rows};
}

template <class T>
T row_times_column(const Matrix<const T>& a, std::int64_t k, const Matrix<const T>& c, std::int64_t n,
                   Triangle triangle) {
  T sum(0);
  const auto [begin, end] = counted_rows(triangle, c.rows, n);
  for (std::int64_t m = begin; m < end; ++m) sum += entry(a, k, m) * entry(c, m, n);
  return sum;
}

}  // namespace

template <class T>
void tsmttsm(Op op, T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> b, T beta,
             Matrix<T> c) {
  dispatch::check_tsmttsm(a, b, c);
  for (std::int64_t m = 0; m < c.rows; ++m) {
    for (std::int64_t n = 0; n < c.columns; ++n) {
      T sum(0);
      if (alpha != T(0)) {
        for (std::int64_t k = 0; k < a.rows; ++k) {
          const T left = op == Op::conjugate_transpose ? conjugate(entry(a, k, m)) : entry(a, k, m);
          sum += left * entry(b, k, n);
        }
        sum *= alpha;
      }
      assign(entry(c, m, n), sum, beta);
    }
  }
}

template <class T>
void tsmm(T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> c, T beta,
          Matrix<T> b, Triangle triangle) {
  dispatch::check_tsmm(a, c, b);
  for (std::int64_t k = 0; k < b.rows; ++k) {
    for (std::int64_t n = 0; n < b.columns; ++n) {
      const T value = alpha == T(0) ? T(0) : alpha * row_times_column(a, k, c, n, triangle);
      assign(entry(b, k, n), value, beta);
    }
  }
}

template <class T>
void tsmm_inplace(Matrix<T> v, std::type_identity_t<Matrix<const T>> c, Triangle triangle, std::int64_t first) {
  dispatch::check_tsmm_inplace(v, c, first);
  std::vector<T> row(static_cast<std::size_t>(c.columns));
  for (std::int64_t k = 0; k < v.rows; ++k) {
    for (std::int64_t n = 0; n < c.columns; ++n) {
      row[static_cast<std::size_t>(n)] = row_times_column(Matrix<const T>(v), k, c, n, triangle);
    }
    for (std::int64_t n = 0; n < c.columns; ++n) entry(v, k, first + n) = row[static_cast<std::size_t>(n)];
  }
}

template void tsmttsm(Op, float, Matrix<const float>, Matrix<const float>, float, Matrix<float>);
template void tsmttsm(Op, double, Matrix<const double>, Matrix<const double>, double, Matrix<double>);
template void tsmttsm(Op, std::complex<float>, Matrix<const std::complex<float>>, Matrix<const std::complex<float>>,
                      std::complex<float>, Matrix<std::complex<float>>);
template void tsmttsm(Op, std::complex<double>, Matrix<const std::complex<double>>, Matrix<const std::complex<double>>,
                      std::complex<double>, Matrix<std::complex<double>>);
template void tsmm(float, Matrix<const float>, Matrix<const float>, float, Matrix<float>, Triangle);
template void tsmm(double, Matrix<const double>, Matrix<const double>, double, Matrix<double>, Triangle);
template void tsmm(std::complex<float>, Matrix<const std::complex<float>>, Matrix<const std::complex<float>>,
                   std::complex<float>, Matrix<std::complex<float>>, Triangle);
template void tsmm(std::complex<double>, Matrix<const std::complex<double>>, Matrix<const std::complex<double>>,
                   std::complex<double>, Matrix<std::complex<double>>, Triangle);
template void tsmm_inplace(Matrix<float>, Matrix<const float>, Triangle, std::int64_t);
template void tsmm_inplace(Matrix<double>, Matrix<const double>, Triangle, std::int64_t);
template void tsmm_inplace(Matrix<std::complex<float>>, Matrix<const std::complex<float>>, Triangle, std::int64_t);
template void tsmm_inplace(Matrix<std::complex<double>>, Matrix<const std::complex<double>>, Triangle, std::int64_t);

}  // namespace blockvec::kernels::reference

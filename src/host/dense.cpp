#include <blockvec/kernels/dense.hpp>
#include <complex>
#include <cstdint>
#include <tuple>
#include <vector>

#include "src/dispatch/host/dense_checks.hpp"
#include "src/host/blas.hpp"
#include "src/real.hpp"
#include "src/reference/entry.hpp"

/// Dense products by the BLAS, which takes column-major matrices: a row-major one is the transpose of such a one. Where
/// the conjugate of a matrix is wanted but not its transpose, which the BLAS has not, all else is conjugated instead.
namespace blockvec::kernels {
namespace {

using dispatch::operand;
using reference::conjugate;
using reference::entry;

template <class T>
void scale(T beta, const Matrix<T>& y) {
  for (std::int64_t i = 0; i < y.rows; ++i) {
    for (std::int64_t j = 0; j < y.columns; ++j) {
      T& value = entry(y, i, j);
      value = beta == T(0) ? T(0) : beta * value;
    }
  }
}

/// multiply(alpha, X, beta) computes Y with conjugated A: with conjugated alpha, X and beta, and Y before and after,
/// this is the product with A.
template <class T, class Multiply>
void multiply_conjugated(T alpha, const Matrix<const T>& x, T beta, const Matrix<T>& y, Multiply&& multiply) {
  const auto conjugate_all = [](const Matrix<T>& of) {
    for (std::int64_t i = 0; i < of.rows; ++i) {
      for (std::int64_t j = 0; j < of.columns; ++j) entry(of, i, j) = conjugate(entry(of, i, j));
    }
  };
  std::vector<T> memory(static_cast<std::size_t>(x.rows * x.columns));
  const bool rows = x.layout == Layout::row_major;
  const Matrix<T> copy{memory.data(), x.rows, x.columns, rows ? x.columns : x.rows, x.layout};
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.columns; ++j) entry(copy, i, j) = conjugate(T(entry(x, i, j)));
  }
  if (beta != T(0)) conjugate_all(y);
  multiply(conjugate(alpha), Matrix<const T>(copy), conjugate(beta));
  conjugate_all(y);
}

template <class T>
int ld(const Matrix<T>& a) {
  return static_cast<int>(a.ld);
}
/// The distance of entries of a single column.
template <class T>
int step(const Matrix<T>& x) {
  return x.layout == Layout::row_major ? ld(x) : 1;
}

/// Y = alpha W X + beta Y, where W is A or its transpose (`transposed`); `adjoint`: or its conjugate transpose.
template <class T>
void blas_gemm(bool transposed, bool adjoint, T alpha, const Matrix<const T>& a, const Matrix<const T>& x, T beta,
               const Matrix<T>& y) {
  const auto n = static_cast<int>(y.rows), k = static_cast<int>(x.rows), b = static_cast<int>(y.columns);
  const bool rows = y.layout == Layout::row_major;
  const bool as_it_is = (a.layout == Layout::column_major) != transposed;  // W is what the BLAS takes A for
  if (b == 1) {
    if (beta == T(0)) scale(T(0), y);
    const int m = as_it_is ? n : k, columns = as_it_is ? k : n;
    const char op = as_it_is ? 'N' : adjoint ? 'C' : 'T';
    return host::blas::gemv(op, m, columns, alpha, a.data, ld(a), x.data, step(x), beta, y.data, step(y));
  }
  if (!rows) {
    const char op = as_it_is ? 'N' : adjoint ? 'C' : 'T';
    return host::blas::gemm(op, 'N', n, b, k, alpha, a.data, ld(a), x.data, ld(x), beta, y.data, ld(y));
  }
  const char op = !as_it_is ? 'N' : adjoint ? 'C' : 'T';
  host::blas::gemm('N', op, b, n, k, alpha, x.data, ld(x), a.data, ld(a), beta, y.data, ld(y));
}

template <class T>
void run_gemm(bool transposed, bool adjoint, T alpha, const Matrix<const T>& a, const Matrix<const T>& x, T beta,
              const Matrix<T>& y) {
  const dispatch::Operand of_a = operand("A", a), of_x = operand("X", x), of_y = operand("Y", y);
  dispatch::check_gemm(of_a, transposed, of_x, of_y);
  dispatch::check_blas_extents("gemm", {of_a, of_x, of_y});
  if (y.rows == 0 || y.columns == 0) return;
  if (alpha == T(0) || x.rows == 0) return scale(beta, y);
  // The adjoint of a matrix that the BLAS must not transpose: its conjugate.
  const bool untransposed = (a.layout == Layout::row_major) == (y.layout == Layout::column_major || y.columns == 1);
  if (adjoint && real_parts<T> == 2 && untransposed) {
    return multiply_conjugated(alpha, x, beta, y, [&](T by, const Matrix<const T>& conjugated, T and_by) {
      blas_gemm(transposed, false, by, a, conjugated, and_by, y);
    });
  }
  blas_gemm(transposed, adjoint, alpha, a, x, beta, y);
}

/// Y = alpha V X + beta Y, or with the conjugate of V where Y is row-major: V is what the BLAS takes A for.
template <class T>
void blas_hemm(char uplo, T alpha, const Matrix<const T>& a, const Matrix<const T>& x, T beta, const Matrix<T>& y) {
  const auto n = static_cast<int>(y.rows), b = static_cast<int>(y.columns);
  if (b == 1) {
    if (beta == T(0)) scale(T(0), y);
    return host::blas::hemv(uplo, n, alpha, a.data, ld(a), x.data, step(x), beta, y.data, step(y));
  }
  if (y.layout == Layout::column_major) {
    return host::blas::hemm('L', uplo, n, b, alpha, a.data, ld(a), x.data, ld(x), beta, y.data, ld(y));
  }
  host::blas::hemm('R', uplo, b, n, alpha, a.data, ld(a), x.data, ld(x), beta, y.data, ld(y));
}

}  // namespace

template <class T>
void gemm(T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> x, T beta,
          Matrix<T> y) {
  run_gemm(false, false, alpha, a, x, beta, y);
}

template <class T>
void gemm(Op op, T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> x, T beta,
          Matrix<T> y) {
  run_gemm(true, op == Op::conjugate_transpose, alpha, a, x, beta, y);
}

template <class T>
void hemm(Triangle triangle, T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> x,
          T beta, Matrix<T> y) {
  const dispatch::Operand of_a = operand("A", a), of_x = operand("X", x), of_y = operand("Y", y);
  dispatch::check_hemm(of_a, triangle, of_x, of_y);
  dispatch::check_blas_extents("hemm", {of_a, of_x, of_y});
  if (y.rows == 0 || y.columns == 0) return;
  if (alpha == T(0)) return scale(beta, y);
  const bool rows = a.layout == Layout::row_major;
  const char uplo = (triangle == Triangle::upper) != rows ? 'U' : 'L';
  // The BLAS takes A for its conjugate where A is row-major, and multiplies by the conjugate where Y is.
  const bool conjugated = rows != (y.layout == Layout::row_major && y.columns > 1);
  if (real_parts<T> == 2 && conjugated) {
    return multiply_conjugated(
        alpha, x, beta, y, [&](T by, const Matrix<const T>& of, T and_by) { blas_hemm(uplo, by, a, of, and_by, y); });
  }
  blas_hemm(uplo, alpha, a, x, beta, y);
}

/// Instantiates the functions, as in tall_skinny.cpp.
template <class T>
struct DenseOnHost {
  static constexpr std::tuple<void (*)(T, Matrix<const T>, Matrix<const T>, T, Matrix<T>),
                              void (*)(Op, T, Matrix<const T>, Matrix<const T>, T, Matrix<T>),
                              void (*)(Triangle, T, Matrix<const T>, Matrix<const T>, T, Matrix<T>)>
      functions{&gemm<T>, &gemm<T>, &hemm<T>};
};
template struct DenseOnHost<float>;
template struct DenseOnHost<double>;
template struct DenseOnHost<std::complex<float>>;
template struct DenseOnHost<std::complex<double>>;

}  // namespace blockvec::kernels

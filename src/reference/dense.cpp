#include <blockvec/kernels/dense.hpp>
#include <blockvec/kernels/packed.hpp>
#include <complex>
#include <cstdint>
#include <tuple>

#include "src/dispatch/host/dense_checks.hpp"
#include "src/reference/entry.hpp"

namespace blockvec::kernels::reference {
namespace {

/// Y = alpha sum over k of entry_of_a(i, k) X(k, j) + beta Y
template <class T, class EntryOfA>
void multiply(T alpha, EntryOfA&& entry_of_a, const Matrix<const T>& x, T beta, const Matrix<T>& y) {
  for (std::int64_t i = 0; i < y.rows; ++i) {
    for (std::int64_t j = 0; j < y.columns; ++j) {
      T sum(0);
      if (alpha != T(0)) {
        for (std::int64_t k = 0; k < x.rows; ++k) sum += entry_of_a(i, k) * entry(x, k, j);
        sum *= alpha;
      }
      entry(y, i, j) = beta == T(0) ? sum : sum + beta * entry(y, i, j);
    }
  }
}

}  // namespace

template <class T>
void gemm(T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> x, T beta,
          Matrix<T> y) {
  dispatch::check_gemm(dispatch::operand("A", a), false, dispatch::operand("X", x), dispatch::operand("Y", y));
  multiply(
      alpha, [&](std::int64_t i, std::int64_t k) { return entry(a, i, k); }, x, beta, y);
}

template <class T>
void gemm(Op op, T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> x, T beta,
          Matrix<T> y) {
  dispatch::check_gemm(dispatch::operand("A", a), true, dispatch::operand("X", x), dispatch::operand("Y", y));
  const auto entry_of_a = [&](std::int64_t i, std::int64_t k) {
    const T value = entry(a, k, i);
    return op == Op::conjugate_transpose ? conjugate(value) : value;
  };
  multiply(alpha, entry_of_a, x, beta, y);
}

template <class T>
void hemm(Triangle triangle, T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> x,
          T beta, Matrix<T> y) {
  dispatch::check_hemm(dispatch::operand("A", a), triangle, dispatch::operand("X", x), dispatch::operand("Y", y));
  const auto entry_of_a = [&](std::int64_t i, std::int64_t k) {
    if (i == k) return T(std::real(entry(a, i, i)));
    return (triangle == Triangle::lower) == (i > k) ? entry(a, i, k) : conjugate(T(entry(a, k, i)));
  };
  multiply(alpha, entry_of_a, x, beta, y);
}

template <class T>
void hemm(T alpha, std::type_identity_t<PackedHermitian<const T>> a, std::type_identity_t<Matrix<const T>> x, T beta,
          Matrix<T> y) {
  const auto panels = dispatch::operand("packed A", dispatch::panels("hemm", a));
  dispatch::check_packed_hemm(a.n, panels, dispatch::operand("X", x), dispatch::operand("Y", y));
  const auto stored = [&](std::int64_t i, std::int64_t k) { return a.data[packed_place<T>(a.n, i, k)]; };
  const auto entry_of_a = [&](std::int64_t i, std::int64_t k) {
    if (i == k) return T(std::real(stored(i, i)));
    return i > k ? stored(i, k) : conjugate(stored(k, i));
  };
  multiply(alpha, entry_of_a, x, beta, y);
}

/// Instantiates the functions, as in tall_skinny.cpp.
template <class T>
struct DenseReference {
  static constexpr std::tuple<void (*)(T, Matrix<const T>, Matrix<const T>, T, Matrix<T>),
                              void (*)(Op, T, Matrix<const T>, Matrix<const T>, T, Matrix<T>),
                              void (*)(Triangle, T, Matrix<const T>, Matrix<const T>, T, Matrix<T>),
                              void (*)(T, PackedHermitian<const T>, Matrix<const T>, T, Matrix<T>)>
      functions{&gemm<T>, &gemm<T>, &hemm<T>, &hemm<T>};
};
template struct DenseReference<float>;
template struct DenseReference<double>;
template struct DenseReference<std::complex<float>>;
template struct DenseReference<std::complex<double>>;

}  // namespace blockvec::kernels::reference

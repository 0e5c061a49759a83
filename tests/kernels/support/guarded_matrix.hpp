#pragma once

#include <algorithm>
#include <blockvec/kernels/matrix.hpp>
#include <blockvec/kernels/tall_skinny.hpp>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

/// Matrices in the middle of memory that must not be touched, and the error bounds that results are held against.
namespace blockvec::kernels::test {

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
using real_of = typename RealOf<T>::type;
template <class T>
inline constexpr bool is_complex = !std::is_same_v<T, real_of<T>>;
/// The same scalars in double precision.
template <class T>
using wide_of = std::conditional_t<is_complex<T>, std::complex<double>, double>;

inline constexpr Layout layouts[] = {Layout::row_major, Layout::column_major};
inline constexpr Op ops[] = {Op::transpose, Op::conjugate_transpose};
inline constexpr Triangle triangles[] = {Triangle::general, Triangle::upper, Triangle::lower};

template <class T>
T value(double re, double im) {
  if constexpr (is_complex<T>) {
    return {static_cast<real_of<T>>(re), static_cast<real_of<T>>(im)};
  } else {
    return static_cast<T>(re);
  }
}

template <class T>
bool same_bits(const T& x, const T& y) {
  return std::memcmp(&x, &y, sizeof(T)) == 0;
}

template <class T>
bool is_nan(const T& x) {
  return x != x;
}

/// A matrix with `pad` entries between its runs and `offset` ones before it, and `shift` real numbers more, all of
/// which hold `guard`.
template <class T>
class GuardedMatrix {
 public:
  GuardedMatrix(std::int64_t rows, std::int64_t columns, Layout layout, std::int64_t pad, std::int64_t offset, T guard,
                int shift = 0)
      : guard_(guard) {
    const std::int64_t minor = layout == Layout::row_major ? columns : rows;
    const std::int64_t major = layout == Layout::row_major ? rows : columns;
    memory_.assign(static_cast<std::size_t>(offset + major * (minor + pad) + 64), guard);
    view_ = {place(offset * static_cast<std::int64_t>(sizeof(T)) + shift * static_cast<std::int64_t>(sizeof(Real))),
             rows, columns, minor + pad, layout};
  }

  GuardedMatrix(const GuardedMatrix& other) : memory_(other.memory_), guard_(other.guard_), view_(other.view_) {
    view_.data = place(other.byte_offset());
  }

  GuardedMatrix& operator=(const GuardedMatrix&) = delete;

  const Matrix<T>& view() const { return view_; }

  /// All of its memory, guards included, and where in it the matrix starts.
  std::vector<T>& memory() { return memory_; }
  const std::vector<T>& memory() const { return memory_; }
  std::int64_t byte_offset() const {
    return reinterpret_cast<const std::byte*>(view_.data) - reinterpret_cast<const std::byte*>(memory_.data());
  }

  T& operator()(std::int64_t i, std::int64_t j) const {
    return view_.layout == Layout::row_major ? view_.data[i * view_.ld + j] : view_.data[i + j * view_.ld];
  }

  template <class Random>
  void fill(Random& random) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (std::int64_t i = 0; i < view_.rows; ++i) {
      for (std::int64_t j = 0; j < view_.columns; ++j) (*this)(i, j) = value<T>(uniform(random), uniform(random));
    }
  }

  void fill_with(T x) {
    for (std::int64_t i = 0; i < view_.rows; ++i) {
      for (std::int64_t j = 0; j < view_.columns; ++j) (*this)(i, j) = x;
    }
  }

  /// Whether every number of memory outside the matrix still holds the guard's.
  bool guards_hold() const {
    const std::size_t parts = sizeof(T) / sizeof(Real);
    const auto* const numbers = reinterpret_cast<const Real*>(memory_.data());
    const auto* const guard = reinterpret_cast<const Real*>(&guard_);
    std::vector<bool> inside(parts * memory_.size(), false);
    for (std::int64_t i = 0; i < view_.rows; ++i) {
      for (std::int64_t j = 0; j < view_.columns; ++j) {
        const auto at = static_cast<std::size_t>(reinterpret_cast<const Real*>(&(*this)(i, j)) - numbers);
        for (std::size_t part = 0; part < parts; ++part) inside[at + part] = true;
      }
    }
    for (std::size_t i = 0; i < inside.size(); ++i) {
      if (!inside[i] && !same_bits(numbers[i], guard[i % parts])) return false;
    }
    return true;
  }

  bool same_bits_as(const GuardedMatrix& other) const {
    for (std::int64_t i = 0; i < view_.rows; ++i) {
      for (std::int64_t j = 0; j < view_.columns; ++j) {
        if (!same_bits((*this)(i, j), other(i, j))) return false;
      }
    }
    return true;
  }

 private:
  using Real = real_of<T>;

  T* place(std::int64_t byte) { return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(memory_.data()) + byte); }

  std::vector<T> memory_;
  T guard_;
  Matrix<T> view_;
};

/// The same in double precision, without gaps.
template <class T>
GuardedMatrix<wide_of<T>> widened(const GuardedMatrix<T>& a, Layout layout) {
  const Matrix<T>& view = a.view();
  GuardedMatrix<wide_of<T>> wide(view.rows, view.columns, layout, 0, 0, wide_of<T>(0));
  for (std::int64_t i = 0; i < view.rows; ++i) {
    for (std::int64_t j = 0; j < view.columns; ++j) wide(i, j) = wide_of<T>(a(i, j));
  }
  return wide;
}

/// A guard for inputs: whoever reads it shows it.
template <class T>
T poison() {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return value<T>(nan, nan);
}

/// A guard for outputs.
template <class T>
T mark() {
  return value<T>(12345, -54321);
}

/// n u / (1 - n u), and for complex numbers 2 sqrt(2) times as much.
template <class T>
double gamma(std::int64_t n) {
  const double nu = static_cast<double>(n) * std::numeric_limits<real_of<T>>::epsilon() / 2;
  return (is_complex<T> ? 2 * std::sqrt(2.0) : 1.0) * nu / (1 - nu);
}

/// |C|, row by row.
template <class T>
std::vector<double> absolute_values(const GuardedMatrix<T>& c) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < c.view().rows; ++i) {
    for (std::int64_t j = 0; j < c.view().columns; ++j) values.push_back(std::abs(c(i, j)));
  }
  return values;
}

/// sums = |row k of A| times |C|, which absolute_values made.
template <class T>
void absolute_row(const GuardedMatrix<T>& a, std::int64_t k, const std::vector<double>& c, std::vector<double>& sums) {
  std::fill(sums.begin(), sums.end(), 0.0);
  const double* right = c.data();
  for (std::int64_t i = 0; i < a.view().columns; ++i) {
    const double left = std::abs(a(k, i));
    for (double& sum : sums) sum += left * *right++;
  }
}

/// |A|^T |B|, row by row.
template <class T>
std::vector<double> absolute_product(const GuardedMatrix<T>& a, const GuardedMatrix<T>& b) {
  const std::int64_t m = a.view().columns;
  const std::int64_t n = b.view().columns;
  std::vector<double> sums(static_cast<std::size_t>(m * n));
  std::vector<double> right(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k < a.view().rows; ++k) {
    for (std::int64_t j = 0; j < n; ++j) right[static_cast<std::size_t>(j)] = std::abs(b(k, j));
    double* sum = sums.data();
    for (std::int64_t i = 0; i < m; ++i) {
      const double left = std::abs(a(k, i));
      for (const double x : right) *sum++ += left * x;
    }
  }
  return sums;
}

}  // namespace blockvec::kernels::test

#pragma once

#include <Kokkos_Core.hpp>
#include <blockvec/kernels/error.hpp>
#include <blockvec/scalar.hpp>
#include <blockvec/small_matrix.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

/// What the host implementation of the dense operations shares.
namespace blockvec::orth::dense {

KOKKOS_INLINE_FUNCTION float square(float x) { return x * x; }
KOKKOS_INLINE_FUNCTION double square(double x) { return x * x; }
template <class Real>
KOKKOS_INLINE_FUNCTION Real square(const Complex<Real>& x) {
  return x.real() * x.real() + x.imag() * x.imag();
}

KOKKOS_INLINE_FUNCTION float magnitude(float x) { return std::abs(x); }
KOKKOS_INLINE_FUNCTION double magnitude(double x) { return std::abs(x); }
template <class Real>
KOKKOS_INLINE_FUNCTION Real magnitude(const Complex<Real>& x) {
  // Not std::hypot, which may choose its instructions by the processor.
  const Real re = std::abs(x.real()), im = std::abs(x.imag());
  const Real large = re > im ? re : im, small = re > im ? im : re;
  if (!(small > 0)) return large + small;  // NaN as well
  const Real quotient = small / large;
  return large * std::sqrt(1 + quotient * quotient);
}

inline bool finite(float x) { return std::isfinite(x); }
inline bool finite(double x) { return std::isfinite(x); }
template <class Real>
bool finite(const Complex<Real>& x) {
  return std::isfinite(x.real()) && std::isfinite(x.imag());
}

/// Entry (i, j) by plain indices.
template <class Scalar, class Space>
Scalar& at(const SmallMatrix<Scalar, Space>& a, std::int64_t i, std::int64_t j) {
  return a.data()[i + j * a.ld()];
}

template <class Small>
std::string shape(const Small& a) {
  return std::to_string(a.rows()) + " x " + std::to_string(a.columns());
}

template <class Small>
void require_shape(const char* operation, const char* name, const Small& a, std::int64_t rows, std::int64_t columns) {
  if (a.rows() != rows || a.columns() != columns) {
    throw ShapeError(std::string("dense::") + operation + ": " + name + " is " + shape(a) + ", expected " +
                     std::to_string(rows) + " x " + std::to_string(columns));
  }
}

template <class Small>
void require_square(const char* operation, const char* name, const Small& a) {
  if (a.rows() != a.columns()) {
    throw ShapeError(std::string("dense::") + operation + ": " + name + " is " + shape(a) +
                     ", expected a square matrix");
  }
}

/// A work array of this thread that grows and is kept; one purpose a Tag, so that two never meet.
template <class T, class Tag>
T* work_array(std::int64_t count) {
  thread_local std::vector<T> storage;
  if (static_cast<std::int64_t>(storage.size()) < count) storage.resize(static_cast<std::size_t>(count));
  return storage.data();
}

}  // namespace blockvec::orth::dense

#pragma once

#include <complex>

namespace blockvec::kernels {

/// The real type under a scalar type, and how many of it make one.
template <class T>
struct Real {
  using type = T;
  static constexpr int parts = 1;
};
template <class T>
struct Real<std::complex<T>> {
  using type = T;
  static constexpr int parts = 2;
};
template <class T>
struct Real<const T> : Real<T> {};
template <class T>
using real_t = typename Real<T>::type;
template <class T>
inline constexpr int real_parts = Real<T>::parts;

}  // namespace blockvec::kernels

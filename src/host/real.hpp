#pragma once

#include <complex>

namespace blockvec::kernels::host {

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
using real_t = typename Real<T>::type;
template <class T>
inline constexpr int real_parts = Real<T>::parts;
template <class T>
inline constexpr bool is_complex = real_parts<T> == 2;

/// Arrays of complex numbers are arrays of pairs of real ones.
template <class T>
const real_t<T>* real_view(const T* p) {
  return reinterpret_cast<const real_t<T>*>(p);
}
template <class T>
real_t<T>* real_view(T* p) {
  return reinterpret_cast<real_t<T>*>(p);
}

template <class T>
real_t<T> real_part(T x) {
  if constexpr (is_complex<T>) {
    return x.real();
  } else {
    return x;
  }
}
template <class T>
real_t<T> imaginary_part(T x) {
  if constexpr (is_complex<T>) {
    return x.imag();
  } else {
    return 0;
  }
}

}  // namespace blockvec::kernels::host

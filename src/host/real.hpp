#pragma once

#include "src/real.hpp"

namespace blockvec::kernels::host {

using kernels::real_parts;
using kernels::real_t;

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

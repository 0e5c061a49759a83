#pragma once

#include <blockvec/kernels/matrix.hpp>
#include <complex>
#include <cstdint>

namespace blockvec::kernels::reference {

template <class T>
T& entry(const Matrix<T>& a, std::int64_t i, std::int64_t j) {
  return a.layout == Layout::row_major ? a.data[i * a.ld + j] : a.data[i + j * a.ld];
}

template <class T>
T conjugate(T x) {
  return x;
}

template <class T>
std::complex<T> conjugate(std::complex<T> x) {
  return std::conj(x);
}

}  // namespace blockvec::kernels::reference

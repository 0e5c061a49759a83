#pragma once

#include <Kokkos_Complex.hpp>
#include <Kokkos_Core.hpp>
#include <blockvec/kernels/matrix.hpp>
#include <complex>
#include <limits>
#include <string_view>
#include <type_traits>

/// @file
/// The scalar types of block vectors: float, double, Complex<float>, Complex<double>.
namespace blockvec {

/// Complex numbers with real and imaginary part of type Real, as host and device know them.
template <class Real>
using Complex = Kokkos::complex<Real>;

/// What belongs to a scalar type: its real type, and the type by which BlockVec::kernels knows it.
template <class Scalar>
struct ScalarTraits {
  using Real = Scalar;                       ///< of absolute values and norms
  using Kernel = Scalar;                     ///< the type by which BlockVec::kernels knows it
  static constexpr bool is_complex = false;  ///< whether it has an imaginary part
};

/// The same for complex numbers.
template <class T>
struct ScalarTraits<Complex<T>> {
  using Real = T;                           ///< of absolute values and norms
  using Kernel = std::complex<T>;           ///< the type by which BlockVec::kernels knows it
  static constexpr bool is_complex = true;  ///< whether it has an imaginary part
};

/// Whether block vectors can hold it.
template <class Scalar>
inline constexpr bool is_block_scalar =
    std::is_same_v<Scalar, float> || std::is_same_v<Scalar, double> || std::is_same_v<Scalar, Complex<float>> ||
    std::is_same_v<Scalar, Complex<double>>;

/// The type of absolute values and norms: float or double.
template <class Scalar>
using RealOf = typename ScalarTraits<Scalar>::Real;

/// The distance from 1 to the next number: twice the unit roundoff of rounding to nearest.
template <class Scalar>
inline constexpr RealOf<Scalar> epsilon = std::numeric_limits<RealOf<Scalar>>::epsilon();

/// The real part of a number.
template <class Scalar>
requires is_block_scalar<Scalar> KOKKOS_INLINE_FUNCTION RealOf<Scalar> real_part(const Scalar& x) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return x.real();
  } else {
    return x;
  }
}

/// The complex conjugate of a number; a real number itself.
template <class Scalar>
requires is_block_scalar<Scalar> KOKKOS_INLINE_FUNCTION Scalar conjugate(const Scalar& x) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return Scalar(x.real(), -x.imag());
  } else {
    return x;
  }
}

/// "float", "double", "complex<float>" or "complex<double>".
template <class Scalar>
constexpr std::string_view scalar_name() {
  using Real = RealOf<Scalar>;
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return std::is_same_v<Real, float> ? "complex<float>" : "complex<double>";
  } else {
    return std::is_same_v<Real, float> ? "float" : "double";
  }
}

}  // namespace blockvec

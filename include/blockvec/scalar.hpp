#pragma once

#include <Kokkos_Complex.hpp>
#include <Kokkos_Core.hpp>
#include <blockvec/kernels/matrix.hpp>
#include <complex>
#include <limits>
#include <string_view>
#include <type_traits>

/// The scalar types of block vectors: float, double, Complex<float>, Complex<double>.
namespace blockvec {

template <class Real>
using Complex = Kokkos::complex<Real>;

template <class Scalar>
struct ScalarTraits {
  using Real = Scalar;
  using Kernel = Scalar;  ///< the type by which BlockVec::kernels knows it
  static constexpr bool is_complex = false;
};

template <class T>
struct ScalarTraits<Complex<T>> {
  using Real = T;
  using Kernel = std::complex<T>;
  static constexpr bool is_complex = true;
};

/// Whether block vectors can hold it.
template <class Scalar>
inline constexpr bool is_block_scalar =
    std::is_same_v<Scalar, float> || std::is_same_v<Scalar, double> || std::is_same_v<Scalar, Complex<float>> ||
    std::is_same_v<Scalar, Complex<double>>;

template <class Scalar>
using RealOf = typename ScalarTraits<Scalar>::Real;

/// The distance from 1 to the next number: twice the unit roundoff of rounding to nearest.
template <class Scalar>
inline constexpr RealOf<Scalar> epsilon = std::numeric_limits<RealOf<Scalar>>::epsilon();

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

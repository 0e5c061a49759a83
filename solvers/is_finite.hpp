#pragma once

#include <blockvec/scalar.hpp>
#include <cmath>

namespace blockvec::solvers {

template <class Scalar>
bool is_finite(Scalar value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return std::isfinite(value.real()) && std::isfinite(value.imag());
  } else {
    return std::isfinite(value);
  }
}

}  // namespace blockvec::solvers

#pragma once

#include <blockvec/scalar.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

namespace blockvec::solvers {

template <class Scalar>
bool is_finite(Scalar value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return std::isfinite(value.real()) && std::isfinite(value.imag());
  } else {
    return std::isfinite(value);
  }
}

/// Whether all numbers are finite. The loop has no branch for a number, so that processors look at several at once.
template <class Scalar>
bool all_finite(const Scalar* values, std::int64_t count) {
  using Real = typename ScalarTraits<Scalar>::Real;
  const auto* const numbers = reinterpret_cast<const Real*>(values);
  constexpr int parts = ScalarTraits<Scalar>::is_complex ? 2 : 1;
  bool all = true;
  for (std::int64_t i = 0; i < parts * count; ++i) all &= std::abs(numbers[i]) <= std::numeric_limits<Real>::max();
  return all;
}

}  // namespace blockvec::solvers

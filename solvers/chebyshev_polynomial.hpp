#pragma once

#include <bit>

namespace blockvec::solvers {

/// T_degree(t), the Chebyshev polynomial, for any t. Here and where degrees are chosen, multiplications and additions
/// are all there is, so that ranks on different processors get the same bits: libraries choose their cosh by the
/// processor.
template <class Real>
Real chebyshev(int degree, Real t) {
  Real even = 1, odd = t;  // T_k and T_(k+1), k being the leading bits of the degree
  for (unsigned bit = std::bit_floor(static_cast<unsigned>(degree)); bit != 0; bit >>= 1) {
    const Real between = 2 * even * odd - t;
    if ((static_cast<unsigned>(degree) & bit) != 0) {
      even = between;
      odd = 2 * odd * odd - 1;
    } else {
      odd = between;
      even = 2 * even * even - 1;
    }
  }
  return even;
}

/// The t >= 1 at which T_degree takes a value >= 1, by bisection: T_degree is convex there, and its slope at 1 is the
/// square of the degree.
template <class Real>
Real chebyshev_inverse(int degree, Real value) {
  Real low = 1, high = 1 + (value - 1) / (static_cast<Real>(degree) * static_cast<Real>(degree));
  for (Real middle = low + (high - low) / 2; low < middle && middle < high; middle = low + (high - low) / 2) {
    (chebyshev(degree, middle) < value ? low : high) = middle;
  }
  return high;
}

}  // namespace blockvec::solvers

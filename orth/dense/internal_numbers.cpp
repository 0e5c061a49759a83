#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "blockvec/instantiate.hpp"
#include "orth/dense/host_dense.hpp"
#include "orth/dense/internal.hpp"

// The numbers that decisions are made of.
namespace blockvec::orth::dense {

template <class Scalar>
Scalar entry(const SmallMatrix<Scalar>& a, std::int64_t row, std::int64_t column) {
  if (row < 0 || row >= a.rows() || column < 0 || column >= a.columns()) {
    throw ShapeError("dense::entry: (" + std::to_string(row) + ", " + std::to_string(column) + ") of a " + shape(a) +
                     " matrix");
  }
  return at(a, row, column);
}

template <class Scalar>
RealOf<Scalar> real_entry(const SmallMatrix<Scalar>& a, std::int64_t row, std::int64_t column) {
  return real_part(entry(a, row, column));
}

template <class Scalar>
std::int64_t first_non_finite_column(const SmallMatrix<Scalar>& a) {
  for (std::int64_t j = 0; j < a.columns(); ++j) {
    for (std::int64_t i = 0; i < a.rows(); ++i) {
      if (!finite(at(a, i, j))) return j;
    }
  }
  return -1;
}

template <class Scalar>
void diagonal(const SmallMatrix<Scalar>& a, const SmallMatrix<RealOf<Scalar>>& squares) {
  require_square("diagonal", "A", a);
  require_shape("diagonal", "squares", squares, 1, a.columns());
  for (std::int64_t j = 0; j < a.columns(); ++j) at(squares, 0, j) = real_part(at(a, j, j));
}

template <class Real>
bool within(const SmallMatrix<Real>& squares, Real low, Real high) {
  for (std::int64_t j = 0; j < squares.columns(); ++j) {
    if (!(at(squares, 0, j) >= low && at(squares, 0, j) <= high)) return false;
  }
  return true;
}

template <class Real>
Real smallest_share(const SmallMatrix<Real>& whole, const SmallMatrix<Real>& part) {
  require_shape("smallest_share", "part", part, 1, whole.columns());
  Real share = 1;
  for (std::int64_t j = 0; j < whole.columns(); ++j) {
    if (at(whole, 0, j) > 0) share = std::min(share, 1 - at(part, 0, j) / at(whole, 0, j));
  }
  return share;
}

template <class Real>
Real smallest_quotient(const SmallMatrix<Real>& part, const SmallMatrix<Real>& whole) {
  require_shape("smallest_quotient", "whole", whole, 1, part.columns());
  Real least = std::numeric_limits<Real>::infinity();
  for (std::int64_t j = 0; j < part.columns(); ++j) {
    if (!(at(whole, 0, j) > 0)) continue;
    const Real quotient = at(part, 0, j) / at(whole, 0, j);
    if (std::isnan(quotient)) return quotient;
    least = std::min(least, quotient);
  }
  return least;
}

template <class Real>
Real sum_of_shares(const SmallMatrix<Real>& whole, const SmallMatrix<Real>& part) {
  require_shape("sum_of_shares", "part", part, 1, whole.columns());
  Real sum = 0;
  for (std::int64_t j = 0; j < whole.columns(); ++j) {
    if (at(whole, 0, j) > 0) sum += at(part, 0, j) / at(whole, 0, j);
  }
  return sum;
}

template <class Scalar>
void divide_by_rows(const SmallMatrix<RealOf<Scalar>>& squares, const SmallMatrix<Scalar>& r,
                    const SmallMatrix<RealOf<Scalar>>& quotients) {
  using Real = RealOf<Scalar>;
  require_square("divide_by_rows", "R", r);
  require_shape("divide_by_rows", "squares", squares, 1, r.columns());
  require_shape("divide_by_rows", "quotients", quotients, 1, r.columns());
  for (std::int64_t j = 0; j < r.columns(); ++j) {
    Real smallest = 0;
    for (std::int64_t i = 0; i < r.columns(); ++i) {
      const Real size = magnitude(at(r, j, i));
      if (!(size > 0) || !(at(squares, 0, i) > 0)) continue;
      const Real quotient = at(squares, 0, i) / size / size;
      if (!(smallest > 0) || quotient < smallest) smallest = quotient;
    }
    at(quotients, 0, j) = smallest;
  }
}

template <class Real>
void power_of_two_scales(const SmallMatrix<Real>& norms, const SmallMatrix<Real>& factors) {
  require_shape("power_of_two_scales", "norms", norms, 3, factors.columns());
  require_shape("power_of_two_scales", "factors", factors, 1, norms.columns());
  using Safe = SafeNorms<Real>;
  for (std::int64_t j = 0; j < norms.columns(); ++j) {
    const Real down = at(norms, 0, j), plain = at(norms, 1, j), up = at(norms, 2, j);
    int exponent = 0;
    if (down >= std::ldexp(Real(1), Safe::down + Safe::limit)) {
      exponent = std::ilogb(down) - Safe::down;
    } else if (plain >= std::ldexp(Real(1), -Safe::limit)) {
      exponent = std::ilogb(plain);
    } else if (up > 0) {
      exponent = std::ilogb(up) - Safe::up;
    }
    using Limits = std::numeric_limits<Real>;  // the factor and its inverse are both normal numbers
    at(factors, 0, j) = std::ldexp(Real(1), std::clamp(-exponent, Limits::min_exponent + 1, Limits::max_exponent - 2));
  }
}

template <class Real>
void reciprocals(const SmallMatrix<Real>& a) {
  for (std::int64_t j = 0; j < a.columns(); ++j) {
    for (std::int64_t i = 0; i < a.rows(); ++i) at(a, i, j) = 1 / at(a, i, j);
  }
}

#define BLOCKVEC_DENSE_NUMBERS(Scalar)                                                         \
  template Scalar entry(const SmallMatrix<Scalar>&, std::int64_t, std::int64_t);               \
  template RealOf<Scalar> real_entry(const SmallMatrix<Scalar>&, std::int64_t, std::int64_t);  \
  template std::int64_t first_non_finite_column(const SmallMatrix<Scalar>&);                   \
  template void diagonal(const SmallMatrix<Scalar>&, const SmallMatrix<RealOf<Scalar>>&);      \
  template void divide_by_rows(const SmallMatrix<RealOf<Scalar>>&, const SmallMatrix<Scalar>&, \
                               const SmallMatrix<RealOf<Scalar>>&);
BLOCKVEC_FOR_SCALARS(BLOCKVEC_DENSE_NUMBERS)

#define BLOCKVEC_DENSE_REAL_NUMBERS(Real)                                                \
  template bool within(const SmallMatrix<Real>&, Real, Real);                            \
  template Real smallest_share(const SmallMatrix<Real>&, const SmallMatrix<Real>&);      \
  template Real smallest_quotient(const SmallMatrix<Real>&, const SmallMatrix<Real>&);   \
  template Real sum_of_shares(const SmallMatrix<Real>&, const SmallMatrix<Real>&);       \
  template void power_of_two_scales(const SmallMatrix<Real>&, const SmallMatrix<Real>&); \
  template void reciprocals(const SmallMatrix<Real>&);
BLOCKVEC_DENSE_REAL_NUMBERS(float)
BLOCKVEC_DENSE_REAL_NUMBERS(double)

}  // namespace blockvec::orth::dense

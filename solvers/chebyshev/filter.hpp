#pragma once

#include <blockvec/blockvec.hpp>
#include <blockvec/solvers/operator.hpp>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "solvers/chebyshev/damped_interval.hpp"

namespace blockvec::solvers {

/// Adds nothing to the terms of a recurrence.
struct NoSource {
  template <class Real, class Vector>
  void operator()(int, Real, const Vector&) const {}
};

/// V_j <- T_d(t(sign A)) v_j / T_d(t(lowest)) for the degree d = degrees[j] >= 1 of each column, degrees descending.
/// `work` has V's shape; with `is_begun` it holds T_1 V / T_1(t(lowest)) already. Applies A to the columns whose degree
/// has not been reached, so to sum(degrees) in all, in degrees[0] products: each of them takes the place of the term
/// before the last. Coefficients are rounded to A's precision. source(k, ratio, term) may add to the new term of degree
/// k + 1; the ratio is that of T_k to T_(k+1) at the lowest eigenvalue. Returns the columns that A was applied to.
template <class Vector, class Real, class Source = NoSource>
std::int64_t chebyshev_filter(const AnyOperator<Vector>& a, std::type_identity_t<Real> sign,
                              const DampedInterval<Real>& interval, std::span<const int> degrees, const Vector& v,
                              const Vector& work, bool is_begun, const Source& source = {}) {
  using Scalar = typename Vector::Scalar;
  const auto rounded = [](Real x) { return Scalar(static_cast<RealOf<Scalar>>(x)); };
  // t(sign A) = -sign / half_width (A - sign centre).
  const Scalar shift = rounded(sign * interval.centre());
  const Real factor = -sign / interval.half_width();
  const Real t = interval.place(interval.lowest);
  auto width = std::ssize(degrees);
  std::int64_t applications = 0;
  Real ratio = 1 / t;  // of T_(k-1) to T_k at the lowest eigenvalue
  if (!is_begun) {
    a.apply(rounded(factor * ratio), shift, v, Scalar(0), work);
    applications += width;
  }
  Vector previous = v, current = work;
  for (int k = 1;; ++k) {
    const auto before = width;
    while (width > 0 && degrees[static_cast<std::size_t>(width - 1)] == k) --width;
    if (k % 2 == 1 && width < before) copy(work.columns(width, before), v.columns(width, before));
    if (width == 0) return applications;
    const Real next = 1 / (2 * t - ratio);
    const Vector term = previous.columns(0, width);
    a.apply(rounded(2 * next * factor), shift, current.columns(0, width), rounded(-next * ratio), term);
    applications += width;
    source(k, next, term);
    ratio = next;
    std::swap(previous, current);
  }
}

}  // namespace blockvec::solvers

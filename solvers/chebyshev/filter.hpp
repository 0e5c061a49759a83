#pragma once

#include <blockvec/blockvec.hpp>
#include <blockvec/solvers/operator.hpp>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "solvers/chebyshev/damped_interval.hpp"

namespace blockvec::solvers {

/// Takes no notice of a recurrence.
struct NoObserver {
  template <class Vector>
  void operator()(int, const Vector&, const Vector&) const {}
};

/// V_j <- T_d(t(sign A)) v_j / T_d(t(lowest)) for the degree d = degrees[j] >= 0 of each column, degrees descending.
/// `work` has V's shape; with `is_begun` it holds T_1 V / T_1(t(lowest)) already. Applies A to the columns whose degree
/// has not been reached, so to sum(degrees) in all, in degrees[0] products: each of them takes the place of the term
/// before the last. So a product is the only pass of a step. Coefficients are rounded to A's precision. see(k, term,
/// before) looks at each term from T_1 V on, scaled as in the end, and at the one before it. Returns the columns that A
/// was applied to.
template <class Vector, class Real, class See = NoObserver>
std::int64_t chebyshev_filter(const AnyOperator<Vector>& a, std::type_identity_t<Real> sign,
                              const DampedInterval<Real>& interval, std::span<const int> degrees, const Vector& v,
                              const Vector& work, bool is_begun, const See& see = {}) {
  using Scalar = typename Vector::Scalar;
  const auto rounded = [](Real x) { return Scalar(static_cast<RealOf<Scalar>>(x)); };
  // t(sign A) = -sign / half_width (A - sign centre).
  const Scalar shift = rounded(sign * interval.centre());
  const Real factor = -sign / interval.half_width();
  const Real t = interval.place(interval.lowest);
  auto width = std::ssize(degrees);
  /// T_k is the next term: columns that have reached their degree leave, with the last one in V.
  const auto leave = [&](int k) {
    const auto before = width;
    while (width > 0 && degrees[static_cast<std::size_t>(width - 1)] < k) --width;
    if (k % 2 == 0 && width < before) copy(work.columns(width, before), v.columns(width, before));
  };
  std::int64_t applications = 0;
  Real ratio = 1 / t;  // of T_(k-1) to T_k at the lowest eigenvalue
  Vector previous = work, current = v;
  for (int k = 1; leave(k), width > 0; ++k) {
    const Vector last = current.columns(0, width), term = previous.columns(0, width);
    if (k > 1) {
      const Real next = 1 / (2 * t - ratio);
      a.apply(rounded(2 * next * factor), shift, last, rounded(-next * ratio), term);
      ratio = next;
    } else if (!is_begun) {
      a.apply(rounded(factor * ratio), shift, last, Scalar(0), term);
    }
    if (k > 1 || !is_begun) applications += width;
    see(k, term, last);
    std::swap(previous, current);
  }
  return applications;
}

}  // namespace blockvec::solvers

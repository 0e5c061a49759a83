#pragma once

#include <blockvec/blockvec.hpp>
#include <blockvec/solvers/operator.hpp>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

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
  const auto part = [&](const Vector& block) { return block.columns(0, width); };
  int k = 1;
  if (is_begun && (leave(1), width > 0)) {
    see(k++, part(previous), part(current));
    std::swap(previous, current);
  }
  std::vector<RecurrenceStep<Scalar>> steps;
  while (leave(k), width > 0) {
    const int last = std::is_same_v<See, NoObserver> ? degrees[static_cast<std::size_t>(width - 1)] : k;
    steps.clear();
    for (; k <= last; ++k) {
      if (k == 1) {
        steps.push_back({rounded(factor * ratio), Scalar(0)});
      } else {
        const Real next = 1 / (2 * t - ratio);
        steps.push_back({rounded(2 * next * factor), rounded(-next * ratio)});
        ratio = next;
      }
    }
    a.recur(shift, steps, part(current), part(previous));
    applications += width * std::ssize(steps);
    if (steps.size() % 2 != 0) std::swap(previous, current);
    see(k - 1, part(current), part(previous));
  }
  return applications;
}

}  // namespace blockvec::solvers

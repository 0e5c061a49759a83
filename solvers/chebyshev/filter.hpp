#pragma once

#include <blockvec/blockvec.hpp>
#include <blockvec/solvers/operator.hpp>
#include <cstdint>
#include <span>
#include <utility>

#include "solvers/chebyshev/damped_interval.hpp"

namespace blockvec::solvers {

/// V_j <- T_d(t(sign A)) v_j / T_d(t(lowest)) for the even degree d = degrees[j] >= 2 of each column, degrees
/// descending. `work` has V's shape; with `is_begun` it holds T_1 V / T_1(t(lowest)) already. Applies A to the columns
/// whose degree has not been reached, so to sum(degrees) in all, in degrees[0] products: each of them takes the place
/// of the term before the last. Returns the columns that A was applied to.
template <class Vector>
std::int64_t chebyshev_filter(const AnyOperator<Vector>& a, RealOf<typename Vector::Scalar> sign,
                              const DampedInterval<RealOf<typename Vector::Scalar>>& interval,
                              std::span<const int> degrees, const Vector& v, const Vector& work, bool is_begun) {
  using Scalar = typename Vector::Scalar;
  using Real = RealOf<Scalar>;
  // t(sign A) = -sign / half_width (A - sign centre).
  const auto shift = Scalar(sign * interval.centre());
  const Real factor = -sign / interval.half_width();
  const Real t = interval.place(interval.lowest);
  auto width = std::ssize(degrees);
  std::int64_t applications = 0;
  Real ratio = 1 / t;  // of T_(k-1) to T_k at the lowest eigenvalue
  if (!is_begun) {
    a.apply(Scalar(factor * ratio), shift, v, Scalar(0), work);
    applications += width;
  }
  Vector previous = v, current = work;
  for (int k = 2; k <= degrees.front(); ++k) {
    while (degrees[static_cast<std::size_t>(width - 1)] < k) --width;
    const Real next = 1 / (2 * t - ratio);
    a.apply(Scalar(2 * next * factor), shift, current.columns(0, width), Scalar(-next * ratio),
            previous.columns(0, width));
    applications += width;
    ratio = next;
    std::swap(previous, current);
  }
  return applications;
}

}  // namespace blockvec::solvers

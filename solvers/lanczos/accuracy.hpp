#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace blockvec::solvers {

/// What counts as found, and as equal: in terms of the norm of A, as far as Ritz values tell it.
template <class Real>
struct Accuracy {
  Real relative;      // the tolerance that was asked for
  Real norm = 0;      // of A at least this
  Real distrust = 1;  // by how much estimates of residuals were found to be too small

  /// The residual of a pair that has converged.
  Real tolerance() const { return relative * norm; }
  /// The residual that is asked of an estimate, since what couples a locked pair to the others is neglected from then
  /// on.
  Real strict_tolerance() const { return tolerance() / 2; }
  /// Two eigenvalues this close count as one.
  Real same_eigenvalue() const { return 10 * tolerance(); }
  /// No residual of a unit vector is larger than this.
  Real bounded(Real residual) const { return std::min(residual, 2 * norm); }

  void see_value(Real value) { norm = std::max(norm, std::abs(value)); }
  /// A pair that was estimated to have converged has this residual.
  void see_wrong_estimate(Real residual) { distrust *= 2 * residual / tolerance(); }

  /// Residual norm of sign * A for a Ritz pair of the transform, as far as the coupling tells.
  template <class Space, class Transform>
  Real estimate(const Space& space, const Transform& transform, std::int64_t index) const {
    const auto i = static_cast<std::size_t>(index);
    if (space.residuals()[i] == 0) return 0;
    return distrust * transform.residual_factor(space.values()[i]) * space.residuals()[i];
  }
  /// Leading Ritz pairs whose estimated residual is small enough.
  template <class Space, class Transform>
  std::int64_t count_converged(const Space& space, const Transform& transform) const {
    std::int64_t count = 0;
    while (count < space.active() && estimate(space, transform, count) <= strict_tolerance()) ++count;
    return count;
  }
};

}  // namespace blockvec::solvers

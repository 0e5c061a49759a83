#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace blockvec::solvers {

/// What counts as found, and as equal: in terms of the norm of A, as far as Ritz values tell it. With a B residuals are
/// those of B^-1 A in the norm of B, and measured by ||A|| / ||B|| + |value|: then their ratio bounds a backward error.
template <class Real>
struct Accuracy {
  Real relative;      // the tolerance that was asked for
  Real norm = 0;      // of the operator at least this
  Real distrust = 1;  // by how much estimates of residuals were found to be too small
  Real quotient = 0;  // ||A|| / ||B||; 0: there is no B

  /// What the residual of a pair with this value is measured by.
  Real norm_at(Real value) const { return quotient > 0 ? quotient + std::abs(value) : norm; }
  /// The residual of such a pair that has converged.
  Real tolerance(Real value) const { return relative * norm_at(value); }
  /// The residual that is asked of an estimate, since what couples a locked pair to the others is neglected from then
  /// on.
  Real strict_tolerance(Real value) const { return tolerance(value) / 2; }
  /// Two eigenvalues this close count as one.
  Real same_eigenvalue(Real value) const { return 10 * tolerance(value); }
  /// No residual of a unit vector is larger than this.
  Real bounded(Real residual) const { return std::min(residual, 2 * norm); }

  void see_value(Real value) { norm = std::max(norm, std::abs(value)); }
  /// A pair that was estimated to have converged has this residual.
  template <class Pair>
  void see_wrong_estimate(const Pair& pair) {
    distrust *= 2 * pair.residual / tolerance(pair.value);
  }

  /// Residual norm of sign * operator for a Ritz pair of the transform, as far as the coupling tells.
  template <class Space, class Transform>
  Real estimate(const Space& space, const Transform& transform, std::int64_t index) const {
    const auto i = static_cast<std::size_t>(index);
    if (space.residuals()[i] == 0) return 0;
    return distrust * transform.residual_factor(space.values()[i]) * space.residuals()[i];
  }
  /// Whether the estimated residual is small enough.
  template <class Space, class Transform>
  bool has_converged(const Space& space, const Transform& transform, std::int64_t index) const {
    const Real value = transform.eigenvalue(space.values()[static_cast<std::size_t>(index)]);
    return estimate(space, transform, index) <= strict_tolerance(value);
  }
  /// Leading Ritz pairs of which that holds.
  template <class Space, class Transform>
  std::int64_t count_converged(const Space& space, const Transform& transform) const {
    std::int64_t count = 0;
    while (count < space.active() && has_converged(space, transform, count)) ++count;
    return count;
  }
};

}  // namespace blockvec::solvers

#pragma once

#include <string>

#include "solvers/lobpcg/search.hpp"

/// What a LOBPCG search tells at its end.
namespace blockvec::solvers {

template <class Vector>
std::string LobpcgSearch<Vector>::why_not() const {
  if (stagnation_.is_complete()) {
    return "the residuals did not fall by a tenth in " + std::to_string(stagnation_.patience()) + " iterations";
  }
  return "not converged within " + std::to_string(iterations_) + " iterations";
}

/// Does a level go on beyond the last wanted pair? The first guard column tells, as far as its residual allows.
template <class Vector>
bool LobpcgSearch<Vector>::is_last_level_cut(const std::vector<double>& eigenvalues) const {
  if (options_.wanted == pencil_.dimensions()) return false;
  if (small_.x() == 0) return true;  // nobody has looked
  const double scale = static_cast<double>(pencil_.norm_a);
  const double next = static_cast<double>(small_.theta().front());
  const double last = static_cast<double>(sign_) * eigenvalues.back();
  const double residual = errors_[index(locked_)] * scale;
  return next - residual <= last + 10 * options_.tolerance * scale;
}

/// The wanted pairs, with residuals recomputed from A and B.
template <class Vector>
Result<Vector> LobpcgSearch<Vector>::finish() {
  const Vector x = basis_.columns(0, options_.wanted);
  Result<Vector> result;
  result.residual_estimates.assign(residuals_.begin(), residuals_.begin() + options_.wanted);

  const bool is_right = pencil_.measure(x, options_.tolerance, result) && all_locked();
  if (is_right) {
    result.status = Status::converged;
    result.last_level_cut = is_last_level_cut(result.eigenvalues);
    if (trial_.was_dropped()) result.why = "the preconditioner was left out: residuals fell faster without it";
  } else if (!pencil_.trouble.empty()) {
    result.status = Status::breakdown;
    result.why = "a block could not be made orthonormal: " + pencil_.trouble;
  } else if (stopping_.is_asked()) {
    result.status = Status::stopped;
    result.why = stopping_.why();
  } else {
    result.why = all_locked() ? "residuals recomputed from A stay above the tolerance" : why_not();
  }
  result.iterations = iterations_;
  result.starts = columns_;
  result.preconditionings = preconditionings_;
  result.reductions = reductions();
  result.seconds = seconds();
  result.history = history_;
  return result;
}

}  // namespace blockvec::solvers

#pragma once

#include <string>

#include "solvers/chebyshev/search.hpp"

/// What a Chebyshev-filtered search tells at its end.
namespace blockvec::solvers {

template <class Vector>
std::string ChebyshevSearch<Vector>::why_not() const {
  if (!trouble_.empty()) return "a block could not be made orthonormal: " + trouble_;
  if (all_locked()) return "residuals recomputed from A stay above the tolerance";
  if (stagnation_.is_complete()) {
    return "the residuals did not fall by a tenth in " + std::to_string(patience) + " iterations";
  }
  return "not converged within " + std::to_string(iterations_) + " iterations";
}

/// Does a level go on beyond the last wanted pair? The first extra column tells, as far as its residual allows.
template <class Vector>
bool ChebyshevSearch<Vector>::is_last_level_cut() const {
  const std::int64_t wanted = options_.wanted;
  if (wanted == x_.global_rows() - deflation_.width()) return false;
  if (columns_ == wanted) return true;  // nobody has looked
  const Real level = values_[index(wanted - 1)] + 10 * static_cast<Real>(options_.tolerance) * norm_;
  return values_[index(wanted)] - residuals_[index(wanted)] <= level;
}

/// The wanted pairs, with residuals recomputed from A.
template <class Vector>
Result<Vector> ChebyshevSearch<Vector>::finish() {
  const Vector x = x_.columns(0, options_.wanted);
  Result<Vector> result;
  result.vectors = x;
  for (std::int64_t j = 0; j < options_.wanted; ++j) result.residual_estimates.push_back(residual_of(j));
  bool is_right = all_locked() && trouble_.empty();
  for (const auto& pair : measured_pairs(apply_, x)) {
    result.eigenvalues.push_back(static_cast<double>(sign_ * pair.value));
    result.residual_norms.push_back(static_cast<double>(pair.residual));
    result.backward_errors.push_back(pair.residual == 0 ? 0 : static_cast<double>(pair.residual / norm_));
    if (!(result.backward_errors.back() <= options_.tolerance)) is_right = false;
  }
  result.orthogonality_loss = static_cast<double>(orth::orthogonality_loss(x));
  if (is_right) {
    result.status = Status::converged;
    result.last_level_cut = is_last_level_cut();
  } else if (!trouble_.empty()) {
    result.status = Status::breakdown;
    result.why = why_not();
  } else if (stopping_.is_asked()) {
    result.status = Status::stopped;
    result.why = stopping_.why();
  } else {
    result.why = why_not();
  }
  result.norm_estimate = static_cast<double>(norm_);
  result.iterations = iterations_;
  result.starts = columns_;
  result.applications = applications_;
  result.reductions = reductions();
  result.filter_degree = highest_degree();
  result.seconds = seconds();
  result.history = history_;
  return result;
}

}  // namespace blockvec::solvers

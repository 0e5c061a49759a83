#pragma once

#include <vector>

#include "solvers/lobpcg/search.hpp"

/// What a LOBPCG search tells at its end.
namespace blockvec::solvers {

/// Does a level go on beyond the last wanted pair? The first guard column tells, as far as its residual allows.
template <class Vector>
bool LobpcgSearch<Vector>::is_last_level_cut(const std::vector<double>& eigenvalues) const {
  if (options_.wanted == pencil_.dimensions()) return false;
  const std::size_t guard = index(options_.wanted);
  if (options_.guard == 0) return true;  // nobody has looked
  const Real next = small_.theta()[guard], last = sign_ * static_cast<Real>(eigenvalues.back());
  const Real margin = Pencil<Vector>::eigenvalue_error(static_cast<Real>(residuals_[guard]), lengths_[guard]);
  return next - margin <=
         last + pencil_.eigenvalue_error_of(10 * options_.tolerance, last, lengths_[index(options_.wanted - 1)]);
}

/// The wanted pairs, with residuals recomputed from A and B.
template <class Vector>
Result<Vector> LobpcgSearch<Vector>::finish() {
  const Vector x = basis_.columns(0, options_.wanted);
  Result<Vector> result;
  result.residual_estimates.assign(residuals_.begin(), residuals_.begin() + options_.wanted);

  const bool is_right = pencil_.measure(x, options_.tolerance, result) && all_found();
  course_.conclude(all_found(), is_right, pencil_.trouble, result);
  if (is_right) {
    result.last_level_cut = is_last_level_cut(result.eigenvalues);
    if (trial_.was_dropped()) result.why = "the preconditioner was left out: residuals fell faster without it";
  }
  result.starts = columns_;
  result.preconditionings = preconditionings_;
  return result;
}

}  // namespace blockvec::solvers

#pragma once

#include <string>

#include "solvers/chebyshev/search.hpp"

/// What a Chebyshev-filtered search tells at its end.
namespace blockvec::solvers {

/// Does a level go on beyond the last wanted pair? The first extra column tells, as far as its residual allows.
template <class Vector>
bool ChebyshevSearch<Vector>::is_last_level_cut() const {
  const std::int64_t wanted = options_.wanted;
  if (wanted == pencil_.dimensions()) return false;
  if (columns_ == wanted) return true;  // nobody has looked
  const Real level = values_[index(wanted - 1)] + same(wanted - 1, 10);
  return values_[index(wanted)] - margins()[index(wanted)] <= level;
}

/// The wanted pairs, with residuals recomputed from A.
template <class Vector>
Result<Vector> ChebyshevSearch<Vector>::finish() {
  Result<Vector> result;
  result.residual_estimates = wanted_residuals();
  const bool is_right = pencil_.measure(x_.columns(0, options_.wanted), options_.tolerance, result) && all_locked();
  course_.conclude(all_locked(), is_right, pencil_.trouble, result);
  if (is_right) result.last_level_cut = is_last_level_cut();
  if (leaves_single_) {
    result.why += result.why.empty() ? "" : "; ";
    result.why += std::string("the filter left single precision, in which ") +
                  (is_out_of_range_ ? "its numbers had no place" : "residuals did not fall");
  }
  result.applications_single = applications_single_;
  result.starts = columns_;
  result.filter_degree = highest_degree();
  return result;
}

}  // namespace blockvec::solvers

#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "solvers/jacobi_davidson/search.hpp"

/// What a Jacobi-Davidson search tells at its end.
namespace blockvec::solvers {

/// The lowest pairs that are known, as many as are wanted, in order: their columns, of which those behind the locked
/// ones are X's.
template <class Vector>
std::vector<std::int64_t> JacobiDavidsonSearch<Vector>::lowest_known() const {
  const std::int64_t missing = std::max<std::int64_t>(0, options_.wanted - locked_.count());
  std::vector<Real> values(locked_.values);
  values.insert(values.end(), small_.theta().begin(), small_.theta().begin() + std::min(small_.x(), missing));
  return lowest_first(values, options_.wanted, [this](Real value) { return rank(value); });
}

/// These columns come to the front of the basis, in this order.
template <class Vector>
void JacobiDavidsonSearch<Vector>::bring_to_front(std::span<const std::int64_t> columns) {
  const auto width = std::ssize(columns);
  if (std::is_sorted(columns.begin(), columns.end()) && (width == 0 || columns.back() == width - 1)) return;
  WorkspaceScope<Space> scope(context());
  const Vector sorted = scratch_like(scope, basis_, width);
  for_all([&](const Vector& all) {
    gather_columns(all, columns, sorted);
    copy(sorted, all.columns(0, width));
  });
}

/// The residual of this column as the iteration last knew it; 0: it has not looked.
template <class Vector>
double JacobiDavidsonSearch<Vector>::known_residual(std::int64_t column) const {
  if (column < locked_.count()) return locked_.residuals[index(column)];
  const auto j = index(column - locked_.count());
  return j < residuals_.size() ? residuals_[j] : 0;
}

/// Does a level go on beyond the last wanted pair? A pair that is locked beside the wanted ones tells, or else the
/// first column of X that is left, as far as its residual allows.
template <class Vector>
bool JacobiDavidsonSearch<Vector>::is_last_level_cut() const {
  if (options_.wanted == pencil_.dimensions()) return false;
  const auto last = static_cast<double>(rank(last_wanted()));
  const auto alike = std::count_if(locked_.values.begin(), locked_.values.end(),
                                   [&](Real value) { return static_cast<double>(rank(value)) <= last + same(); });
  if (alike > options_.wanted) return true;
  if (small_.x() == 0 || errors_.empty()) return true;  // nobody has looked
  return static_cast<double>(rank(small_.theta().front())) - next_error() <= last + same();
}

/// The wanted pairs, with residuals recomputed from A and B. The basis is of no further use but for these.
template <class Vector>
Result<Vector> JacobiDavidsonSearch<Vector>::finish() {
  Result<Vector> result;
  const bool is_found = is_complete(), is_cut = is_found && is_last_level_cut();
  const auto order = lowest_known();
  bring_to_front(order);
  const bool is_right = pencil_.measure(basis_.columns(0, std::ssize(order)), options_.tolerance, result) && is_found;
  for (const std::int64_t column : order) result.residual_estimates.push_back(known_residual(column));
  course_.conclude(is_found, is_right, pencil_.trouble, result);
  if (is_right) {
    result.last_level_cut = is_cut;
    if (problem_.precondition && !uses_preconditioner_)
      result.why = "the preconditioner was left out: it is not positive definite";
  }
  result.starts = options_.kept;
  result.preconditionings = preconditionings_;
  return result;
}

}  // namespace blockvec::solvers

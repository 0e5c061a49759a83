#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "solvers/interior/search.hpp"

/// What a search for interior eigenpairs tells: after each block, and at its end.
namespace blockvec::solvers {

template <class Vector>
void InteriorSearch<Vector>::observe() {
  Step step;
  step.restart = restarts_;
  step.converged = options_.interval ? pairs() : std::min(pairs(), options_.wanted);
  step.applications = pencil_.applications();
  step.filter_degree = filter_.degree();
  for (std::int64_t i = 0; i < step.converged; ++i) step.residuals.push_back(pencil_.residual_of_a(tolerance() / 2));
  for (std::int64_t i = 0; i < std::min(missing(), ritz_values()); ++i)
    step.residuals.push_back(pencil_.residual_of_a(std::min(estimate(i), 2 * norm_)));
  journal_.see(std::move(step));
}

/// A copy of the pairs that are locked.
template <class Vector>
Vector InteriorSearch<Vector>::pair_basis(WorkspaceScope<Space>& scope) const {
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < locked(); ++i) {
    if (distances_[index(i)] != beyond) places.push_back(i);
  }
  const Vector basis = scratch_like(scope, vectors_, std::ssize(places));
  gather_columns(space_.leading_vectors(locked()), places, basis);
  return basis;
}

/// X's orthonormal columns become the Ritz vectors of A in their span. Returns the Ritz values, ascending.
template <class Vector>
auto InteriorSearch<Vector>::rotate_to_ritz_vectors_of_a(const Vector& x) -> HostMatrix<Real> {
  WorkspaceScope<Space> scope(context());
  const Vector image = scratch_like(scope, x, x.width());
  const auto g = SmallMatrix<Scalar, Space>::scratch(scope, x.width(), x.width());
  const auto values = SmallMatrix<Real, Space>::scratch(scope, 1, x.width());
  pencil_.apply_a(x, image);
  inner_product(x, image, g);
  orth::dense::eigendecomposition(g, values, g);
  multiply_in_place(x, g);
  return values.to_host();
}

/// Of all pairs that are locked; which one lies where does not matter.
template <class Vector>
void InteriorSearch<Vector>::measure_distances() {
  WorkspaceScope<Space> scope(context());
  const auto theta = rotate_to_ritz_vectors_of_a(pair_basis(scope));
  std::size_t next = 0;
  for (Real& distance : distances_) {
    if (distance != beyond) distance = std::abs(theta(0, next++) - target_);
  }
}

/// Of the Ritz pairs of A, the wanted ones' vectors go to vectors_, in their order. Returns how many.
template <class Vector>
std::int64_t InteriorSearch<Vector>::choose_pairs() {
  beside_.clear();
  const std::int64_t columns = pairs();
  if (columns == 0) return 0;
  WorkspaceScope<Space> scope(context());
  const Vector x = pair_basis(scope);
  const auto theta = rotate_to_ritz_vectors_of_a(x);
  const auto distance = [&](std::int64_t i) { return std::abs(theta(0, index(i)) - target_); };
  std::vector<std::int64_t> order(index(columns));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto i, auto j) { return distance(i) < distance(j); });
  const auto is_wanted = [&](std::int64_t i) { return distance(i) <= radius() + tolerance(); };
  std::int64_t count = options_.interval ? std::count_if(order.begin(), order.end(), is_wanted) : columns;
  is_room_short_ = options_.interval && count > options_.wanted;
  count = std::min(count, options_.wanted);
  for (auto i = order.begin() + count; i != order.end(); ++i) beside_.push_back(distance(*i));
  order.resize(index(count));
  if (options_.interval) std::sort(order.begin(), order.end());
  if (count > 0) gather_columns(x, order, vectors_.columns(0, count));
  return count;
}

template <class Vector>
Result<Vector> InteriorSearch<Vector>::finish(bool is_found) {
  Result<Vector> result;
  const std::int64_t count = choose_pairs();
  const Vector x = vectors_.columns(0, count);
  const bool is_measured = pencil_.measure(x, options_.tolerance, result);
  const bool is_right = is_measured && is_found && !is_room_short_ && (options_.interval || count == options_.wanted);
  result.residual_estimates.assign(index(count), pencil_.residual_of_a(tolerance() / 2));
  if (is_right) {
    result.status = Status::converged;
    result.last_level_cut = is_last_level_cut(result.eigenvalues);
  } else if (!space_.trouble().empty()) {
    result.status = Status::breakdown;
    result.why = "a block could not be made orthonormal: " + space_.trouble();
  } else if (journal_.is_stopped()) {
    result.status = Status::stopped;
    result.why = journal_.why_stopped();
  } else if (!filter_.is_strong()) {
    result.why = "eigenvalues lie too close together there for a polynomial of degree " +
                 std::to_string(filter_.degree()) + " in A to part them";
  } else if (is_found && !is_room_short_) {
    result.why = "residuals recomputed from A stay above the tolerance";
  } else if (is_room_short_ || restarts_ < options_.max_restarts) {
    is_room_short_ = true;
    result.why = "more eigenvalues lie there than there is room for: " + std::to_string(options_.wanted) +
                 " were expected at most, in a basis of " + std::to_string(options_.basis) + " columns";
  } else {
    result.why = "not converged within " + std::to_string(restarts_) + " restarts";
  }
  result.restarts = result.iterations = restarts_;
  result.starts = starts_;
  result.filter_degree = filter_.degree();
  journal_.conclude(result);
  return result;
}

template <class Vector>
bool InteriorSearch<Vector>::is_last_level_cut(const std::vector<double>& eigenvalues) const {
  const auto distance = [&](double value) { return std::abs(static_cast<Real>(value) - target_); };
  if (options_.interval) {
    return std::any_of(eigenvalues.begin(), eigenvalues.end(),
                       [&](double value) { return std::abs(distance(value) - radius()) <= same(); }) ||
           std::any_of(beside_.begin(), beside_.end(), [&](Real one) { return one <= radius() + same(); });
  }
  Real last = 0;
  for (const double value : eigenvalues) last = std::max(last, distance(value));
  return std::any_of(beside_.begin(), beside_.end(), [&](Real one) { return one <= last + same(); });
}

/// Begins again beside the pairs that are good enough, with vectors that are not.
template <class Vector>
void InteriorSearch<Vector>::refine(const Result<Vector>& result) {
  std::vector<std::int64_t> good, bad;
  distances_.clear();
  lost_ = 0;
  for (std::int64_t i = 0; i < result.vectors.width(); ++i) {
    if (result.backward_errors[index(i)] <= options_.tolerance / 2) {
      good.push_back(i);
      distances_.push_back(std::abs(static_cast<Real>(result.eigenvalues[index(i)]) - target_));
    } else if (std::ssize(bad) < options_.block) {
      bad.push_back(i);
    }
  }
  distrust_ *= 10;
  space_.start_from(result.vectors, good, bad);
}

}  // namespace blockvec::solvers

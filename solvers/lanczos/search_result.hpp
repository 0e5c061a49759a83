#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "solvers/lanczos/search.hpp"

/// What a Lanczos search tells: after each block, and at its end.
namespace blockvec::solvers {

template <class Vector>
void LanczosSearch<Vector>::observe(bool is_new) {
  if (!is_new) {
    Step as_before = journal_.latest();
    as_before.applications = pencil_.applications();
    return journal_.see(std::move(as_before));
  }
  if (filter_.transform().degree() == 0) {
    for (std::size_t i = 0; i < space_.values().size(); ++i) {
      accuracy_.see_value(space_.values()[i]);
      filter_.see_value(space_.values()[i], space_.residuals()[i]);
    }
  }
  Step now = step();
  std::vector<double> errors = now.residuals;
  errors.resize(static_cast<std::size_t>(options_.wanted), pencil_.residual_of_a(accuracy_.norm));  // not known yet
  error_ = log_error(errors, pencil_.residual_of_a(accuracy_.tolerance(0)));
  journal_.see(std::move(now));
}

template <class Vector>
Step LanczosSearch<Vector>::step() const {
  Step step;
  step.restart = restarts_;
  step.converged = std::min(std::ssize(pairs_), options_.wanted);
  step.applications = pencil_.applications();
  step.filter_degree = filter_.transform().degree();

  std::vector<Pair> known = pairs_;
  for (std::int64_t i = 0; i < std::min(std::ssize(space_.values()), options_.wanted); ++i) {
    const Real value = filter_.transform().eigenvalue(space_.values()[static_cast<std::size_t>(i)]);
    known.push_back(
        {.value = value, .residual_of_a = static_cast<Real>(pencil_.residual_of_a(accuracy_.bounded(estimate(i))))});
  }
  std::stable_sort(known.begin(), known.end(), has_lower_value<Real>);
  known.resize(std::min(known.size(), static_cast<std::size_t>(options_.wanted)));
  for (const Pair& pair : known) step.residuals.push_back(static_cast<double>(pair.residual_of_a));

  std::vector<Pair> found = pairs_;
  std::sort(found.begin(), found.end(), has_lower_value<Real>);
  found.resize(static_cast<std::size_t>(step.converged));
  for (const Pair& pair : found) {
    step.eigenvalues.push_back(static_cast<double>(sign_ * pair.value));
    step.residual_norms.push_back(static_cast<double>(pair.residual_of_a));
  }
  return step;
}

/// The wanted ones of all pairs that were found, with residuals recomputed from A.
template <class Vector>
Result<Vector> LanczosSearch<Vector>::finish(bool found) {
  const std::int64_t missing = std::max<std::int64_t>(0, options_.wanted - std::ssize(pairs_));
  if (journal_.is_stopped()) space_.settle(missing);
  const std::int64_t columns = space_.locked() + (found ? 0 : std::min(missing, space_.active()));
  const std::int64_t width = std::min(columns, options_.wanted);
  const Vector basis = space_.leading_vectors(columns);

  Result<Vector> result;
  result.vectors = vectors_.columns(0, width);
  // Pairs that were found at once are Ritz pairs, and their residuals known.
  const bool is_done = found && width == options_.wanted && columns == width && found_at_once_ == width;
  is_done ? copy(basis, result.vectors) : lowest_ritz_vectors(apply_, basis, result.vectors);
  const std::vector<Pair> recomputed = pencil_.has_b() ? measure_with_b(result.vectors, result)
                                       : is_done       ? pairs_
                                                       : measure(result.vectors);
  std::vector<Pair> estimated = pairs_;
  for (std::int64_t i = 0; i < columns - space_.locked(); ++i) {
    const Real value = filter_.transform().eigenvalue(space_.values()[static_cast<std::size_t>(i)]);
    estimated.push_back({.value = value, .estimate = estimate(i)});
  }
  std::sort(estimated.begin(), estimated.end(), has_lower_value<Real>);
  bool is_right = found && width == options_.wanted;
  for (std::size_t i = 0; i < recomputed.size(); ++i) {
    const Pair& pair = recomputed[i];
    if (!pencil_.has_b()) {
      result.eigenvalues.push_back(static_cast<double>(sign_ * pair.value));
      result.residual_norms.push_back(static_cast<double>(pair.residual));
    }
    result.residual_estimates.push_back(pencil_.residual_of_a(accuracy_.bounded(estimated[i].estimate)));
    if (!(pair.residual <= accuracy_.tolerance(pair.value))) is_right = false;
  }
  if (is_right) {
    result.status = Status::converged;
  } else if (!space_.trouble().empty()) {
    result.status = Status::breakdown;
    result.why = "a block could not be made orthonormal: " + space_.trouble();
  } else if (!found && journal_.is_stopped()) {
    result.status = Status::stopped;
    result.why = journal_.why_stopped();
  } else {
    result.why = found                       ? "residuals recomputed from A stay above the tolerance"
                 : stagnation_.is_complete() ? "the residuals did not fall by a half in the latest restarts"
                                             : "not converged within " + std::to_string(restarts_) + " restarts";
  }
  result.last_level_cut = found && renewal_.level(pairs_) != RenewedSearch<Real>::Level::whole;
  if (!pencil_.has_b()) {
    result.orthogonality_loss = static_cast<double>(orth::orthogonality_loss(result.vectors));
    result.norm_estimate = static_cast<double>(accuracy_.norm);
  }
  result.restarts = restarts_;
  result.starts = renewal_.starts;
  result.applications = pencil_.applications();
  result.filter_degree = filter_.transform().degree();
  journal_.conclude(result);
  return result;
}

/// The pairs of a result.
template <class Vector>
auto LanczosSearch<Vector>::pair_of(const Result<Vector>& result, std::size_t index) const -> Pair {
  Pair pair;
  pair.value = sign_ * static_cast<Real>(result.eigenvalues[index]);
  pair.residual = pair.residual_of_a = static_cast<Real>(result.residual_norms[index]);
  if (pencil_.has_b()) {
    pair.residual = static_cast<Real>(result.backward_errors[index]) * accuracy_.norm_at(pair.value);
  }
  return pair;
}

template <class Vector>
auto LanczosSearch<Vector>::measure_with_b(const Vector& x, Result<Vector>& result) -> std::vector<Pair> {
  (void)pencil_.measure(x, options_.tolerance, result);
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < result.eigenvalues.size(); ++i) {
    pairs.push_back(pair_of(result, i));
    accuracy_.see_value(pairs.back().value);
  }
  return pairs;
}

template <class Vector>
void LanczosSearch<Vector>::refine(const Result<Vector>& result) {
  std::vector<std::int64_t> good;
  std::vector<std::int64_t> bad;
  pairs_.clear();
  for (std::int64_t i = 0; i < result.vectors.width(); ++i) {
    Pair pair = pair_of(result, static_cast<std::size_t>(i));
    pair.estimate = pair.residual;
    if (pair.residual <= accuracy_.strict_tolerance(pair.value)) {
      good.push_back(i);
      pairs_.push_back(pair);
    } else if (std::ssize(bad) < options_.block) {
      bad.push_back(i);
    }
  }
  accuracy_.distrust *= 4;
  renewal_.is_check = false;
  renewal_.found = 0;
  space_.start_from(result.vectors, good, bad);
}

}  // namespace blockvec::solvers

#pragma once

#include <algorithm>
#include <blockvec/solvers/result.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "solvers/journal.hpp"
#include "solvers/progress.hpp"

namespace blockvec::solvers {

/// A look at pairs of sign * A: values of those that are found, wanted end first, and residuals of all that are wanted,
/// the found ones first.
template <class Real>
Step look_at_pairs(Real sign, std::span<const Real> found, std::vector<double> residuals) {
  Step step;
  step.converged = std::ssize(found);
  for (const Real value : found) step.eigenvalues.push_back(static_cast<double>(sign * value));
  step.residual_norms.assign(residuals.begin(), residuals.begin() + step.converged);
  step.residuals = std::move(residuals);
  return step;
}

/// The course of an iteration: its journal, how many there were, and what ends it.
template <class Vector>
class Course {
 public:
  /// It ends after `most_iterations`, or after `patience` of them that brought the error down by less than a tenth.
  Course(Journal<Vector> journal, std::int64_t most_iterations, std::int64_t patience)
      : journal_(std::move(journal)), most_iterations_(most_iterations), stagnation_(patience) {}

  template <class Search>
  bool begin_or_resume(Search& search) {
    return journal_.begin_or_resume(search);
  }
  void count_iteration() { ++iterations_; }
  /// The errors that come next are no continuation of those before.
  void forget_errors() { stagnation_.forget(); }

  /// Shows the step to the observer. `log_error`: log_error() of the wanted pairs.
  void see(Step step, double log_error, std::int64_t wanted) {
    const auto open = static_cast<double>(std::max<std::int64_t>(1, wanted - step.converged));
    stagnation_.see(log_error, 1, open / static_cast<double>(wanted));
    step.restart = iterations_;
    journal_.see(std::move(step));
  }
  template <class Search>
  void save_if_asked(Search& search) {
    journal_.save_if_asked(search);
  }

  std::int64_t iterations() const { return iterations_; }
  bool is_stopped() const { return journal_.is_stopped(); }
  bool is_over() const { return is_stopped() || iterations_ >= most_iterations_ || stagnation_.is_complete(); }

  /// Tells how it ended, and what it took. `is_found`: the iteration has found all that is wanted; `is_right`:
  /// residuals that were recomputed confirm it; `trouble`: why a block could not be made orthonormal, or empty.
  void conclude(bool is_found, bool is_right, const std::string& trouble, Result<Vector>& result) const {
    if (is_right) {
      result.status = Status::converged;
    } else if (!trouble.empty()) {
      result.status = Status::breakdown;
      result.why = "a block could not be made orthonormal: " + trouble;
    } else if (is_stopped()) {
      result.status = Status::stopped;
      result.why = journal_.why_stopped();
    } else if (is_found) {
      result.why = "residuals recomputed from A stay above the tolerance";
    } else if (stagnation_.is_complete()) {
      result.why = "the residuals did not fall by a tenth in " + std::to_string(stagnation_.patience()) + " iterations";
    } else {
      result.why = "not converged within " + std::to_string(iterations_) + " iterations";
    }
    result.iterations = iterations_;
    journal_.conclude(result);
  }

  /// What a checkpoint keeps.
  template <class Archive>
  void state(Archive& archive) {
    archive(journal_, iterations_, stagnation_);
  }

 private:
  Journal<Vector> journal_;
  std::int64_t iterations_ = 0, most_iterations_;
  Stagnation stagnation_;
};

}  // namespace blockvec::solvers

#pragma once

#include <blockvec/context.hpp>
#include <blockvec/solvers/result.hpp>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "solvers/progress.hpp"
#include "solvers/stopping.hpp"

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

/// The course of an iteration: what it has shown so far, what it has taken, and what ends it.
class Course {
 public:
  /// It ends after `most_iterations`, or after `patience` of them that brought the error down by less than a tenth.
  Course(const Context& context, const Observer& observer, std::int64_t most_iterations, std::int64_t patience)
      : context_(context),
        most_iterations_(most_iterations),
        stagnation_(patience),
        stopping_(context.communicator(), observer),
        first_reduction_(context.reductions()) {}

  void begin() { begin_ = Clock::now(); }
  void count_iteration() { ++iterations_; }
  /// The errors that come next are no continuation of those before.
  void forget_errors() { stagnation_.forget(); }

  /// Shows the step to the observer, as Stopping::see() does. `log_error`: log_error() of what is wanted.
  void see(Step step, double log_error) {
    stagnation_.see(log_error);
    step.restart = iterations_;
    step.seconds = seconds();
    step.reductions = reductions();
    history_.push_back(std::move(step));
    stopping_.see(history_.back(), false);
  }

  std::int64_t iterations() const { return iterations_; }
  bool is_stopped() const { return stopping_.is_asked(); }
  bool is_over() const { return is_stopped() || iterations_ >= most_iterations_ || stagnation_.is_complete(); }

  /// Tells how it ended, and what it took. `is_found`: the iteration has found all that is wanted; `is_right`:
  /// residuals that were recomputed confirm it; `trouble`: why a block could not be made orthonormal, or empty.
  template <class Vector>
  void conclude(bool is_found, bool is_right, const std::string& trouble, Result<Vector>& result) const {
    if (is_right) {
      result.status = Status::converged;
    } else if (!trouble.empty()) {
      result.status = Status::breakdown;
      result.why = "a block could not be made orthonormal: " + trouble;
    } else if (is_stopped()) {
      result.status = Status::stopped;
      result.why = stopping_.why();
    } else if (is_found) {
      result.why = "residuals recomputed from A stay above the tolerance";
    } else if (stagnation_.is_complete()) {
      result.why = "the residuals did not fall by a tenth in " + std::to_string(stagnation_.patience()) + " iterations";
    } else {
      result.why = "not converged within " + std::to_string(iterations_) + " iterations";
    }
    result.iterations = iterations_;
    result.reductions = reductions();
    result.seconds = seconds();
    result.history = history_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::int64_t reductions() const { return context_.reductions() - first_reduction_; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  Context context_;
  std::int64_t iterations_ = 0, most_iterations_;
  Stagnation stagnation_;
  Stopping stopping_;
  std::vector<Step> history_;
  std::int64_t first_reduction_;
  Clock::time_point begin_;
};

}  // namespace blockvec::solvers

#pragma once

#include <blockvec/block_vector.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace blockvec::solvers {

/// How a search ended.
enum class Status {
  converged,  ///< all that was asked for, with residuals recomputed from A
  exhausted,  ///< the limits of the options were reached before
  stopped,    ///< an observer asked for it, or a checkpoint could not be written
  breakdown   ///< a block could not be made orthonormal, without escalation
};

/// One look at the Ritz pairs, after each block.
struct Step {
  std::int64_t restart = 0;            ///< restarts (Lanczos) or iterations before this look
  std::int64_t converged = 0;          ///< wanted pairs found so far
  double seconds = 0;                  ///< since the start
  std::int64_t reductions = 0;         ///< since the start
  std::int64_t applications = 0;       ///< columns that A was applied to
  int filter_degree = 0;               ///< of the polynomial that the Krylov space is built with; 0: A itself
  std::vector<double> residuals;       ///< of the wanted pairs, best known eigenvalue first: recomputed or estimated
  std::vector<double> eigenvalues;     ///< found so far, wanted end first; lower ones may be missing
  std::vector<double> residual_norms;  ///< of these, recomputed from A

  /// What a checkpoint keeps.
  template <class Archive>
  void state(Archive& archive) {
    archive(restart, converged, seconds, reductions, applications, filter_degree, residuals, eigenvalues,
            residual_norms);
  }
};

/// Sees every step, on every rank. False, on any rank, ends the search on all of them before the next block. What it
/// throws on one rank, all ranks throw.
using Observer = std::function<bool(const Step&)>;

/// Result::why of a search that an observer ended.
inline constexpr const char* stopped_by_observer = "on request";

/// Eigenpairs, and what it took to find them. Unless it converged, the pairs are the best ones known.
template <class Vector>
struct [[nodiscard]] Result {
  Status status = Status::exhausted;  ///< how the search ended
  /// In words, where it did not converge, or did not use what was given; stopped_by_observer: asked to stop.
  std::string why;
  std::vector<double> eigenvalues;         ///< wanted end first
  std::vector<double> residual_norms;      ///< ||A x - theta x||, or ||A x - theta B x||, recomputed
  std::vector<double> backward_errors;     ///< these over (||A|| + |theta| ||B||) ||x||, with estimates of the norms
  std::vector<double> residual_estimates;  ///< as the iteration last knew them
  Vector vectors;                          ///< orthonormal (B-orthonormal), a column an eigenvalue
  /// Of a search that converged: there are more of the last eigenvalue, to within 10 times the tolerance, than were
  /// asked for, or a search of its own, bounded by what came before, has left it open.
  bool last_level_cut = false;
  double orthogonality_loss = 0;  ///< ||V^H V - I||_F of the eigenvectors, or ||V^H B V - I||_F
  double norm_estimate = 0;       ///< of ||A||_2, from Ritz values or images
  double norm_estimate_b = 1;     ///< of ||B||_2
  std::int64_t restarts = 0;      ///< of the basis
  std::int64_t iterations = 0;    ///< of methods that have some
  std::int64_t starts = 0;        ///< random vectors that Krylov spaces were started from
  std::int64_t applications = 0;  ///< columns that A was applied to
  /// Of these: in single precision, where the problem is not (Problem::a_single).
  std::int64_t applications_single = 0;
  std::int64_t applications_b = 0;    ///< columns that B was applied to
  std::int64_t preconditionings = 0;  ///< columns that the preconditioner was applied to
  std::int64_t reductions = 0;        ///< over all ranks
  int filter_degree = 0;              ///< of the last polynomial; 0: none
  double seconds = 0;                 ///< of the search; its memory was allocated before
  std::vector<Step> history;          ///< all steps

  /// Whether all that was asked for was found.
  bool converged() const { return status == Status::converged; }

  /// A step of a later search for the same pairs, as one of both.
  Step before(Step step) const {
    step.seconds += seconds;
    step.reductions += reductions;
    step.applications += applications;
    return step;
  }
  /// A later search for the same pairs: its counts, seconds and history become those of both.
  Result before(Result later) const {
    std::vector<Step> both = history;
    for (const Step& step : later.history) both.push_back(before(step));
    later.history = std::move(both);
    later.seconds += seconds;
    later.reductions += reductions;
    later.applications += applications;
    later.applications_single += applications_single;
    later.applications_b += applications_b;
    later.preconditionings += preconditionings;
    later.restarts += restarts;
    later.iterations += iterations;
    later.starts += starts;
    return later;
  }
};

}  // namespace blockvec::solvers

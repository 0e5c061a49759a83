#pragma once

#include <algorithm>
#include <blockvec/solvers/lanczos.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "solvers/journal.hpp"
#include "solvers/lanczos/accuracy.hpp"
#include "solvers/lanczos/filter_choice.hpp"
#include "solvers/lanczos/krylov_pencil.hpp"
#include "solvers/lanczos/krylov_space.hpp"
#include "solvers/lanczos/next_look.hpp"
#include "solvers/lanczos/renewed_search.hpp"
#include "solvers/lanczos/thick_restart.hpp"
#include "solvers/progress.hpp"

namespace blockvec::solvers {

/// Thick-restart block Lanczos: the loop. Each decision has an object of its own: what counts as found (Accuracy), how
/// much a restart keeps (kept_at_restart), which polynomial of A it works with (FilterChoice), whether copies of an
/// eigenvalue may be missing (RenewedSearch), and who may end it (Stopping). With a B, A is B^-1 A here (KrylovPencil).
/// The constructor allocates what the search needs.
template <class Vector>
class LanczosSearch {
 public:
  using Scalar = typename Vector::Scalar;
  using Real = RealOf<Scalar>;

  /// `pencil` is that of the problem, with the sign of sign_of(), and outlives this; the options are checked().
  LanczosSearch(const Problem<Vector>& problem, KrylovPencil<Vector>& pencil, const LanczosOptions& options,
                const Observer& observer)
      : pencil_(pencil),
        initial_(problem.initial),
        options_(options),
        sign_(sign_of(options)),
        apply_([&pencil](const Vector& x, const Vector& y) { pencil.apply_a(x, y); }),
        accuracy_{.relative = static_cast<Real>(options.tolerance), .quotient = pencil.quotient_of_norms()},
        filter_(pencil.operation(), options_, sign_),
        renewal_(options_.wanted, accuracy_),
        journal_(problem, options_.checkpoint, steering("block_lanczos", options_, own_steering(options_)), observer),
        space_(context(), problem.a.rows(), pencil.deflation(), options_.basis, options_.block, options_.orth,
               pencil.metric(), pencil.b_deflation()),
        vectors_(context(), problem.a.rows(), options_.wanted, "eigenvectors"),
        stagnation_(patience_of(options_), 0.5) {
    // Scratch memory for all that follows: an image of the wanted vectors, and what products need beside it.
    WorkspaceScope<typename Vector::Space> scope(context());
    fill(scratch_like(scope, vectors_, options_.wanted + options_.block), Scalar(0));
  }
  LanczosSearch(const LanczosSearch&) = delete;
  LanczosSearch& operator=(const LanczosSearch&) = delete;

  /// The sign of A with which the lower end is the wanted one.
  static Real sign_of(const LanczosOptions& options) { return options.which == Which::smallest ? Real(1) : Real(-1); }

  /// All that the search goes on from before a block, for an archive (state_archive.hpp).
  template <class Archive>
  void state(Archive& archive) {
    archive(journal_, pencil_);
    filter_.state_of_transform(archive);
    archive(space_, pairs_, accuracy_.norm, filter_.top(), accuracy_.distrust);
    filter_.state(archive);
    archive(renewal_.is_check, renewal_.suspect, renewal_.found, found_at_once_, refinements_, renewal_.starts,
            restarts_, next_look_, renewal_.is_fresh, most_applications_, stagnation_, error_);
  }

  Result<Vector> solve() {
    if (!journal_.begin_or_resume(*this)) {
      pencil_.count_operations(filter_.choose(pencil_.deflation(), space_.spare_columns(),
                                              {pencil_.metric(), pencil_.b_deflation()}, accuracy_));
      start_search(initial_);
    }
    for (;;) {
      const bool is_through = search();
      if (!is_through && (journal_.is_stopped() || !renewal_.is_about_last(pairs_))) return finish(false);
      if (is_through && renewal_.is_due(pairs_, space_.is_complete())) {
        start_search();
        continue;
      }
      if (is_through && is_level_open()) {
        look_for_more_of_last();
        continue;
      }
      Result<Vector> result = finish(true);
      if (result.converged() || refinements_++ == most_refinements) return result;
      refine(result);
    }
  }

 private:
  using Pair = RitzPair<Real>;
  static constexpr int most_refinements = 3;

  /// Restarts that may bring the error down by less than a half: more of them for who sets a higher limit. With a
  /// filter of high degree each counts as several.
  static std::int64_t patience_of(const LanczosOptions& options) {
    return std::max<std::int64_t>(30, options.max_restarts / 10);
  }
  static constexpr int degree_of_one = 64;

  static CheckpointHeader own_steering(const LanczosOptions& options) {
    return {{"block", fmt::format("{}", options.block)},
            {"basis", fmt::format("{}", options.basis)},
            {"filter", fmt::format("{}", options.filter_degree)}};
  }
  void start_search(const Vector& near = {}) {
    drop_surplus();
    stagnation_.forget();
    next_look_ = 0;
    renewal_.begin(pairs_, space_.is_complete());
    renewal_.starts += space_.start_random(options_.seed, renewal_.starts, near);
  }

  /// Is it still to be found out whether the wanted number cuts a level?
  bool is_level_open() const {
    return renewal_.level(pairs_) == RenewedSearch<Real>::Level::unknown && !renewal_.is_about_last(pairs_);
  }
  /// The next search() is about the level of the last wanted eigenvalue. It may take half as long as all before it, or
  /// as long and a basis more where it has to begin anew.
  void look_for_more_of_last() {
    const bool begins_anew = renewal_.may_lack_last(pairs_) || space_.next() == 0;
    const std::int64_t basis = options_.basis * std::max(1, filter_.transform().degree());
    const std::int64_t until_now = pencil_.applications();
    most_applications_ = until_now + (begins_anew ? until_now + basis : until_now / 2);
    if (begins_anew) start_search();
    renewal_.ask_about_last(pairs_);
  }

  /// Goes on until the wanted pairs are locked or, where enough are, until nothing below the last of them is left.
  /// False: it ended before.
  bool search() {
    for (;;) {
      if (!space_.trouble().empty()) return false;
      while (space_.has_room()) {
        if (renewal_.is_about_last(pairs_) && pencil_.applications() >= most_applications_) return false;
        journal_.save_if_asked(*this);
        if (journal_.is_stopped()) return false;
        multiply();
        space_.extend();
        if (looks_ahead()) multiply();
        const bool is_new = look_again();
        observe(is_new);
        if (!space_.trouble().empty()) return false;
        if (!is_new) continue;
        if (nothing_left() || (to_find() > 0 && count_converged() >= to_find())) break;
      }
      renewal_.see_beyond(to_find(), space_, filter_.transform());
      if (nothing_left()) return true;

      const std::int64_t ready = std::min(count_converged(), to_find());
      const bool is_last = ready > 0 && ready == to_find();
      space_.restart(is_last ? ready : kept_at_restart(space_, to_find(), options_.block));
      ++restarts_;
      next_look_ = 0;
      lock_verified(ready);
      if (!renewal_.is_check && to_find() == 0) return true;
      // What a check finds takes room; the next one begins without the pairs that are wanted no more.
      if (renewal_.is_check && renewal_.found > 0 && (to_find() == 0 || !space_.has_room())) return true;
      see_progress();
      if (restarts_ >= options_.max_restarts || stagnation_.is_complete()) return false;
      if (space_.next() == 0) {
        start_search();  // an invariant subspace that does not hold all that is wanted
      } else if (filter_.improve(space_, pairs_, to_find(), restarts_, accuracy_)) {
        const std::int64_t count = std::max<std::int64_t>(1, to_find()) + options_.block;
        stagnation_.forget();
        space_.start_from_active(std::min<std::int64_t>(space_.active(), count), options_.seed);
      }
    }
  }

  /// After a restart, as long as wanted pairs are missing.
  void see_progress() {
    const bool is_for_wanted = !renewal_.is_check && !renewal_.is_about_last(pairs_) && to_find() > 0;
    const int counts = 1 + filter_.transform().degree() / degree_of_one;
    const double open = static_cast<double>(to_find()) / static_cast<double>(options_.wanted);
    is_for_wanted ? stagnation_.see(error_, counts, open) : stagnation_.forget();
  }

  void multiply() {
    const auto& transform = filter_.transform();
    pencil_.count_operations(space_.multiply(transform) * std::max(1, transform.degree()));
  }

  /// Computes the Ritz pairs if the wanted ones may have converged: the host's products may take less than the pairs of
  /// a small matrix. False: it has not.
  bool look_again() {
    if (is_host_space<typename Vector::Space> && space_.has_room() && space_.active() < next_look_) return false;
    space_.rayleigh_ritz();
    const std::int64_t last = to_find() - 1;
    next_look_ = last + 1;
    if (last >= 0 && last < space_.active()) {
      const auto i = static_cast<std::size_t>(last);
      const Real value = space_.values()[i], lowest = value - space_.residuals()[i];
      const Real tolerance = accuracy_.strict_tolerance(filter_.transform().eigenvalue(value));
      const Real ratio = accuracy_.bounded(estimate(last)) / tolerance;
      next_look_ = space_.active() + options_.block * steps_before(ratio, most_gain(lowest)) + 1;
    } else if (last >= 0) {
      next_look_ += options_.block * steps_before(2 / accuracy_.relative, most_gain(-filter_range<Real>));
    }
    return true;
  }
  /// A step takes no greater factor from the residual of an eigenvalue of the transform, which is this or higher.
  /// Without a filter, or where it has raised nothing yet, it may be that of the strongest one.
  Real most_gain(Real lowest) const {
    const bool is_raised = filter_.transform().degree() > 0 && lowest < -1;
    return 2 * (is_raised ? std::min(-lowest, filter_range<Real>) : filter_range<Real>);
  }

  /// Whether the device is to go on with the next block while the host looks at what is known: not where the search is
  /// about to end by the look before, since nobody would want that product.
  bool looks_ahead() const {
    if (is_host_space<typename Vector::Space> || !space_.trouble().empty() || space_.next() == 0) return false;
    const std::int64_t last = to_find() - 1;
    if (last < 0 || last >= std::ssize(space_.values())) return true;
    const Real value = filter_.transform().eigenvalue(space_.values()[static_cast<std::size_t>(last)]);
    return estimate(last) > filter_range<Real> * accuracy_.strict_tolerance(value);
  }

  std::int64_t to_find() const { return renewal_.to_find(pairs_, space_, filter_.transform()); }
  bool nothing_left() const { return renewal_.nothing_left(pairs_, space_, filter_.transform()); }
  std::int64_t count_converged() const { return accuracy_.count_converged(space_, filter_.transform()); }
  Real estimate(std::int64_t index) const { return accuracy_.estimate(space_, filter_.transform(), index); }

  /// Locks the leading `count` active pairs, as far as their residuals, recomputed from A, are small enough.
  void lock_verified(std::int64_t count) {
    if (count == 0) return;
    const std::vector<Pair> found = measure(space_.active_vectors(count));
    std::int64_t verified = 0;
    for (; verified < count; ++verified) {
      const Pair& pair = found[static_cast<std::size_t>(verified)];
      if (pair.value >= filter_.transform().cut()) {  // an eigenvalue above what was taken for the top
        filter_.give_up();
        return start_search();
      }
      if (pair.residual > accuracy_.tolerance(pair.value)) {
        accuracy_.see_wrong_estimate(pair);
        break;
      }
      pairs_.push_back(pair);
      pairs_.back().estimate = estimate(verified);
    }
    renewal_.found += verified;
    if (verified > 0) filter_.see_find(restarts_);
    found_at_once_ = verified;
    space_.lock(verified);
  }

  std::vector<Pair> measure(const Vector& x) {
    if (pencil_.has_b()) {
      Result<Vector> measured;
      return measure_with_b(x, measured);
    }
    std::vector<Pair> pairs = measured_pairs(apply_, x);
    for (const Pair& pair : pairs) accuracy_.see_value(pair.value);
    return pairs;
  }
  /// The same with a B, for the result as well.
  std::vector<Pair> measure_with_b(const Vector& x, Result<Vector>& result);
  Pair pair_of(const Result<Vector>& result, std::size_t index) const;

  /// More pairs than wanted may have been found: the highest leave the basis.
  void drop_surplus() {
    while (std::ssize(pairs_) > options_.wanted) {
      const auto highest = std::max_element(pairs_.begin(), pairs_.end(), has_lower_value<Real>);
      space_.drop_locked(highest - pairs_.begin());
      *highest = pairs_.back();
      pairs_.pop_back();
    }
  }

  /// Begins again beside the pairs that are good enough, with vectors that are not.
  void refine(const Result<Vector>& result);

  // The results: solvers/lanczos/search_result.hpp.
  void observe(bool is_new);
  Step step() const;
  Result<Vector> finish(bool found);

  const Context& context() const { return pencil_.context(); }

  KrylovPencil<Vector>& pencil_;
  Vector initial_;
  LanczosOptions options_;
  Real sign_;
  typename FunctionOperator<Vector>::Multiply apply_;  // sign * A
  Accuracy<Real> accuracy_;
  FilterChoice<Vector> filter_;
  RenewedSearch<Real> renewal_;
  Journal<Vector> journal_;
  KrylovSpace<Vector> space_;
  Vector vectors_;
  std::vector<Pair> pairs_;         // locked, in the order of their columns
  std::int64_t found_at_once_ = 0;  // at the latest restart that found any
  int refinements_ = 0;
  std::int64_t restarts_ = 0;
  std::int64_t next_look_ = 0;  // columns of the basis from which on Ritz pairs are due
  Stagnation stagnation_;
  double error_ = 0;                    // log_error() of the wanted residuals, as of the latest block
  std::int64_t most_applications_ = 0;  // of a search about the last level
};

}  // namespace blockvec::solvers

#pragma once

#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/column_operations.hpp>
#include <blockvec/solvers/interior.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "solvers/interior/folded_transform.hpp"
#include "solvers/interior/interior_pencil.hpp"
#include "solvers/journal.hpp"
#include "solvers/lanczos/krylov_space.hpp"
#include "solvers/lanczos/thick_restart.hpp"

namespace blockvec::solvers {

/// The loop of interior Lanczos, for the operator of an InteriorPencil. What is locked spans an invariant subspace of C
/// (FoldedTransform), found in order of the distance from the target. Rounds begin with random vectors beside it, until
/// one finds nothing.
template <class Vector>
class InteriorSearch {
 public:
  using Scalar = typename Vector::Scalar;
  using Space = typename Vector::Space;
  using Real = RealOf<Scalar>;

  /// `pencil` is that of the problem, and outlives this; the options are checked().
  InteriorSearch(const Problem<Vector>& problem, InteriorPencil<Vector>& pencil, const InteriorOptions& options,
                 const Observer& observer)
      : pencil_(pencil),
        options_(options),
        look_(pencil.spectrum),
        target_(target_of(options)),
        norm_(pencil.norm_at(target_)),
        journal_(problem, options.checkpoint, steering("interior_lanczos", options, own_steering(options)), observer),
        space_(context(), problem.a.rows(), pencil.deflation(), options.basis, options.block, options.orth,
               pencil.metric(), pencil.b_deflation()),
        vectors_(context(), problem.a.rows(), options.wanted, "eigenvectors") {
    const auto rows = problem.a.rows().global_rows();
    const auto expected = static_cast<Real>(options.wanted + options.block);
    // Wide enough for several times the wanted pairs: fewer products, more steps, which the basis holds.
    constexpr Real times = 8;
    const Real around = look_.distance_of(options.interval ? expected : times * expected, target_, rows);
    set_transform(options.interval ? std::max(radius() * Real(1.25), around) : around);
  }
  InteriorSearch(const InteriorSearch&) = delete;
  InteriorSearch& operator=(const InteriorSearch&) = delete;

  static Real target_of(const InteriorOptions& options) {
    return static_cast<Real>(options.interval ? options.interval->from / 2 + options.interval->to / 2 : options.target);
  }

  Result<Vector> solve() {
    if (!transform_.is_strong()) return finish(false);
    for (bool goes_on = journal_.begin_or_resume(*this);; goes_on = false) {
      if (!goes_on) begin_round();
      if (!round()) return finish(false);
      if (found_ > 0 || !(is_check_ || (is_first_ && options_.interval))) continue;
      Result<Vector> result = finish(true);
      if (result.converged() || refinements_++ == most_refinements) return result;
      if (takes_ties_) {
        refine(result);
      } else {
        takes_ties_ = true;  // a vector of the last level may be a mixture of both sides of the target
      }
    }
  }

  /// All that the search goes on from before a block, for an archive (state_archive.hpp).
  template <class Archive>
  void state(Archive& archive) {
    archive(journal_, pencil_, distance_, changes_, distances_, takes_ties_, distrust_, found_, starts_, restarts_,
            is_first_, is_check_, refinements_, space_);
    if (Archive::reads) set_transform(distance_);
  }

 private:
  using Transform = FoldedTransform<Vector>;
  static constexpr int most_refinements = 4, most_changes = 12;
  /// A pair whose residual is this share of its distance from the nearest possible one has come out well after that.
  static constexpr Real missing_ratio = Real(1e-3);

  const Context& context() const { return pencil_.context(); }
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  std::int64_t locked() const { return std::ssize(distances_); }
  Real radius() const { return static_cast<Real>(options_.interval->to / 2 - options_.interval->from / 2); }
  /// The bound on residuals of the operator, in its inner product.
  Real tolerance() const { return static_cast<Real>(options_.tolerance) * norm_; }
  /// Two eigenvalues this close count as one.
  Real same() const { return 10 * tolerance(); }

  /// How many pairs are missing, as far as their number is known beforehand.
  std::int64_t missing() const { return options_.interval ? 0 : std::max<std::int64_t>(0, options_.wanted - locked()); }
  bool is_settled() const { return missing() == 0; }
  /// Pairs as near as this are wanted, once none is missing().
  Real limit() const {
    if (options_.interval) return radius() + same();
    std::vector<Real> sorted(distances_);
    std::nth_element(sorted.begin(), sorted.begin() + (options_.wanted - 1), sorted.end());
    const Real last = sorted[index(options_.wanted - 1)];
    return takes_ties_ ? last + same() : std::max<Real>(last - same(), 0);
  }

  /// A filter that reaches this far, be it beyond the spectrum.
  void set_transform(Real distance) {
    distance_ = std::max(distance, same());
    if (!(distance_ > 0)) distance_ = 1;  // A is zero, and the target as well
    transform_ =
        Transform(pencil_.operation(), target_, distance_, std::max(look_.farthest(target_), distance_) * Real(1.05));
  }

  /// The residual of the operator for a Ritz pair of C: what lies outside is at most that far away, and C parts it from
  /// the pair by |value| - 1.
  Real estimate(std::int64_t i) const {
    const Real residual = space_.residuals()[index(i)], above = -space_.values()[index(i)] - 1;
    if (residual == 0) return 0;
    return above > 0 ? distrust_ * residual * look_.farthest(target_) / above : std::numeric_limits<Real>::infinity();
  }
  /// Leading Ritz pairs that have converged and are wanted.
  std::int64_t count_converged() const {
    const Real most = is_settled() ? transform_.value(limit()) : Real(-1);
    std::int64_t count = 0;
    while (count < space_.active() && space_.values()[index(count)] < most && estimate(count) <= tolerance() / 2)
      ++count;
    return count;
  }
  /// Ritz values within the limit: as many eigenvalues lie there at least, beside what is locked.
  std::int64_t count_within_limit() const {
    const auto& values = space_.values();
    return std::lower_bound(values.begin(), values.end(), transform_.value(limit())) - values.begin();
  }
  /// Does the lowest Ritz value beside so many leading ones show that nothing else within the limit is left?
  bool nothing_left_beside(std::int64_t leading) const {
    if (!is_settled() || space_.active() <= leading) return false;
    const Real lowest = space_.values()[index(leading)], residual = space_.residuals()[index(leading)],
               most = transform_.value(limit());
    if (space_.is_complete()) return lowest >= most;
    return residual <= missing_ratio * (lowest - transform_.value(0)) && lowest - residual >= most;
  }

  static CheckpointHeader own_steering(const InteriorOptions& options) {
    const auto at = options.interval ? fmt::format("from {} to {}", options.interval->from, options.interval->to)
                                     : fmt::format("near {}", options.target);
    return {{"place in the spectrum", at},
            {"block", fmt::format("{}", options.block)},
            {"basis", fmt::format("{}", options.basis)}};
  }

  void begin_round() {
    starts_ += space_.start_random(options_.seed, starts_);
    found_ = 0;
    is_first_ = locked() == 0;
    is_check_ = is_settled();
  }
  /// Locks pairs until enough are, or until nothing is left. False: it ended before.
  bool round() {
    if (space_.next() == 0) return true;  // no dimension is left
    for (;;) {
      while (space_.has_room()) {
        if (!space_.trouble().empty()) return false;
        journal_.save_if_asked(*this);
        if (journal_.is_stopped()) return false;
        pencil_.count_operations(space_.multiply(transform_) * transform_.degree());
        space_.extend();
        space_.rayleigh_ritz();
        observe();
        if (nothing_left_beside(0)) return true;
        if (nothing_left_beside(count_converged())) break;
        if (!is_settled() && (count_converged() >= missing() || is_too_narrow())) break;
      }
      if (!space_.trouble().empty()) return false;
      if (nothing_left_beside(0)) return true;
      if (options_.interval && locked() + count_within_limit() > options_.wanted) return false;
      // Rayleigh-Ritz with A will choose where the whole space is known.
      const bool is_all = space_.is_complete() && !is_settled();
      const std::int64_t ready = is_all ? space_.active() : count_converged();
      const std::int64_t left = std::max<std::int64_t>(1, missing() - ready);
      if (ready == 0 && change_distance(left)) {
        starts_ += space_.start_random(options_.seed, starts_);
        continue;
      }
      space_.restart(std::max(ready, kept_at_restart(space_, ready + left, options_.block)));
      ++restarts_;
      for (std::int64_t i = 0; i < ready; ++i) distances_.push_back(transform_.distance(space_.values()[index(i)]));
      space_.lock(ready);
      found_ += ready;
      if (ready > 0 && is_settled() && (!options_.interval || nothing_left_beside(0))) return true;
      if (space_.next() == 0) return found_ > 0 || is_settled();  // an invariant subspace
      if (!space_.has_room() || restarts_ >= options_.max_restarts) return false;
    }
  }

  /// Steps enough for the wanted pairs show none of them.
  bool is_too_narrow() const {
    return changes_ < most_changes && space_.active() >= missing() + 2 * options_.block && space_.values().front() > -2;
  }
  /// A full basis in which nothing has converged tells whether the filter reaches too few eigenvalues or too many.
  /// True: there is another one.
  bool change_distance(std::int64_t left) {
    if (changes_ >= most_changes || space_.active() == 0) return false;
    const auto& values = space_.values();
    const auto last = std::min(left, space_.active()) - 1;
    const Real before = distance_;
    if (values[index(last)] > -2) {
      if (options_.interval) return false;  // the interval may be empty
      set_transform(2 * distance_);
    } else if (values.back() < -2) {
      set_transform(std::max(transform_.distance(values[index(std::min(2 * left, space_.active() - 1))]), before / 4));
    }
    if (distance_ == before) return false;
    ++changes_;
    return true;
  }

  // The results: solvers/interior/result.hpp.
  void observe();
  Result<Vector> finish(bool is_found);
  std::int64_t choose_pairs();
  bool is_last_level_cut(const std::vector<double>& eigenvalues) const;
  void refine(const Result<Vector>& result);

  InteriorPencil<Vector>& pencil_;
  InteriorOptions options_;
  SpectrumLook<Real> look_;
  Real target_, norm_;
  Journal<Vector> journal_;
  KrylovSpace<Vector> space_;
  Vector vectors_;
  Transform transform_;
  Real distance_ = 0;  // how far the filter reaches
  int changes_ = 0;    // of it

  std::vector<Real> distances_;  // from the target, of what is locked
  std::vector<Real> beside_;     // of Ritz values of A that are not wanted
  bool takes_ties_ = false;
  Real distrust_ = 1;
  std::int64_t found_ = 0, starts_ = 0, restarts_ = 0;  // found_: in this round
  bool is_first_ = true, is_check_ = false;             // this round: nothing was locked before it, or enough
  int refinements_ = 0;
};

}  // namespace blockvec::solvers

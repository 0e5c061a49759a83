#pragma once

#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/column_operations.hpp>
#include <blockvec/solvers/interior.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "solvers/interior/chance_of_more.hpp"
#include "solvers/interior/delta_filter.hpp"
#include "solvers/interior/interior_pencil.hpp"
#include "solvers/journal.hpp"
#include "solvers/lanczos/krylov_space.hpp"
#include "solvers/lanczos/next_look.hpp"
#include "solvers/lanczos/thick_restart.hpp"

namespace blockvec::solvers {

/// The loop of interior Lanczos, for the operator of an InteriorPencil. What is locked spans an invariant subspace of C
/// (DeltaFilter), found in order of what C makes of it. Rounds begin with random vectors beside it, until one finds
/// nothing. A round that found pairs also locks Ritz vectors beyond them, roughly as they are: then little is left that
/// the next round could take for a wanted pair, and it ends soon.
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
    // At least so many eigenvalues in the window of the filter: what is denser than the spectrum asks more products.
    const auto around = static_cast<Real>((options.interval ? 4 : options.wanted + options.wanted / 2) + options.block);
    const Real distance = look_.distance_of(around, target_, problem.a.rows().global_rows());
    set_filter(options.interval ? look_.distance_into_gaps(std::max(radius(), distance), target_) : distance);
    set_limit();
  }
  InteriorSearch(const InteriorSearch&) = delete;
  InteriorSearch& operator=(const InteriorSearch&) = delete;

  static Real target_of(const InteriorOptions& options) {
    return static_cast<Real>(options.interval ? options.interval->from / 2 + options.interval->to / 2 : options.target);
  }

  Result<Vector> solve() {
    if (!filter_.is_strong()) return finish(false);
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

  /// Whether it has ended since more eigenvalues lie in the interval than there is room for.
  bool is_short_of_room() const { return is_room_short_; }

  /// All that the search goes on from before a block, for an archive (state_archive.hpp).
  template <class Archive>
  void state(Archive& archive) {
    archive(journal_, pencil_, look_.bottom, look_.top, distance_, changes_, distances_, takes_ties_, distrust_, lost_,
            found_, starts_, restarts_, is_first_, is_check_, refinements_, next_look_, start_width_, steps_, space_);
    if (!Archive::reads) return;
    set_filter(distance_);
    set_limit();
  }

 private:
  static constexpr int most_refinements = 4, most_changes = 12;
  /// A pair whose residual is this share of its distance from the nearest possible one has come out well after that.
  static constexpr Real missing_ratio = Real(1e-3);
  /// Of a wanted vector, the most that may lie in what is locked beyond them (a square).
  static constexpr double most_share = 0.04;
  /// What estimates of residuals begin with: the bound is far above what is seen.
  static constexpr Real first_distrust = Real(1e-3);
  /// What residuals with A are to be at most, of the tolerance.
  static constexpr double safety = 0.7;
  /// No more pairs are looked for where they have escaped with no greater probability.
  static constexpr double least_chance = 1e-6;

  const Context& context() const { return pencil_.context(); }
  static Real square(Real x) { return x * x; }
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  static constexpr Real beyond = std::numeric_limits<Real>::max();  // in distances_: no pair, but a vector beyond them
  std::int64_t locked() const { return std::ssize(distances_); }
  std::int64_t pairs() const { return locked() - std::count(distances_.begin(), distances_.end(), beyond); }
  Real radius() const { return static_cast<Real>(options_.interval->to / 2 - options_.interval->from / 2); }
  /// The bound on residuals of the operator, in its inner product.
  Real tolerance() const { return static_cast<Real>(options_.tolerance) * norm_; }
  /// Two eigenvalues this close count as one.
  Real same() const { return 10 * tolerance(); }

  /// How many pairs are missing, as far as their number is known beforehand.
  std::int64_t missing() const { return options_.interval ? 0 : std::max<std::int64_t>(0, options_.wanted - pairs()); }
  bool is_settled() const { return missing() == 0; }
  /// Pairs as near as this are wanted, once none is missing().
  Real limit() const {
    if (options_.interval) return radius() + same();
    std::vector<Real> sorted(distances_);
    std::nth_element(sorted.begin(), sorted.begin() + (options_.wanted - 1), sorted.end());
    const Real last = sorted[index(options_.wanted - 1)];
    return takes_ties_ ? last + same() : std::max<Real>(last - same(), 0);
  }

  /// A filter with a window that reaches this far.
  void set_filter(Real distance) {
    distance_ = std::max(distance, same());
    filter_ = DeltaFilter<Vector>(pencil_.operation(), look_.bottom, look_.top, target_ - distance_,
                                  target_ + distance_, options_.interval ? std::nullopt : std::optional(target_));
  }
  /// What C makes of the wanted eigenvalues, once none is missing().
  void set_limit() {
    if (!is_settled()) return;
    constexpr int points = 64;
    const Real reach = limit(), from = target_ - reach, to = target_ + reach;
    const Real margin = (look_.top - look_.bottom) / 100 + same() + look_.rounding();  // the ends are known to this
    Real low = std::max(from, look_.bottom - margin), high = std::min(to, look_.top + margin);
    if (low > high) low = high = to < look_.bottom ? to : from;  // nothing is expected there
    most_ = -1;
    for (int i = 0; i <= points; ++i) most_ = std::max(most_, filter_.value(low + (high - low) * Real(i) / points));
    most_ += 64 * epsilon<Real>;  // what rounding makes of a value of C
    surely_ = -filter_.side_lobes() - Real(0.05);
    for (int i = 0; i <= points; ++i) {
      const Real share = Real(i) / points;
      if (from > look_.bottom) surely_ = std::min(surely_, filter_.value(look_.bottom + share * (from - look_.bottom)));
      if (to < look_.top) surely_ = std::min(surely_, filter_.value(look_.top + share * (to - look_.top)));
    }
  }

  std::int64_t ritz_values() const { return std::ssize(space_.values()); }
  /// p of a Ritz value, above the side lobes.
  Real height(std::int64_t i) const { return -space_.values()[index(i)] - filter_.side_lobes(); }
  /// The residual of the operator for a Ritz pair of C: what lies outside is at most that far away, and C parts it from
  /// the pair by its height.
  Real estimate(std::int64_t i) const {
    const Real residual = space_.residuals()[index(i)], above = height(i);
    if (residual == 0) return 0;
    return above > 0 ? distrust_ * residual * look_.farthest(target_) / above : std::numeric_limits<Real>::infinity();
  }
  /// Leading Ritz pairs that have converged and are wanted.
  std::int64_t count_converged() const {
    std::int64_t count = 0;
    while (count < ritz_values() && (!is_settled() || space_.values()[index(count)] < most_) &&
           estimate(count) <= tolerance() / 2)
      ++count;
    return count;
  }
  /// Ritz values that only eigenvalues within the limit account for, beside what is locked.
  std::int64_t count_within_limit() const {
    const auto& values = space_.values();
    return std::lower_bound(values.begin(), values.end(), surely_) - values.begin();
  }
  /// Does the lowest Ritz value beside so many leading ones show that nothing else within the limit is left?
  bool nothing_left_beside(std::int64_t leading) const {
    if (!is_settled() || ritz_values() <= leading) return false;
    const Real lowest = space_.values()[index(leading)], residual = space_.residuals()[index(leading)];
    if (space_.is_complete()) return lowest >= most_in_sight();
    return residual <= missing_ratio * (lowest + 1) && lowest - residual >= most_in_sight();
  }
  /// The same for this round, if another one follows that looks for more anyway.
  bool is_round_over(std::int64_t leading) const {
    if (is_first_ || !is_check_) return nothing_left_beside(leading);
    return ritz_values() <= leading || space_.values()[index(leading)] >= most_;
  }
  /// Would a wanted pair have shown itself among the Ritz values of this round?
  bool nothing_shows() const {
    if (!is_settled() || steps_ < 2 || ritz_values() == 0) return false;
    const auto least = static_cast<double>(filter_.least()), lowest = -static_cast<double>(most_in_sight());
    const ChanceOfMore chance{static_cast<double>(vectors_.global_rows()), start_width_, steps_, least};
    return chance.above(lowest, -static_cast<double>(space_.values().front())) <= least_chance;
  }

  static CheckpointHeader own_steering(const InteriorOptions& options) {
    const auto at = options.interval ? fmt::format("from {} to {}", options.interval->from, options.interval->to)
                                     : fmt::format("near {}", options.target);
    return {{"place in the spectrum", at},
            {"block", fmt::format("{}", options.block)},
            {"basis", fmt::format("{}", options.basis)}};
  }

  void begin_round() {
    found_ = 0;
    is_first_ = locked() == 0;
    is_check_ = is_settled();
    start();
  }
  void start(const Vector& near = {}) {
    start_width_ = static_cast<int>(space_.start_random(options_.seed, starts_, near));
    starts_ += start_width_;
    steps_ = 0;
    next_look_ = is_first_ || !is_settled() ? missing() + 2 * options_.block : 0;
  }
  /// Ritz pairs, where enough blocks have joined the basis since the latest ones. False: it is too early.
  bool look_again() {
    if (space_.has_room() && space_.active() < next_look_) return false;
    space_.rayleigh_ritz();
    constexpr std::int64_t share = 16;
    next_look_ = space_.active() + std::max(space_.active() / share, options_.block * steps_left() + 1);
    return true;
  }
  /// At least so many steps before the one with which the awaited pairs may have converged: as far as is seen, a step
  /// takes no more from a residual than twice what the filter makes of the target beside its side lobes.
  std::int64_t steps_left() const {
    const auto wanted = std::lower_bound(space_.values().begin(), space_.values().end(), most_);
    const std::int64_t awaited = is_settled() ? wanted - space_.values().begin() : missing();
    if (awaited > ritz_values()) return 0;
    Real worst = 0;
    for (std::int64_t i = 0; i < awaited; ++i) worst = std::max(worst, estimate(i));
    constexpr Real most_gain = 16;
    return steps_before(worst / (tolerance() / 2), most_gain);
  }

  /// Locks pairs until enough are, or until nothing is left. False: it ended before.
  bool round() {
    if (space_.next() == 0) return true;  // no dimension is left
    for (;;) {
      std::int64_t ready = 0;
      while (space_.has_room()) {
        if (!space_.trouble().empty()) return false;
        journal_.save_if_asked(*this);
        if (journal_.is_stopped()) return false;
        pencil_.count_operations(space_.multiply(filter_) * filter_.degree());
        space_.extend();
        if (steps_ >= 0) ++steps_;
        const bool is_new = look_again();
        observe();
        if (!is_new) continue;
        if (nothing_left_beside(0) || nothing_shows()) return true;
        if (is_beyond_bounds() || is_beyond_in_the_way() || is_too_narrow()) break;
        ready = count_converged();
        if (ready > 0 && (is_settled() ? is_round_over(ready) : ready >= missing()) && is_confirmed(ready)) break;
        ready = 0;
      }
      if (!space_.trouble().empty()) return false;
      if (nothing_left_beside(0)) return true;
      if (is_beyond_bounds()) {
        widen_bounds();
        continue;
      }
      if (is_beyond_in_the_way()) {
        drop_beyond();
        continue;
      }
      if (options_.interval && is_first_ && count_within_limit() > options_.wanted) return false;
      // Rayleigh-Ritz with A will choose where the whole space is known.
      if (space_.is_complete() && !is_settled()) ready = space_.active();
      for (std::int64_t count = count_converged(); ready == 0 && count > 0;
           count = std::min(count - 1, count_converged())) {
        if (is_confirmed(count)) ready = count;
      }
      if (!is_settled() && !space_.is_complete())
        ready = std::min(ready, std::max(missing(), room_beside_next_round()));
      const std::int64_t left = std::max<std::int64_t>(1, missing() - ready);
      if (ready == 0 && change_window(left)) continue;
      space_.restart(std::max(ready, kept_at_restart(space_, ready + left, options_.block)));
      ++restarts_;
      steps_ = -1;
      next_look_ = 0;
      lock(ready);
      if (ready > 0 && is_settled() && is_round_over(0)) {
        lock_beyond();
        return true;
      }
      if (space_.next() == 0) return found_ > 0 || (is_settled() && !is_wanted_in_sight());  // an invariant subspace
      if (!space_.has_room() || restarts_ >= options_.max_restarts) return false;
    }
  }
  /// So many leading Ritz vectors are wanted. Right after restart().
  void lock(std::int64_t count) {
    space_.lock(count);
    found_ += count;
    distances_.insert(distances_.end(), index(count), Real(0));
    if (!options_.interval && is_settled()) measure_distances();
    set_limit();
  }
  /// So many vectors may be locked while the basis keeps room for another round.
  std::int64_t room_beside_next_round() const {
    constexpr std::int64_t blocks = 12;
    return options_.basis - space_.locked() - blocks * options_.block;
  }
  /// Locks Ritz vectors that have come out well enough to be told from wanted ones, as long as the basis has room.
  void lock_beyond() {
    std::int64_t count = 0;
    Real share = 0, loss = 0;  // of a wanted vector, the square of what lies in these, and C's value times it
    while (count < std::min(room_beside_next_round(), ritz_values()) && height(count) > 0) {
      const Real gap = space_.values()[index(count)] - most_, of_one = square(space_.residuals()[index(count)] / gap);
      if (!(share + of_one <= Real(most_share))) break;
      share += of_one;
      loss += of_one * gap;
      ++count;
    }
    if (count == 0) return;
    lost_ += loss / (1 - share);
    space_.rayleigh_ritz();
    space_.restart(count);
    space_.lock(count);
    distances_.insert(distances_.end(), index(count), beyond);
  }
  /// Are the leading Ritz pairs right, by residuals with A? If not, estimates become stricter. Where these are bounds
  /// and pairs were locked before, or where no dimension is left, what is wrong comes from what is locked:
  /// Rayleigh-Ritz with A will part them.
  bool is_confirmed(std::int64_t count) {
    if (is_settled() && locked() > 0 && (distrust_ >= 1 || space_.is_complete())) return true;
    Result<Vector> result;
    WorkspaceScope<Space> scope(context());
    const Vector x = scratch_like(scope, vectors_, count);
    space_.form_ritz_vectors(x);
    rotate_to_ritz_vectors_of_a(x);
    if (pencil_.measure(x, safety * options_.tolerance, result)) return true;
    const double worst = *std::max_element(result.backward_errors.begin(), result.backward_errors.end());
    distrust_ =
        std::min<Real>(1, distrust_ * std::clamp<Real>(static_cast<Real>(2 * worst / options_.tolerance), 2, 30));
    next_look_ = 0;
    return false;
  }
  bool has_beyond() const { return pairs() < locked(); }
  /// C has no greater value for a wanted pair, where its part in what is locked beyond is left out.
  Real most_in_sight() const { return most_ + lost_; }
  /// Is there a Ritz value that may be a wanted pair's?
  bool is_wanted_in_sight() const { return ritz_values() > 0 && space_.values().front() < most_in_sight(); }
  /// Does a wanted pair show in the search for more? It may have parts in what was locked beyond the others.
  bool is_beyond_in_the_way() const { return is_check_ && has_beyond() && is_wanted_in_sight(); }
  /// The round begins again near what shows, with nothing beyond the pairs.
  void drop_beyond() {
    WorkspaceScope<Space> scope(context());
    std::int64_t wanted = 0;
    while (wanted < ritz_values() && space_.values()[index(wanted)] < most_in_sight()) ++wanted;
    const Vector near = scratch_like(scope, vectors_, wanted);
    space_.form_ritz_vectors(near);
    for (std::int64_t i = locked() - 1; i >= 0; --i) {
      if (distances_[index(i)] != beyond) continue;
      space_.drop_locked(i);
      distances_[index(i)] = distances_.back();
      distances_.pop_back();
    }
    lost_ = 0;
    start(near);
    steps_ = -1;
  }

  /// Ritz values of C that it has on no part of the assumed spectrum.
  bool is_beyond_bounds() const {
    constexpr Real most = Real(1.5);
    return changes_ < most_changes && ritz_values() > 0 &&
           (space_.values().front() < -most || space_.values().back() > most);
  }
  void widen_bounds() {
    const Real more = (look_.top - look_.bottom) / 10;
    look_.bottom -= more;
    look_.top += more;
    change_filter(distance_);
  }
  void change_filter(Real distance) {
    ++changes_;
    set_filter(distance);
    set_limit();
    start();
  }
  /// p at the border of what a filter may be asked to reach: clear of the side lobes.
  static constexpr Real flank = Real(0.4);
  /// Has the filter raised fewer eigenvalues than are missing?
  bool is_too_narrow() const {
    if (is_settled() || filter_.is_parabola() || changes_ >= most_changes || ritz_values() < missing()) return false;
    const auto& residuals = space_.residuals();
    return space_.values()[index(missing() - 1)] > -flank &&
           *std::max_element(residuals.begin(), residuals.begin() + missing()) < flank / 100;
  }
  /// A full basis in which nothing has converged tells whether the filter raises too few eigenvalues or too many.
  /// True: there is another one. An interval has one only.
  bool change_window(std::int64_t left) {
    if (options_.interval || filter_.is_parabola() || changes_ >= most_changes || ritz_values() == 0) return false;
    const auto& values = space_.values();
    if (values[index(std::min(left, ritz_values()) - 1)] > -flank) {
      change_filter(2 * distance_);
    } else if (values.back() < -flank) {
      change_filter(distance_ / 2);
    } else {
      return false;
    }
    return true;
  }

  // The results: solvers/interior/result.hpp.
  void observe();
  Result<Vector> finish(bool is_found);
  std::int64_t choose_pairs();
  bool is_last_level_cut(const std::vector<double>& eigenvalues) const;
  Vector pair_basis(WorkspaceScope<Space>& scope) const;
  HostMatrix<Real> rotate_to_ritz_vectors_of_a(const Vector& x);
  void measure_distances();
  void refine(const Result<Vector>& result);

  InteriorPencil<Vector>& pencil_;
  InteriorOptions options_;
  SpectrumLook<Real> look_;
  Real target_, norm_;
  Journal<Vector> journal_;
  KrylovSpace<Vector> space_;
  Vector vectors_;
  DeltaFilter<Vector> filter_;
  Real distance_ = 0;  // how far its window reaches
  int changes_ = 0;    // of it
  Real most_ = 0;      // C has no greater value within the limit
  Real surely_ = 0;    // and where it is below this one, an eigenvalue lies within the limit
  Real lost_ = 0;      // of what C makes of a wanted vector, by its part in what is locked beyond

  std::vector<Real> distances_;  // from the target, of what is locked, once enough is
  std::vector<Real> beside_;     // of Ritz values of A that are not wanted
  bool is_room_short_ = false;   // more pairs than there is room for lie in the interval
  bool takes_ties_ = false;
  Real distrust_ = first_distrust;
  std::int64_t found_ = 0, starts_ = 0, restarts_ = 0;  // found_: in this round
  bool is_first_ = true, is_check_ = false;             // this round: nothing was locked before it, or enough
  std::int64_t next_look_ = 0;                          // columns of the basis from which on Ritz pairs are due
  int start_width_ = 0, steps_ = 0;                     // of the latest start; since then, or -1 after a restart
  int refinements_ = 0;
};

}  // namespace blockvec::solvers

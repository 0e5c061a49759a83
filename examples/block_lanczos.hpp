#pragma once

#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/orth/dense.hpp>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "chebyshev_filter.hpp"
#include "input_error.hpp"
#include "krylov_space.hpp"
#include "lanczos_checkpoint.hpp"
#include "lanczos_types.hpp"
#include "spectrum_probe.hpp"

namespace blockvec::examples {

/// Thick-restart block Lanczos for a few eigenpairs at one end of the spectrum of a Hermitian operator.
///
/// Sources: Wu & Simon 2000, "Thick-restart Lanczos method for large symmetric eigenvalue problems" (SIAM J. Matrix
/// Anal. Appl. 22, 602); in blocks, Zhou & Saad 2008 (Numer. Algorithms 47, 341). A short Lanczos run (see
/// spectrum_probe.hpp) tells what to filter (see chebyshev_filter.hpp) before the first block. The constructor
/// allocates what the search needs.
///
/// A Krylov space that is started from s random vectors contains at most s copies of an eigenvalue, so: an eigenvalue
/// found less than s times is complete, and where one below the last wanted eigenvalue is found s times, another search
/// is started from a fresh random block orthogonal to everything found. It goes on until its lowest Ritz value shows
/// that nothing wanted is left. That costs about half of what the first search did, and nothing where the block is
/// wider than the multiplicities.
///
/// Operator offers context(), rows() and apply(alpha, shift, X, beta, Y) as SparseOperator does.
template <class Operator, class Scalar, class Layout>
class BlockLanczos {
 public:
  using Vector = BlockVector<Scalar, Layout>;
  using Real = RealOf<Scalar>;
  using Small = SmallMatrix<Scalar>;
  using Result = LanczosResult<Scalar, Layout>;

  BlockLanczos(Operator& a, const LanczosOptions& options, LanczosObserver observer)
      : a_(a),
        options_(checked(options, a.rows().global_rows())),
        observer_(std::move(observer)),
        sign_(options.which == Which::smallest ? Real(1) : Real(-1)),
        transform_(a, sign_),
        checkpoint_(a, options_),
        space_(a.context(), a.rows(), options_.basis, options_.block, options.orth),
        vectors_(a.context(), a.rows(), options_.wanted, "eigenvectors"),
        first_reduction_(a.context().reductions()) {
    // Scratch memory for all that follows: an image of the wanted vectors, and what products need beside it.
    WorkspaceScope<> scope(a.context());
    fill(scratch_like(scope, vectors_, options_.wanted + 2 * options_.block), Scalar(0));
  }

  /// All that the search goes on from before a block, for an archive (state_archive.hpp).
  template <class Archive>
  void state(Archive& archive) {
    double elapsed = seconds();
    std::int64_t counted = reductions();
    archive(elapsed, counted, transform_, space_, pairs_, history_, norm_, top_, distrust_, filter_allowed_,
            is_crowded_, latest_find_, is_check_, suspect_, found_in_search_, found_at_once_, refinements_, starts_,
            restarts_, applications_);
    if constexpr (Archive::reads) {
      begin_ = Clock::now() - std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(elapsed));
      first_reduction_ = a_.context().reductions() - counted;
    }
  }

  Result solve() {
    if (checkpoint_.is_continuation()) {
      checkpoint_.restore(*this);
    } else {
      choose_filter();
      start_search();
    }
    for (;;) {
      if (search() != Outcome::found) return finish(false);
      if (has_suspect() && found_in_search_ > 0) {
        start_search();
        continue;
      }
      Result result = finish(true);
      if (result.converged || refinements_++ == most_refinements) return result;
      refine(result);
    }
  }

 private:
  enum class Outcome { found, gave_up, stopped };
  /// What is to happen before the next block, the stronger the later it stands here.
  enum class Wish : std::int64_t { go_on, save, stop, fail };
  /// A pair that was found, in terms of sign * A.
  struct Pair {
    Real value = 0;
    Real residual = 0;  // recomputed
    Real estimate = 0;

    template <class Archive>
    void state(Archive& archive) {
      archive(value, residual, estimate);
    }
  };

  static Real real_part(Scalar value) {
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      return value.real();
    } else {
      return value;
    }
  }

  // ---- the iteration
  // -------------------------------------------------------------------------------------------------

  void start_search() {
    drop_surplus();
    is_check_ = std::ssize(pairs_) >= options_.wanted;
    suspect_ = highest_suspect();
    found_in_search_ = 0;
    starts_ += space_.start_random(options_.seed, starts_);
  }

  /// Goes on until the wanted pairs are locked or, where enough are, until nothing below the last of them is left.
  Outcome search() {
    for (;;) {
      if (!space_.trouble().empty()) return Outcome::gave_up;
      while (space_.has_room()) {
        if (wish_ != Wish::go_on) save();
        if (wish_ == Wish::stop) return Outcome::stopped;
        applications_ += space_.next() * std::max(1, transform_.degree());
        space_.extend(transform_);
        space_.rayleigh_ritz();
        observe();
        if (!space_.trouble().empty()) return Outcome::gave_up;
        if (nothing_left() || (to_find() > 0 && count_converged() >= to_find())) break;
      }
      if (nothing_left()) return Outcome::found;

      const std::int64_t ready = std::min(count_converged(), to_find());
      const bool is_last = ready > 0 && ready == to_find();
      space_.restart(is_last ? ready : kept_at_restart());
      ++restarts_;
      lock_verified(ready);
      if (!is_check_ && to_find() == 0) return Outcome::found;
      // What a check finds takes room; the next one begins without the pairs that are wanted no more.
      if (is_check_ && found_in_search_ > 0 && (to_find() == 0 || !space_.has_room())) return Outcome::found;
      if (restarts_ >= options_.max_restarts) return Outcome::gave_up;
      if (space_.next() == 0) {
        start_search();  // an invariant subspace that does not hold all that is wanted
      } else {
        improve_filter();
      }
    }
  }

  /// Wanted Ritz pairs, half of what lies between them and the end of the basis, and room for two more blocks.
  std::int64_t kept_at_restart() const {
    const std::int64_t active = space_.active();
    const std::int64_t wished = to_find() + std::max(options_.block, (active - to_find()) / 2);
    return space_.next() == 0 ? active
                              : std::max(std::min(wished, active - 2 * space_.next()), std::min(to_find(), active));
  }

  /// Leading Ritz pairs whose estimated residual is small enough. Half of the tolerance, since what couples a locked
  /// pair to the others is neglected from then on.
  std::int64_t count_converged() const {
    std::int64_t count = 0;
    while (count < space_.active() && estimate(count) <= tolerance() / 2) ++count;
    return count;
  }

  /// Residual norm of sign * A for a Ritz pair of the transform, as far as the coupling tells.
  Real estimate(std::int64_t index) const {
    const auto i = static_cast<std::size_t>(index);
    if (space_.residuals()[i] == 0) return 0;
    return distrust_ * transform_.residual_factor(space_.values()[i]) * space_.residuals()[i];
  }

  Real tolerance() const { return static_cast<Real>(options_.tolerance) * norm_; }

  /// Pairs that are still wanted: as many as are missing or, where enough are locked, those that lie below the last of
  /// these.
  std::int64_t to_find() const {
    const auto wanted = static_cast<std::size_t>(options_.wanted);
    if (pairs_.size() < wanted) return static_cast<std::int64_t>(wanted - pairs_.size());
    const Real limit = transform_.value(threshold());
    return std::lower_bound(space_.values().begin(), space_.values().end(), limit) - space_.values().begin();
  }

  /// Locks the leading `count` active pairs, as far as their residuals, recomputed from A, are small enough.
  void lock_verified(std::int64_t count) {
    if (count == 0) return;
    const std::vector<Pair> found = recompute(space_.active_vectors(count));
    std::int64_t verified = 0;
    for (; verified < count; ++verified) {
      const Pair& pair = found[static_cast<std::size_t>(verified)];
      if (pair.value >= transform_.cut()) {  // an eigenvalue above what was taken for the top
        transform_ = Transform(a_, sign_);
        filter_allowed_ = false;
        start_search();
        return;
      }
      if (pair.residual > tolerance()) {
        distrust_ *= 2 * pair.residual / tolerance();
        break;
      }
      pairs_.push_back({pair.value, pair.residual, estimate(verified)});
    }
    found_in_search_ += verified;
    if (verified > 0) latest_find_ = restarts_;
    found_at_once_ = verified;
    space_.lock(verified);
  }

  /// Rayleigh quotients and residual norms of sign * A for orthonormal columns.
  std::vector<Pair> recompute(const Vector& x) {
    WorkspaceScope<> scope(a_.context());
    const std::int64_t width = x.width();
    const Vector ax = scratch_like(scope, x, width);
    const Small products = Small::scratch(scope, width, width);
    const auto row = SmallMatrix<Real>::scratch(scope, 1, width);
    apply(x, ax);
    column_dots(x, ax, products.block(0, 1, 0, width));
    const auto dots = products.block(0, 1, 0, width).to_host();
    std::vector<Pair> pairs(static_cast<std::size_t>(width));
    HostMatrix<Scalar> quotients("BlockVec::examples::quotients", pairs.size(), pairs.size());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      pairs[i].value = real_part(dots(0, i));
      norm_ = std::max(norm_, std::abs(pairs[i].value));
      quotients(i, i) = Scalar(pairs[i].value);
    }
    products.from_host(quotients);
    update(Scalar(-1), x, products, Scalar(1), ax);
    column_norms(ax, row);
    const auto norms = row.to_host();
    for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i].residual = norms(0, i);
    return pairs;
  }

  // ---- multiplicities
  // -------------------------------------------------------------------------------------------------

  /// The last wanted eigenvalue among the locked ones, less what separates eigenvalues that count as equal.
  Real threshold() const {
    if (std::ssize(pairs_) < options_.wanted) return std::numeric_limits<Real>::infinity();
    return sorted_values()[static_cast<std::size_t>(options_.wanted - 1)] - same_eigenvalue * tolerance();
  }

  std::vector<Real> sorted_values() const {
    std::vector<Real> values;
    for (const Pair& pair : pairs_) values.push_back(pair.value);
    std::sort(values.begin(), values.end());
    return values;
  }

  /// The highest eigenvalue below the threshold that was found as often as there were random starting vectors, so that
  /// there may be more of it; minus infinity if there is none.
  Real highest_suspect() const {
    Real highest = -std::numeric_limits<Real>::infinity();
    if (space_.is_complete()) return highest;
    const std::vector<Real> values = sorted_values();
    for (std::size_t begin = 0, end = 0; begin < values.size(); begin = end) {
      while (end < values.size() && values[end] - values[begin] <= same_eigenvalue * tolerance()) ++end;
      if (values[begin] < threshold() && static_cast<std::int64_t>(end - begin) >= starts_) highest = values[begin];
    }
    return highest;
  }
  bool has_suspect() const { return highest_suspect() > -std::numeric_limits<Real>::infinity(); }

  /// In a search beside enough locked pairs: does the lowest Ritz value show that nothing below the threshold is left?
  /// It does if its pair has converged so far that a suspect, which the process favours, would have come out long
  /// before (the chance to miss one is about that of a random vector to be orthogonal to it to this ratio), and if the
  /// bound of Kato and Temple keeps it above the threshold.
  bool nothing_left() const {
    if (!is_check_) return false;
    if (space_.is_complete()) return to_find() == 0;
    if (space_.active() == 0) return false;
    const Real lowest = space_.values()[0];
    const Real residual = space_.residuals()[0];
    if (!(residual <= missing_ratio * (lowest - transform_.value(suspect_)))) return false;
    const Real gap = space_.active() > 1 ? space_.values()[1] - space_.residuals()[1] - lowest : Real(0);
    const Real distance = gap > residual ? residual * (residual / gap) : residual;
    return lowest - distance >= transform_.value(threshold());
  }

  /// More pairs than wanted may have been found: the highest leave the basis.
  void drop_surplus() {
    while (std::ssize(pairs_) > options_.wanted) {
      const auto highest = std::max_element(pairs_.begin(), pairs_.end(),
                                            [](const Pair& a, const Pair& b) { return a.value < b.value; });
      space_.drop_locked(highest - pairs_.begin());
      *highest = pairs_.back();
      pairs_.pop_back();
    }
  }

  // ---- the filter
  // -----------------------------------------------------------------------------------------------------

  /// Before the first search: a filter for the spectrum as a short look shows it, if the basis is small beside the
  /// matrix. A level of more copies than the basis has columns is kept in one piece. Each start finds only a block of
  /// its copies, with a filter or without. So there is no filter where plain steps within one basis do as much, and
  /// none that looks into the level before a search without it has had its time.
  void choose_filter() {
    if (options_.filter_degree == 0 || a_.rows().global_rows() <= options_.basis) return;
    SpectrumProbe<Operator, Scalar, Layout> probe(a_, sign_);
    const auto bounds = probe.run(static_cast<Real>(options_.basis), least_filtered_gap<Real>(), options_.seed);
    applications_ += probe.applications();
    if (!bounds) return;
    norm_ = bounds->norm;
    top_ = bounds->top;
    is_crowded_ = bounds->is_crowded;
    const std::int64_t steps = options_.basis / options_.block;
    const bool is_automatic = options_.filter_degree == LanczosOptions::automatic_filter;
    if (is_crowded_ && is_automatic && filter_degree_for(bounds->lowest, bounds->cut, top_) <= steps) return;
    set_filter(bounds->lowest, bounds->cut);
  }

  /// The filter for this cut, of the degree asked for or of one that raises the lowest eigenvalue to filter_range.
  /// Nothing if that is hardly better than what there is.
  bool set_filter(Real lowest, Real cut) {
    if (!(lowest < cut && cut < top_)) return false;
    int degree = options_.filter_degree;
    if (degree < 0) {
      degree = filter_degree_for(lowest, cut, top_);
      if (degree < std::max<double>(least_degree, filter_improvement * transform_.degree())) return false;
    }
    transform_ = Transform(a_, sign_, cut, top_, degree);
    return true;
  }

  /// Right after a restart: where the Ritz values known by now ask for a filter (or a much stronger one), begins again
  /// with it, from combinations of the Ritz vectors. While pairs are found, what finds them stays.
  void improve_filter() {
    if (!filter_allowed_ || options_.filter_degree == 0 || (transform_.degree() > 0 && options_.filter_degree > 0)) {
      return;
    }
    const bool is_stalled = restarts_ - latest_find_ >= patience;
    if (!is_stalled && (is_crowded_ || !pairs_.empty())) return;
    const auto& values = space_.values();
    const auto first_unwanted = static_cast<std::size_t>(to_find());
    if (first_unwanted >= values.size() || (first_unwanted < 1 && pairs_.empty())) return;
    Real lowest = transform_.eigenvalue(values[0]);
    Real last = first_unwanted > 0 ? transform_.eigenvalue(values[first_unwanted - 1]) : lowest;
    for (const Pair& pair : pairs_) {
      lowest = std::min(lowest, pair.value);
      last = std::max(last, pair.value);
    }
    // The unwanted part begins clearly above the last wanted eigenvalue, which may have copies: a filter that cuts
    // right above it would not tell it from what is damped.
    const Real clear = std::max(least_cut_gap * (last - lowest), same_eigenvalue * tolerance());
    std::size_t first_damped = first_unwanted;
    while (first_damped + 1 < values.size() && transform_.eigenvalue(values[first_damped]) < last + clear) {
      ++first_damped;
    }
    const Real cut = transform_.eigenvalue(values[first_damped]);
    if (!set_filter(lowest, cut)) return;
    latest_find_ = restarts_;
    const std::int64_t count = std::max<std::int64_t>(1, to_find()) + options_.block;
    space_.start_from_active(std::min<std::int64_t>(space_.active(), count), options_.seed);
  }

  // ---- results
  // --------------------------------------------------------------------------------------------------------

  /// The lowest Ritz vectors of A itself in the span of an orthonormal basis.
  void rayleigh_ritz(const Vector& basis, const Vector& vectors) {
    WorkspaceScope<> scope(a_.context());
    const std::int64_t columns = basis.width();
    const Vector image = scratch_like(scope, basis, columns);
    const Small g = Small::scratch(scope, columns, columns);
    const auto values = SmallMatrix<Real>::scratch(scope, 1, columns);
    apply(basis, image);
    inner_product(basis, image, g);
    orth::dense::eigendecomposition(g, values, g);
    update(Scalar(1), basis, g.block(0, columns, 0, vectors.width()), Scalar(0), vectors);
  }

  /// The wanted ones of all pairs that were found, with residuals recomputed from A.
  Result finish(bool found) {
    const std::int64_t missing = std::max<std::int64_t>(0, options_.wanted - std::ssize(pairs_));
    if (wish_ == Wish::stop) space_.settle(missing);
    const std::int64_t columns = space_.locked() + (found ? 0 : std::min(missing, space_.active()));
    const std::int64_t width = std::min(columns, options_.wanted);
    const Vector basis = space_.leading_vectors(columns);

    Result result;
    result.vectors = vectors_.columns(0, width);
    // Pairs that were found at once are Ritz pairs, and their residuals known.
    const bool is_done = found && width == options_.wanted && columns == width && found_at_once_ == width;
    is_done ? copy(basis, result.vectors) : rayleigh_ritz(basis, result.vectors);
    const std::vector<Pair> recomputed = is_done ? pairs_ : recompute(result.vectors);

    std::vector<Pair> estimated = pairs_;
    for (std::int64_t i = 0; i < columns - space_.locked(); ++i) {
      estimated.push_back({transform_.eigenvalue(space_.values()[static_cast<std::size_t>(i)]), 0, estimate(i)});
    }
    std::sort(estimated.begin(), estimated.end(), [](const Pair& a, const Pair& b) { return a.value < b.value; });
    result.converged = found && width == options_.wanted;
    if (!found) result.stopped = stopped_;
    if (!space_.trouble().empty()) result.stopped = "a block could not be made orthonormal: " + space_.trouble();
    for (std::size_t i = 0; i < recomputed.size(); ++i) {
      result.eigenvalues.push_back(static_cast<double>(sign_ * recomputed[i].value));
      result.residual_norms.push_back(static_cast<double>(recomputed[i].residual));
      result.residual_estimates.push_back(static_cast<double>(bounded(estimated[i].estimate)));
      if (!(recomputed[i].residual <= tolerance())) result.converged = false;
    }
    result.orthogonality_loss = static_cast<double>(orth::orthogonality_loss(result.vectors));
    result.norm_estimate = static_cast<double>(norm_);
    result.restarts = restarts_;
    result.starts = starts_;
    result.applications = applications_;
    result.reductions = reductions();
    result.filter_degree = transform_.degree();
    result.seconds = seconds();
    result.history = history_;
    return result;
  }

  /// Begins again beside the pairs that are good enough, with vectors that are not.
  void refine(const Result& result) {
    const auto wanted = static_cast<std::size_t>(result.vectors.width());
    std::vector<std::int64_t> good;
    std::vector<std::int64_t> bad;
    pairs_.clear();
    for (std::size_t i = 0; i < wanted; ++i) {
      const auto residual = static_cast<Real>(result.residual_norms[i]);
      if (residual <= tolerance() / 2) {
        good.push_back(static_cast<std::int64_t>(i));
        pairs_.push_back({sign_ * static_cast<Real>(result.eigenvalues[i]), residual, residual});
      } else if (std::ssize(bad) < options_.block) {
        bad.push_back(static_cast<std::int64_t>(i));
      }
    }
    distrust_ *= 4;
    is_check_ = false;
    found_in_search_ = 0;
    space_.start_from(result.vectors, good, bad);
  }

  void apply(const Vector& x, const Vector& y) {
    a_.apply(Scalar(sign_), Scalar(0), x, Scalar(0), y);
    applications_ += x.width();
  }

  void observe() {
    if (transform_.degree() == 0) {
      for (std::size_t i = 0; i < space_.values().size(); ++i) {
        norm_ = std::max(norm_, std::abs(space_.values()[i]));
        top_ = std::max(top_, space_.values()[i] + space_.residuals()[i]);  // a bound in practice: Zhou, Li 2011
      }
    }
    LanczosStep step;
    step.restart = restarts_;
    step.converged = std::min(std::ssize(pairs_), options_.wanted);
    step.seconds = seconds();
    step.reductions = reductions();
    step.applications = applications_;
    step.filter_degree = transform_.degree();
    std::vector<std::pair<Real, Real>> pairs;
    for (const Pair& pair : pairs_) pairs.emplace_back(pair.value, pair.residual);
    for (std::int64_t i = 0; i < std::min(space_.active(), options_.wanted); ++i) {
      pairs.emplace_back(transform_.eigenvalue(space_.values()[static_cast<std::size_t>(i)]), bounded(estimate(i)));
    }
    std::stable_sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    pairs.resize(std::min(pairs.size(), static_cast<std::size_t>(options_.wanted)));
    for (const auto& pair : pairs) step.residuals.push_back(static_cast<double>(pair.second));
    add_found(step);
    wish_ = agreed_wish(step);
    if (wish_ == Wish::stop) stopped_ = stopped_by_observer;
    history_.push_back(std::move(step));
  }

  /// The wanted ones of the locked pairs.
  void add_found(LanczosStep& step) const {
    std::vector<Pair> found = pairs_;
    std::sort(found.begin(), found.end(), [](const Pair& a, const Pair& b) { return a.value < b.value; });
    found.resize(static_cast<std::size_t>(step.converged));
    for (const Pair& pair : found) {
      step.eigenvalues.push_back(static_cast<double>(sign_ * pair.value));
      step.residual_norms.push_back(static_cast<double>(pair.residual));
    }
  }

  /// The strongest wish of the observers and of the first rank's clock. One reduction of a word, which does not count
  /// as one of the method's.
  Wish agreed_wish(const LanczosStep& step) const {
    const Communicator& communicator = a_.context().communicator();
    Wish wish = communicator.rank() == 0 && checkpoint_.is_due() ? Wish::save : Wish::go_on;
    std::string message;
    try {
      if (observer_ && !observer_(step)) wish = Wish::stop;
    } catch (const std::exception& error) {
      wish = Wish::fail;
      message = error.what();
    }
    auto strongest = static_cast<std::int64_t>(wish);
    communicator.max(std::span(&strongest, 1));
    if (strongest == static_cast<std::int64_t>(Wish::fail)) communicator.agree(wish != Wish::fail, message);
    return static_cast<Wish>(strongest);
  }

  /// Writes a checkpoint, if there is to be one. Where that fails the search ends: what it has found is worth more than
  /// what nobody could go on from.
  void save() {
    if (!checkpoint_.is_wanted()) return;
    try {
      checkpoint_.save(*this);
    } catch (const InputError& error) {
      stopped_ += (stopped_.empty() ? "" : "; ") + std::string(error.what());
      wish_ = Wish::stop;
    }
  }

  /// No residual of a unit vector is larger than this.
  Real bounded(Real residual) const { return std::min(residual, 2 * norm_); }

  std::int64_t reductions() const { return a_.context().reductions() - first_reduction_; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  using Clock = std::chrono::steady_clock;
  using Transform = SpectralTransform<Operator, Scalar, Layout>;

  static constexpr Real same_eigenvalue = 10;  // times the tolerance: two eigenvalues count as one
  static constexpr Real missing_ratio = Real(1e-3);
  static constexpr Real least_cut_gap = Real(0.1);   // between the wanted part and the cut, in widths of the former
  static constexpr double filter_improvement = 1.5;  // a change of filter must raise the degree by this
  static constexpr int least_degree = 3;
  static constexpr std::int64_t patience = 30;  // restarts that find nothing before the filter changes
  static constexpr int most_refinements = 3;

  Operator& a_;
  LanczosOptions options_;
  LanczosObserver observer_;
  Real sign_;
  Transform transform_;
  LanczosCheckpoint<Operator, Scalar, Layout> checkpoint_;
  KrylovSpace<Scalar, Layout> space_;
  Vector vectors_;
  std::vector<Pair> pairs_;  // locked, in the order of their columns
  std::vector<LanczosStep> history_;
  Wish wish_ = Wish::go_on;
  std::string stopped_;  // why
  Real norm_ = 0;
  Real top_ = -std::numeric_limits<Real>::infinity();
  Real distrust_ = 1;  // by how much estimates were found to be too small
  bool filter_allowed_ = true;
  bool is_crowded_ = false;       // the lowest level has more copies than the basis has columns
  std::int64_t latest_find_ = 0;  // the restart at which a pair was found, or the filter changed, last
  bool is_check_ = false;         // this search is for what others may have missed
  Real suspect_ = 0;              // the highest eigenvalue that it may find again
  std::int64_t found_in_search_ = 0;
  std::int64_t found_at_once_ = 0;  // at the latest restart that found any
  int refinements_ = 0;
  std::int64_t starts_ = 0;
  std::int64_t restarts_ = 0;
  std::int64_t applications_ = 0;
  std::int64_t first_reduction_;
  Clock::time_point begin_ = Clock::now();
};

/// The eigenpairs of `a`, a SparseOperator or anything alike, at the end of the spectrum that the options name.
/// Collective. Not converged within max_restarts: result.converged is false, and the pairs are the best ones known. So
/// it is where an observer asks to stop, or orthogonalisation without escalation fails; result.stopped then says which.
/// Memory: (basis + 3 block + 2 wanted) columns. Throws InputError for options that do not fit, OutOfMemoryError naming
/// the bytes.
template <class Scalar, class Layout, class Operator>
LanczosResult<Scalar, Layout> block_lanczos(Operator& a, const LanczosOptions& options, LanczosObserver observer = {}) {
  return BlockLanczos<Operator, Scalar, Layout>(a, options, std::move(observer)).solve();
}

}  // namespace blockvec::examples

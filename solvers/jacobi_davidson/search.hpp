#pragma once

#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/column_operations.hpp>
#include <blockvec/small_on_host.hpp>
#include <blockvec/solvers/jacobi_davidson.hpp>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "solvers/jacobi_davidson/correction.hpp"
#include "solvers/pencil.hpp"
#include "solvers/progress.hpp"
#include "solvers/stopping.hpp"
#include "solvers/subspace_problem.hpp"

namespace blockvec::solvers {

/// The outer loop of block Jacobi-Davidson. Tall data: [locked X P W] side by side with their images under sign * A,
/// and under B where there is one; X are all Ritz vectors of the basis, P previous directions after a restart, W the
/// newest corrections. The constructor allocates what the search needs.
template <class Vector>
class JacobiDavidsonSearch {
 public:
  using Scalar = typename Vector::Scalar;
  using Layout = typename Vector::Layout;
  using Space = typename Vector::Space;
  using Real = RealOf<Scalar>;

  /// The options are checked().
  JacobiDavidsonSearch(const Problem<Vector>& problem, const JacobiDavidsonOptions& options, const Observer& observer)
      : problem_(problem),
        options_(options),
        sign_(options.which == Which::smallest ? Real(1) : Real(-1)),
        pencil_("jacobi_davidson", problem, sign_, options.orth),
        uses_preconditioner_(static_cast<bool>(problem.precondition)),
        stopping_(context().communicator(), observer),
        basis_(context(), problem.a.rows(), options.wanted + options.basis + 3 * options.block, "X P W"),
        image_(context(), problem.a.rows(), basis_.width(), "A X P W"),
        small_(context(), options.basis + options.block),
        correction_(pencil_, options.block),
        residual_(context(), problem.a.rows(), options.block, "residuals"),
        first_reduction_(context().reductions()) {
    if (problem.b) b_image_ = Vector(context(), problem.a.rows(), basis_.width(), "B X P W");
  }
  JacobiDavidsonSearch(const JacobiDavidsonSearch&) = delete;
  JacobiDavidsonSearch& operator=(const JacobiDavidsonSearch&) = delete;

  Result<Vector> solve() {
    begin_ = Clock::now();
    const Vector model = basis_.columns(0, 1);
    pencil_.look(model, options_.seed);
    start(problem_.initial);
    for (int refinements = 0;; ++refinements) {
      do {
        iterate();
      } while (looks_again());
      Result<Vector> result = finish();
      if (!is_through() || result.converged() || refinements == most_refinements) return result;
      const Vector found = basis_.columns(0, options_.wanted).deep_copy("found");
      locked_ = 0;  // residuals, recomputed, are larger than the images had told
      values_.clear();
      found_residuals_.clear();
      stagnation_.forget();
      check_ = Check::none;
      start(found);
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int most_refinements = 3;
  static constexpr std::int64_t patience = 100;  // iterations, of some 20 products each
  /// Copies that the basis has no part of are invisible to it: once enough pairs are locked, a new one of random
  /// columns beside them looks for more below the last one.
  enum class Check { none, running, is_open };

  const Context& context() const { return problem_.a.context(); }
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  /// Enough pairs are locked, and what is left does not lie below them, as far as its residual tells.
  bool is_complete() const {
    if (locked_ < options_.wanted) return false;
    if (small_.x() == 0 || locked_ == locked_at_most()) return true;
    const double above = static_cast<double>(small_.theta().front()) - static_cast<double>(last_wanted());
    if (check_ == Check::none) return above >= -same();  // another search looks for more
    // A column that is on its way down may look like an eigenvector of a higher level for a while.
    const double settled = std::sqrt(options_.tolerance) * static_cast<double>(pencil_.norm_a);
    return above >= -same() && next_error() <= std::max(same(), std::min(above / 10, settled));
  }
  /// A few pairs more than wanted have room: of those that come to light late, some are lower than others.
  std::int64_t locked_at_most() const { return std::min(options_.wanted + 2 * options_.block, pencil_.dimensions()); }
  /// The highest of the wanted values that are locked.
  Real last_wanted() const {
    std::vector<Real> sorted(values_);
    std::nth_element(sorted.begin(), sorted.begin() + (options_.wanted - 1), sorted.end());
    return sorted[index(options_.wanted - 1)];
  }
  /// How far below the first of X its eigenvalue may lie.
  double next_error() const { return errors_.empty() ? 0 : errors_.front() * static_cast<double>(pencil_.norm_a); }
  /// Whether the column of X may still be a lower pair in disguise.
  bool looks_below(std::int64_t j) const {
    return check_ == Check::running && j == 0 && small_.theta()[index(j)] > last_wanted();
  }
  /// Two eigenvalues this close count as one.
  double same() const { return 10 * options_.tolerance * static_cast<double>(pencil_.norm_a); }
  std::int64_t to_find() const { return locked_at_most() - locked_; }
  /// Columns of X that a restart keeps.
  std::int64_t kept() const { return std::min(options_.kept, pencil_.dimensions() - locked_); }

  std::int64_t beside() const { return locked_ + small_.x() + small_.p(); }
  Vector subspace_of(const Vector& all, std::int64_t w) const { return all.columns(locked_, beside() + w); }
  Vector w_of(const Vector& all, std::int64_t w) const { return all.columns(beside(), beside() + w); }
  const Vector& b_images() const { return problem_.b ? b_image_ : basis_; }
  template <class Body>
  void for_all(const Body& body) {
    body(basis_);
    body(image_);
    if (problem_.b) body(b_image_);
  }

  bool is_through() const { return locked_ >= options_.wanted && (is_complete() || check_ == Check::is_open); }

  /// After iterate(): whether there is something to go on with.
  bool looks_again() {
    if (!is_complete() || stopping_.is_asked() || !pencil_.trouble.empty()) return false;
    if (check_ == Check::running && found_in_check_ == 0) return false;
    if (beside() == pencil_.dimensions()) return false;  // the basis is all there is
    keep_wanted();
    check_ = Check::running;
    found_in_check_ = 0;
    // It takes no longer than all before it.
    most_iterations_ = std::min(options_.max_iterations, 2 * iterations_ + 20);
    stagnation_.forget();
    start_beside_locked();
    return pencil_.trouble.empty();
  }

  /// Value and residual of the lowest locked pairs, at most `most` of them, in order.
  std::vector<std::pair<Real, double>> sorted_pairs(std::int64_t most) const {
    std::vector<std::pair<Real, double>> pairs;
    for (std::size_t j = 0; j < values_.size(); ++j) pairs.emplace_back(values_[j], found_residuals_[j]);
    std::stable_sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    pairs.resize(std::min(pairs.size(), index(most)));
    return pairs;
  }

  /// Of what is locked the lowest pairs stay, as many as are wanted.
  void keep_wanted() {
    const std::int64_t width = sort();
    const auto pairs = sorted_pairs(width);
    values_.clear();
    found_residuals_.clear();
    for (const auto& [value, residual] : pairs) {
      values_.push_back(value);
      found_residuals_.push_back(residual);
    }
    locked_ = width;
  }

  /// As start(), of random columns beside what is locked.
  void start_beside_locked() {
    has_restarted_ = false;
    const Vector locked = basis_.columns(0, locked_), b_locked = problem_.b ? b_image_.columns(0, locked_) : Vector();
    std::int64_t k = std::min(options_.kept, pencil_.dimensions() - locked_);
    const auto x_of = [&](const Vector& all) { return all.columns(locked_, locked_ + k); };
    fill_random(x_of(basis_), options_.seed + ++starts_);
    k = pencil_.orthonormalize(locked, b_locked, x_of(basis_), problem_.b ? x_of(b_image_) : Vector());
    if (pencil_.trouble.empty()) rayleigh_ritz(k);
  }

  /// X's first k columns, which are orthonormal, become Ritz vectors. No P.
  void rayleigh_ritz(std::int64_t k) {
    const auto x_of = [&](const Vector& all) { return all.columns(locked_, locked_ + k); };
    pencil_.apply_a(x_of(basis_), x_of(image_));
    const SmallMatrix<Scalar> g(context(), k, k);
    inner_product(x_of(basis_), x_of(image_), g);
    const auto z = small_.start(g);
    for_all([&](const Vector& all) { multiply_in_place(x_of(all), z); });
  }

  /// X becomes as many orthonormal columns as a restart keeps: `near` and random ones, as Ritz vectors.
  void start(const Vector& near) {
    const std::int64_t k = kept(), given = std::min(near.width(), k);
    const Vector x = basis_.columns(0, k);
    fill_random(x, options_.seed);
    if (given > 0) copy(near.columns(0, given), x.columns(0, given));
    const Vector bx = problem_.b ? b_image_.columns(0, k) : Vector();
    pencil_.orthonormalize_start(x, bx);
    rayleigh_ritz(k);
  }

  void iterate() {
    while (pencil_.trouble.empty()) {
      measure_residuals();
      if (lock()) measure_residuals();
      stagnation_.see(error_);
      observe();
      if (is_complete() || stopping_.is_asked() || iterations_ >= options_.max_iterations ||
          stagnation_.is_complete()) {
        return;
      }
      expand();
      ++iterations_;
    }
  }

  /// Residuals and backward errors of the first columns of X, at most a block of them.
  void measure_residuals() {
    const std::int64_t b = std::min(options_.block, small_.x());
    errors_.assign(index(b), 0);
    residuals_.assign(index(b), 0);
    margins_.clear();
    if (b == 0) return;
    const Vector x = basis_.columns(locked_, locked_ + b), bx = b_images().columns(locked_, locked_ + b);
    const Vector r = residual_.columns(0, b);
    WorkspaceScope<Space> scope(context());
    const auto minus_theta = SmallMatrix<Scalar, Space>::scratch(scope, 1, b);
    HostMatrix<Scalar> values("BlockVec::solvers::values", 1, index(b));
    for (std::int64_t j = 0; j < b; ++j) values(0, index(j)) = Scalar(-small_.theta()[index(j)]);
    minus_theta.from_host(values);
    copy(image_.columns(locked_, locked_ + b), r);
    axpby_columns(minus_theta, bx, Scalar(1), r);
    const auto squares = SmallMatrix<Scalar, Space>::scratch(scope, 2, b);
    InnerProducts<Scalar, Layout, Space>(context())
        .add_dots(r, r, squares.block(0, 1, 0, b))
        .add_dots(x, x, squares.block(1, 2, 0, b))
        .reduce();
    const auto host = squares.to_host();
    for (std::size_t j = 0; j < index(b); ++j) {
      const Real length = std::sqrt(real_part(host(0, j)));
      residuals_[j] = static_cast<double>(length);
      margins_.push_back(length * std::sqrt(real_part(host(1, j))));
      errors_[j] = pencil_.backward_error(length, small_.theta()[j], std::sqrt(real_part(host(1, j))));
      if (!std::isfinite(errors_[j])) throw NotFiniteError("jacobi_davidson: a residual is not finite");
    }
    const std::int64_t wanted = std::max<std::int64_t>(1, options_.wanted - locked_), looked_at = std::min(b, wanted);
    // What is not looked at counts as much as what is.
    error_ = log_error(std::span(errors_).first(index(looked_at)), options_.tolerance) * static_cast<double>(wanted) +
             static_cast<double>(locked_) * std::log10(options_.tolerance);
    error_ /= static_cast<double>(wanted + locked_);
  }

  /// Pairs that have converged, in order, at half the tolerance. Returns whether there were any.
  bool lock() {
    std::int64_t count = 0;
    while (count < to_find() && count < std::ssize(errors_) && errors_[index(count)] <= options_.tolerance / 2) {
      if (locked_ + count >= options_.wanted && !(small_.theta()[index(count)] < last_wanted())) break;
      values_.push_back(small_.theta()[index(count)]);
      found_residuals_.push_back(residuals_[index(count)]);
      ++count;
    }
    small_.remove(count);
    locked_ += count;
    found_in_check_ += count;
    return count > 0;
  }

  /// Corrections for the first pairs of X, and a basis that has them.
  void expand() {
    const std::int64_t room = pencil_.dimensions() - beside();
    std::int64_t w = std::min({options_.block, small_.x(), room});
    if (w > 0) {
      solve_corrections(w);
      w = pencil_.orthonormalize(basis_.columns(0, beside()), problem_.b ? b_image_.columns(0, beside()) : Vector(),
                                 w_of(basis_, w), problem_.b ? w_of(b_image_, w) : Vector());
      if (!pencil_.trouble.empty()) return;
    }
    if (w == 0 && room > 0) w = random_directions(std::min(options_.block, room));
    if (!pencil_.trouble.empty()) return;
    if (w > 0) {
      pencil_.apply_a(w_of(basis_, w), w_of(image_, w));
      inner_product(subspace_of(basis_, w), w_of(image_, w), small_.image_of_w(w));
    }
    const std::int64_t columns = small_.x() + small_.p() + w;
    const bool restarts = columns + options_.block > options_.basis;
    has_restarted_ = has_restarted_ || restarts;
    const std::int64_t keeps = restarts ? std::min(kept(), columns) : columns;
    std::vector<std::int64_t> previous(index(restarts ? std::min(options_.block, small_.x()) : 0));
    std::iota(previous.begin(), previous.end(), 0);
    const std::int64_t before = locked_, after = beside() + w;
    const auto c = small_.step(w, keeps, previous);
    for_all([&](const Vector& all) { multiply_in_place(all.columns(before, after), c); });
    for (const Real theta : small_.theta()) {
      if (!problem_.b) pencil_.norm_a = std::max(pencil_.norm_a, std::abs(theta));
    }
  }

  /// The corrections are all in the span of the basis: others take their place.
  std::int64_t random_directions(std::int64_t w) {
    fill_random(w_of(basis_, w), options_.seed + 1 + static_cast<std::uint64_t>(iterations_));
    return pencil_.orthonormalize(basis_.columns(0, beside()), problem_.b ? b_image_.columns(0, beside()) : Vector(),
                                  w_of(basis_, w), problem_.b ? w_of(b_image_, w) : Vector());
  }

  void solve_corrections(std::int64_t w) {
    const auto block_of = [&](const Vector& all) { return all.columns(locked_, locked_ + w); };
    using Out = typename Correction<Vector>::Projected;
    // What is locked and the block's own vectors lie side by side.
    const Out out{{pencil_.deflation(), basis_.columns(0, locked_ + w)},
                  {pencil_.b_deflation(), b_images().columns(0, locked_ + w)},
                  block_of(b_images())};
    std::vector<Real> theta(small_.theta().begin(), small_.theta().begin() + w), share;
    for (std::int64_t j = 0; j < w; ++j) {
      const double error = errors_[index(j)];
      // As far below the Ritz value as its eigenvalue may lie: a shift inside the spectrum would draw the column to
      // what is near it there. A column that looks for more below the last wanted value is drawn to the lowest one.
      theta[index(j)] = looks_below(j) ? *std::min_element(values_.begin(), values_.end()) - static_cast<Real>(same())
                                       : theta[index(j)] - margins_[index(j)];
      share.push_back(static_cast<Real>(error > 0 ? std::max(0.1, 0.25 * options_.tolerance / error) : 1));
    }
    std::vector<double> shifts;
    for (const Real value : theta) shifts.push_back(static_cast<double>(sign_ * value));
    const std::function<void(const Vector&, const Vector&)> precondition = [&](const Vector& r, const Vector& z) {
      problem_.precondition(shifts, r, z);
      preconditionings_ += r.width();
    };
    const Vector r = residual_.columns(0, w), t = w_of(basis_, w);
    if (!has_restarted_) {
      if (uses_preconditioner_) {
        precondition(r, t);
      } else {
        copy(r, t);
      }
      return;
    }
    if (uses_preconditioner_ && correction_.solve(theta, share, options_.inner_steps, out, r, t, &precondition)) return;
    uses_preconditioner_ = false;
    (void)correction_.solve(theta, share, options_.inner_steps, out, r, t,
                            static_cast<decltype(&precondition)>(nullptr));
  }

  void observe() {
    Step step;
    step.restart = iterations_;
    step.converged = std::min(locked_, options_.wanted);
    step.seconds = seconds();
    step.reductions = reductions();
    step.applications = pencil_.applications();
    step.residuals.assign(found_residuals_.begin(), found_residuals_.begin() + step.converged);
    for (const double residual : residuals_) {
      if (std::ssize(step.residuals) < options_.wanted) step.residuals.push_back(residual);
    }
    for (std::int64_t j = 0; j < step.converged; ++j)
      step.eigenvalues.push_back(static_cast<double>(sign_ * values_[index(j)]));
    step.residual_norms = {found_residuals_.begin(), found_residuals_.begin() + step.converged};
    history_.push_back(step);
    stopping_.see(history_.back(), false);
  }

  /// The lowest pairs that are known, in order, as far as they are wanted, to the front of the basis. Returns how many.
  std::int64_t sort() {
    const std::int64_t known = locked_ + std::min(small_.x(), std::max<std::int64_t>(0, options_.wanted - locked_));
    const std::int64_t width = std::min(options_.wanted, known);
    std::vector<Real> values(values_);
    for (std::int64_t j = locked_; j < known; ++j) values.push_back(small_.theta()[index(j - locked_)]);
    std::vector<std::int64_t> order(index(known));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return values[index(a)] < values[index(b)]; });
    order.resize(index(width));
    if (std::is_sorted(order.begin(), order.end()) && (width == 0 || order.back() == width - 1)) return width;
    WorkspaceScope<Space> scope(context());
    const Vector sorted = scratch_like(scope, basis_, width);
    for_all([&](const Vector& all) {
      gather_columns(all, order, sorted);
      copy(sorted, all.columns(0, width));
    });
    return width;
  }

  /// The wanted pairs, with residuals recomputed from A and B. The basis is of no further use but for these.
  Result<Vector> finish() {
    Result<Vector> result;
    const bool is_found = is_through(), is_cut = is_found && (check_ == Check::is_open || is_last_level_cut());
    const std::int64_t width = sort();
    const bool is_right = pencil_.measure(basis_.columns(0, width), options_.tolerance, result) && is_found;
    for (const auto& [value, estimate] : sorted_pairs(width)) result.residual_estimates.push_back(estimate);
    result.residual_estimates.resize(index(width), 0);
    if (is_right) {
      result.status = Status::converged;
      result.last_level_cut = is_cut;
      if (problem_.precondition && !uses_preconditioner_)
        result.why = "the preconditioner was left out: it is not positive definite";
    } else if (!pencil_.trouble.empty()) {
      result.status = Status::breakdown;
      result.why = "a block could not be made orthonormal: " + pencil_.trouble;
    } else if (stopping_.is_asked()) {
      result.status = Status::stopped;
      result.why = stopping_.why();
    } else if (is_found) {
      result.why = "residuals recomputed from A stay above the tolerance";
    } else if (stagnation_.is_complete()) {
      result.why = "the residuals did not fall by a tenth in " + std::to_string(patience) + " iterations";
    } else {
      result.why = "not converged within " + std::to_string(iterations_) + " iterations";
    }
    result.iterations = iterations_;
    result.starts = options_.kept;
    result.preconditionings = preconditionings_;
    result.reductions = reductions();
    result.seconds = seconds();
    result.history = history_;
    return result;
  }

  /// Does a level go on beyond the last wanted pair? A pair that is locked beside the wanted ones tells, or else the
  /// first column of X that is left, as far as its residual allows.
  bool is_last_level_cut() const {
    if (options_.wanted == pencil_.dimensions()) return false;
    const auto last = static_cast<double>(last_wanted());
    const auto alike = std::count_if(values_.begin(), values_.end(),
                                     [&](Real value) { return static_cast<double>(value) <= last + same(); });
    if (alike > options_.wanted) return true;
    if (small_.x() == 0 || errors_.empty()) return true;  // nobody has looked
    return static_cast<double>(small_.theta().front()) - next_error() <= last + same();
  }

  std::int64_t reductions() const { return context().reductions() - first_reduction_; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  Problem<Vector> problem_;
  JacobiDavidsonOptions options_;
  Real sign_;
  Pencil<Vector> pencil_;
  bool uses_preconditioner_;
  std::int64_t preconditionings_ = 0;
  Stagnation stagnation_{patience};
  Stopping stopping_;
  Vector basis_, image_, b_image_;
  SubspaceProblem<Scalar> small_;
  Correction<Vector> correction_;
  Vector residual_;  // of the first columns of X

  bool has_restarted_ = false;  // this search; before, X is far from eigenvectors, and residuals do as well
  Check check_ = Check::none;
  std::int64_t found_in_check_ = 0, most_iterations_ = 0;
  std::uint64_t starts_ = 0;
  std::int64_t locked_ = 0;
  std::vector<Real> values_;  // of the locked ones
  std::vector<double> found_residuals_;
  std::vector<double> residuals_;  // of the first columns of X
  std::vector<Real> margins_;      // by how much their eigenvalues may lie below their Ritz values
  std::vector<double> errors_;     // their backward errors
  double error_ = 0;               // log_error() of what is wanted, as far as it is looked at
  std::int64_t iterations_ = 0;
  std::vector<Step> history_;
  std::int64_t first_reduction_;
  Clock::time_point begin_;
};

}  // namespace blockvec::solvers

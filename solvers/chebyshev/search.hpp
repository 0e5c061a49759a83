#pragma once

#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/column_operations.hpp>
#include <blockvec/small_on_host.hpp>
#include <blockvec/solvers/chebyshev.hpp>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "solvers/chebyshev/damped_interval.hpp"
#include "solvers/chebyshev/filter.hpp"
#include "solvers/course.hpp"
#include "solvers/pencil.hpp"
#include "solvers/progress.hpp"
#include "solvers/spectrum_look.hpp"

namespace blockvec::solvers {

/// The loop of Chebyshev-filtered subspace iteration, in terms of sign * A, whose lower end is the wanted one. Tall
/// data: X, k columns, those that are locked in front; as many for A X, or the residuals; a few for the filter. The
/// constructor allocates them.
template <class Vector>
class ChebyshevSearch {
 public:
  using Scalar = typename Vector::Scalar;
  using Layout = typename Vector::Layout;
  using Space = typename Vector::Space;
  using Real = RealOf<Scalar>;
  using Basis = orth::Basis<Scalar, Layout, Space>;

  /// The options are checked().
  ChebyshevSearch(const Problem<Vector>& problem, const ChebyshevOptions& options, const Observer& observer)
      : a_(problem.a),
        initial_(problem.initial),
        options_(options),
        sign_(options.which == Which::smallest ? Real(1) : Real(-1)),
        pencil_("chebyshev", problem, sign_, options.orth),
        columns_(options.wanted + options.extra),
        x_(context(), a_.rows(), columns_, "X"),
        residual_(context(), a_.rows(), columns_, "A X"),
        even_(context(), a_.rows(), std::min(columns_, options_.filter_width), "even Chebyshev terms"),
        odd_(context(), a_.rows(), even_.width(), "odd Chebyshev terms"),
        values_(index(columns_)),
        residuals_(index(columns_)),
        course_(context(), observer, options.max_iterations, patience) {}
  ChebyshevSearch(const ChebyshevSearch&) = delete;
  ChebyshevSearch& operator=(const ChebyshevSearch&) = delete;

  Result<Vector> solve() {
    course_.begin();
    start();
    for (int refinements = 0;; ++refinements) {
      iterate();
      Result<Vector> result = finish();
      if (!all_locked() || result.converged() || refinements == most_refinements) return result;
      locked_ = 0;  // residuals, recomputed, are larger than they had been
      course_.forget_errors();
      rayleigh_ritz();
    }
  }

 private:
  static constexpr int most_refinements = 3;
  static constexpr std::int64_t patience = 12;  // iterations

  const Context& context() const { return a_.context(); }
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  bool all_locked() const { return locked_ >= options_.wanted; }
  std::int64_t active() const { return columns_ - locked_; }
  Vector active_of(const Vector& all) const { return all.columns(locked_, columns_); }
  double error(std::int64_t j) const {
    return pencil_.backward_error(residuals_[index(j)], values_[index(j)], Real(1));
  }

  void start() {
    const auto look = look_at_spectrum(a_, sign_, x_, options_.seed);
    pencil_.count_applications(look.applications);
    pencil_.norm_a = look.norm();
    const std::int64_t n = x_.global_rows(), deflated = pencil_.deflation().width();
    // Above the lowest Ritz value, which may stand for a level of any number of copies.
    const Real next = look.values[std::min<std::size_t>(1, look.values.size() - 1)];
    const Real cut = std::max(look.place_of(columns_ + columns_ / 2 + deflated, n),
                              look.values.front() + (next - look.values.front()) / 2);
    last_wanted_ = look.place_of(options_.wanted + deflated, n);
    choice_ = IntervalChoice<Real>({look.values.front(), cut, look.top});
    fill_random(x_, options_.seed);
    // The last columns stay random, so that nothing is missed that the initial vectors lack.
    const std::int64_t given = std::min(initial_.width(), options_.wanted);
    if (given > 0) copy(initial_.columns(0, given), x_.columns(0, given));
    is_whole_space_ = columns_ == pencil_.dimensions();
    const bool is_filtered =
        options_.max_iterations > 0 && given == 0 && !is_whole_space_ && choice_.interval().half_width() > 0;
    if (!is_filtered || deflated > 0) orthonormalize(options_.orth);
    if (!pencil_.trouble.empty()) return;
    if (is_filtered) {
      step(false);
    } else {
      rayleigh_ritz();
    }
  }

  void iterate() {
    while (pencil_.trouble.empty()) {
      const double before = fallen_to_;
      lock();
      const auto errors = wanted_errors();
      fallen_to_ = log_error(errors, options_.tolerance / 4);
      observe();
      if (all_locked() || course_.is_over()) return;
      // Only columns that are not locked fall, while the mean is over all wanted ones.
      const auto open = std::max<std::int64_t>(1, options_.wanted - locked_);
      const double fall = (before - fallen_to_) * static_cast<double>(options_.wanted) / static_cast<double>(open);
      choice_.see(values_, residuals_, index(options_.wanted), fall);
      step(true);
    }
  }

  std::vector<double> wanted_errors() const {
    std::vector<double> errors;
    for (std::int64_t j = 0; j < options_.wanted; ++j) errors.push_back(error(j));
    return errors;
  }

  /// Pairs that have converged, in order from the wanted end. What couples them to others is neglected from then on, so
  /// half of the tolerance is asked for. Only what a filter has looked at beside random columns is known to be lowest.
  void lock() {
    if (!is_filtered_ && !is_whole_space_ && choice_.interval().half_width() > 0) return;
    while (locked_ < options_.wanted && error(locked_) <= options_.tolerance / 2) ++locked_;
  }

  /// X <- Ritz vectors of what the filter makes of X; has_pairs: X are Ritz vectors, with residuals.
  void step(bool has_pairs) {
    course_.count_iteration();
    if (choice_.interval().half_width() > 0) {
      choose_degrees();
      const Real condition = filtered_condition(has_pairs);
      for (std::int64_t begin = locked_; begin < columns_; begin += options_.filter_width) {
        filter(begin, std::min(begin + options_.filter_width, columns_), has_pairs);
      }
      is_filtered_ = true;
      orthonormalize(method_for(condition));
    }
    if (pencil_.trouble.empty()) rayleigh_ritz();
  }

  /// These columns of X go through the filter, in order of their degrees. It begins with the residuals, which tell
  /// A X = R + X diag(theta), so that this costs no product.
  void filter(std::int64_t begin, std::int64_t end, bool has_pairs) {
    const auto& interval = choice_.interval();
    const std::int64_t width = end - begin;
    const Vector x = x_.columns(begin, end), even = even_.columns(0, width), odd = odd_.columns(0, width);
    const auto degree = [&](std::int64_t i) { return degrees_[index(begin - locked_ + i)]; };
    std::vector<std::int64_t> order(index(width));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](auto i, auto j) { return degree(i) > degree(j); });
    std::vector<int> degrees;
    for (const std::int64_t i : order) degrees.push_back(degree(i));
    gather_columns(x, order, even);
    if (has_pairs) {
      gather_columns(residual_.columns(begin, end), order, odd);
      WorkspaceScope<Space> scope(context());
      const auto factors = SmallMatrix<Scalar, Space>::scratch(scope, 1, width);
      HostMatrix<Scalar> host("BlockVec::solvers::factors", 1, index(width));
      const Real t = interval.place(interval.lowest);
      for (std::size_t i = 0; i < order.size(); ++i) {
        host(0, i) = Scalar(interval.place(values_[index(begin + order[i])]) / t);
      }
      factors.from_host(host);
      axpby_columns(factors, even, Scalar(-1 / (t * interval.half_width())), odd);
    }
    pencil_.count_applications(chebyshev_filter(a_, sign_, interval, degrees, even, odd, has_pairs));
    copy(even, x);
  }

  /// The method asked for, or a stronger one for a block with this condition, which would break Cholesky QR.
  orth::Options method_for(Real condition) const {
    orth::Options options = options_.orth;
    options.deficiency = orth::Deficiency::replace;
    if (condition * condition * epsilon<Real> * 100 > 1 && options.within == orth::Within::cholqr2) {
      options.within = orth::Within::shifted_cholqr3;
      options.between = orth::Between::bcgs2;
    }
    return options;
  }

  void orthonormalize(orth::Options options) {
    options.deficiency = orth::Deficiency::replace;
    options.seed += index(course_.iterations());
    pencil_.see(orth::Orthogonalizer(context(), options)
                    .project_and_normalize(Basis{pencil_.deflation(), x_.columns(0, locked_)}, active_of(x_)));
  }

  /// Ritz values and vectors of the active columns, and their residuals.
  void rayleigh_ritz() {
    rotate();
    // Copies of a locked value that come late, or values below it: the order begins anew.
    if (locked_ > 0 &&
        values_[index(locked_)] < values_[index(locked_ - 1)] - Real(options_.tolerance) * pencil_.norm_a) {
      locked_ = 0;
      rotate();
    }
    for (const Real value : values_) pencil_.norm_a = std::max(pencil_.norm_a, std::abs(value));
  }
  void rotate() {
    const std::int64_t k = active();
    const Vector x = active_of(x_), ax = active_of(residual_);
    pencil_.apply_a(x, ax);
    const SmallMatrix<Scalar> g(context(), k, k);
    const SmallMatrix<Real> theta(context(), 1, k);
    inner_product(x, ax, g);
    orth::dense::eigendecomposition(g, theta, g);
    multiply_in_place(x, g);
    multiply_in_place(ax, g);
    WorkspaceScope<Space> scope(context());
    const auto values = SmallMatrix<Real, Space>::scratch(scope, 1, k);
    const auto norms = SmallMatrix<Real, Space>::scratch(scope, 1, k);
    values.from_host(theta.to_host());
    residual(x, values, ax, norms);
    const auto host = norms.to_host();
    for (std::int64_t j = 0; j < k; ++j) {
      const auto at = index(locked_ + j);
      values_[at] = theta.data()[j];
      residuals_[at] = host(0, index(j));
      if (std::isfinite(residuals_[at])) continue;
      throw NotFiniteError("chebyshev: the residual of column " + std::to_string(locked_ + j) + " of X is not finite");
    }
  }

  void observe() {
    Step step = look_at_pairs(sign_, std::span<const Real>(values_).first(index(locked_)), wanted_residuals());
    step.applications = pencil_.applications();
    step.filter_degree = highest_degree();
    course_.see(std::move(step), fallen_to_);
  }
  int highest_degree() const { return degrees_.empty() ? 0 : *std::max_element(degrees_.begin(), degrees_.end()); }
  std::vector<double> wanted_residuals() const { return {residuals_.begin(), residuals_.begin() + options_.wanted}; }

  // The degrees of a filter, of each active column, and what they lead to: solvers/chebyshev/degrees.hpp.
  void choose_degrees();
  int first_degree() const;
  Real filtered_condition(bool has_pairs) const;

  // The result: solvers/chebyshev/result.hpp.
  Result<Vector> finish();
  bool is_last_level_cut() const;

  AnyOperator<Vector> a_;
  Vector initial_;
  ChebyshevOptions options_;
  Real sign_;
  Pencil<Vector> pencil_;
  std::int64_t columns_;
  Vector x_, residual_, even_, odd_;      // the last two apart, so that a product finds its columns side by side
  std::vector<Real> values_, residuals_;  // of all columns
  Real last_wanted_ = 0;
  IntervalChoice<Real> choice_;
  Course course_;

  std::int64_t locked_ = 0;
  std::vector<int> degrees_;  // of the last filter, for each column that was active
  bool is_filtered_ = false, is_whole_space_ = false;
  double fallen_to_ = 0;  // log_error() of the wanted columns
};

}  // namespace blockvec::solvers

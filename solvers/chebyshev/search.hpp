#pragma once

#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/column_operations.hpp>
#include <blockvec/small_on_host.hpp>
#include <blockvec/solvers/chebyshev.hpp>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "solvers/chebyshev/damped_interval.hpp"
#include "solvers/chebyshev/single_filter.hpp"
#include "solvers/course.hpp"
#include "solvers/inverse_of_b.hpp"
#include "solvers/pencil.hpp"
#include "solvers/progress.hpp"
#include "solvers/spectrum_look.hpp"

namespace blockvec::solvers {

/// The loop of Chebyshev-filtered subspace iteration, in terms of sign * A, whose lower end is the wanted one. Tall
/// data: X, k columns, those that are locked in front; as many for A X, or the residuals, and for B X where there is a
/// B; a few for the filter. The constructor allocates them.
template <class Vector>
class ChebyshevSearch {
 public:
  using Scalar = typename Vector::Scalar;
  using Layout = typename Vector::Layout;
  using Space = typename Vector::Space;
  using Real = RealOf<Scalar>;
  using Basis = orth::Basis<Scalar, Layout, Space>;
  using Single = SingleFilter<Vector>;

  /// The options are checked().
  ChebyshevSearch(const Problem<Vector>& problem, const ChebyshevOptions& options, const Observer& observer)
      : a_(problem.a),
        a_single_(problem.a_single),
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
        lengths_(index(columns_), Real(1)),
        course_({problem, options.checkpoint, steering("chebyshev", options, own_steering(problem, options)), observer},
                options.max_iterations, patience) {
    if (pencil_.has_b()) b_image_ = Vector(context(), a_.rows(), columns_, "B X");
    if (a_single_) single_.emplace(*a_single_, even_.width());
  }
  ChebyshevSearch(const ChebyshevSearch&) = delete;
  ChebyshevSearch& operator=(const ChebyshevSearch&) = delete;

  Result<Vector> solve() {
    if (pencil_.has_b()) make_inverse();
    if (single_) require_close();
    is_resumed_ = course_.begin_or_resume(*this);
    if (!is_resumed_) start();
    if (leaves_single_) single_.reset();
    for (;; ++refinements_) {
      iterate();
      Result<Vector> result = finish();
      if (!all_locked() || result.converged() || refinements_ == most_refinements) return result;
      locked_ = 0;  // residuals, recomputed, are larger than they had been
      course_.forget_errors();
      rayleigh_ritz();
    }
  }

  /// All that the search goes on from after a look, for an archive (state_archive.hpp).
  template <class Archive>
  void state(Archive& archive) {
    archive(course_, pencil_, values_, residuals_, lengths_, last_wanted_, choice_, locked_, degrees_, is_filtered_,
            is_whole_space_, fallen_from_, fallen_to_, refinements_, applications_single_, until_trial_,
            fall_in_single_, is_leak_limited_, is_trial_, leaves_single_, is_out_of_range_);
    archive.tall(x_);
    archive.tall(residual_);
    if (pencil_.has_b()) archive.tall(b_image_);
  }

 private:
  static constexpr int most_refinements = 3;
  static constexpr std::int64_t patience = 12;  // iterations
  static constexpr double least_fall = IntervalChoice<Real>::least_fall;
  static constexpr double least_likeness = 1e-3;  // of A in single precision

  const Context& context() const { return a_.context(); }
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  static CheckpointHeader own_steering(const Problem<Vector>& problem, const ChebyshevOptions& options) {
    return {{"extra columns", fmt::format("{}", options.extra)},
            {"filter", fmt::format("first degree {}, at most {}, width {}{}", options.first_degree, options.most_degree,
                                   options.filter_width, problem.a_single ? ", in single precision" : "")}};
  }
  bool all_locked() const { return locked_ >= options_.wanted; }
  std::int64_t active() const { return columns_ - locked_; }
  Vector active_of(const Vector& all) const { return all.columns(locked_, columns_); }
  /// The columns of B X, none without a B.
  Vector b_image(std::int64_t begin, std::int64_t end) const {
    return pencil_.has_b() ? b_image_.columns(begin, end) : Vector();
  }
  double error(std::int64_t j) const {
    return pencil_.backward_error(residuals_[index(j)], values_[index(j)], lengths_[index(j)]);
  }
  /// By how much the eigenvalues may differ from the Ritz values.
  std::vector<Real> margins() const {
    std::vector<Real> result;
    for (std::size_t j = 0; j < residuals_.size(); ++j)
      result.push_back(Pencil<Vector>::eigenvalue_error(residuals_[j], lengths_[j]));
    return result;
  }
  /// Two Ritz values this close to that of column j count as one, to `times` the tolerance.
  Real same(std::int64_t j, Real times) const {
    return pencil_.eigenvalue_error_of(options_.tolerance * times, values_[index(j)], lengths_[index(j)]);
  }

  void iterate() {
    while (pencil_.trouble.empty()) {
      if (!std::exchange(is_resumed_, false)) {
        fallen_from_ = fallen_to_;
        lock();
        fallen_to_ = error_of(wanted_errors());
        observe();
      }
      if (all_locked()) return;
      course_.save_if_asked(*this);
      if (course_.is_over()) return;
      // Only columns that are not locked fall, while the mean is over all wanted ones.
      const auto open = std::max<std::int64_t>(1, options_.wanted - locked_);
      const double share = static_cast<double>(open) / static_cast<double>(options_.wanted);
      const double least = error_of(std::vector<double>(index(options_.wanted)));  // that of locked columns
      const double fall = (fallen_from_ - fallen_to_) / share, most = (fallen_from_ - least) / share;
      const bool is_slow = fall < std::min(least_fall, most / 2);
      if (single_) see_in_single(fall, is_slow);
      // Slow for another reason: that tells nothing of the interval.
      const bool is_held_up = is_slow && (is_trial_ || is_leak_limited_);
      choice_.see(values_, margins(), index(options_.wanted), is_slow && !is_held_up);
      if (is_held_up && is_leak_limited_) {  // locked columns become better along with the others
        locked_ = 0;
        rayleigh_ritz();
      }
      step(true);
    }
  }

  /// The best ones, where copies of the last wanted value go on in the extra columns: which copies stand before the
  /// others is up to rounding errors, and tells nothing of the filter.
  std::vector<double> wanted_errors() const {
    const std::int64_t last = options_.wanted - 1;
    const Real level = values_[index(last)] + same(last, 1);
    std::vector<double> errors;
    for (std::int64_t j = 0; j < columns_ && (j <= last || values_[index(j)] <= level); ++j) errors.push_back(error(j));
    std::sort(errors.begin(), errors.end());
    errors.resize(index(options_.wanted));
    return errors;
  }

  /// log_error() of wanted_errors(), as far as it counts.
  double error_of(const std::vector<double>& errors) const { return log_error(errors, options_.tolerance / 2); }

  /// Pairs that have converged, in order from the wanted end. What couples them to others is neglected from then on, so
  /// half of the tolerance is asked for. Where all that are left meet the tolerance at once, no iteration follows in
  /// which that would matter; a tenth is kept for what finish() computes anew. Only what a filter has looked at beside
  /// random columns is known to be lowest.
  void lock() {
    if (!is_filtered_ && !is_whole_space_ && choice_.interval().half_width() > 0) return;
    while (locked_ < options_.wanted && error(locked_) <= options_.tolerance / 2) ++locked_;
    std::int64_t last = locked_;
    while (last < options_.wanted && error(last) <= 0.9 * options_.tolerance) ++last;
    if (last == options_.wanted) locked_ = last;
  }

  /// X <- Ritz vectors of what the filter makes of X; has_pairs: X are Ritz vectors, with residuals.
  void step(bool has_pairs) {
    course_.count_iteration();
    if (choice_.interval().half_width() > 0) {
      choose_degrees();
      Real condition = filtered_condition(has_pairs);
      const Real last_wanted = values_[index(options_.wanted - 1)];
      for (std::int64_t begin = locked_; begin < columns_; begin += options_.filter_width) {
        filter(begin, std::min(begin + options_.filter_width, columns_), has_pairs, last_wanted);
      }
      if (is_single() && replace_lost_columns(last_wanted)) {
        condition = std::max(condition, chebyshev(first_degree(), choice_.interval().place(choice_.interval().lowest)));
      }
      is_filtered_ = true;
      orthonormalize(method_for(condition));
    }
    if (pencil_.trouble.empty()) rayleigh_ritz();
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
    options.seed += index(course_.iterations());
    pencil_.orthonormalize_beside(x_.columns(0, locked_), b_image(0, locked_), active_of(x_),
                                  b_image(locked_, columns_), options);
  }

  /// Ritz values and vectors of the active columns, and their residuals.
  void rayleigh_ritz() {
    rotate();
    // Copies of a locked value that come late, or values below it: the order begins anew.
    if (locked_ > 0 && values_[index(locked_)] < values_[index(locked_ - 1)] - same(locked_ - 1, 1)) {
      locked_ = 0;
      rotate();
    }
    if (pencil_.has_b()) return;  // norms of a pencil come from images
    for (const Real value : values_) pencil_.norm_a = std::max(pencil_.norm_a, std::abs(value));
  }

  void observe() {
    Step step = look_at_pairs(sign_, std::span<const Real>(values_).first(index(locked_)), wanted_residuals());
    step.applications = pencil_.applications();
    step.filter_degree = highest_degree();
    course_.see(std::move(step), fallen_to_, options_.wanted);
  }
  int highest_degree() const { return degrees_.empty() ? 0 : *std::max_element(degrees_.begin(), degrees_.end()); }
  std::vector<double> wanted_residuals() const { return {residuals_.begin(), residuals_.begin() + options_.wanted}; }

  /// Filters are in single precision now.
  bool is_single() const { return single_ && !is_trial_; }
  /// Where residuals do not fall, and no locked column is the reason, a filter in A's own precision shows whether the
  /// precision is.
  void see_in_single(double fall, bool is_slow) {
    constexpr int pause = 4;  // iterations until the next trial
    if (std::exchange(is_trial_, false)) {
      if (fall > fall_in_single_ + least_fall) return leave_single();
      until_trial_ = pause;
      return;
    }
    if (until_trial_ > 0) --until_trial_;
    is_trial_ = is_slow && until_trial_ == 0 && !is_leak_limited_;
    fall_in_single_ = fall;
  }
  void leave_single() {
    leaves_single_ = true;
    single_.reset();
  }

  // The start, the filter, and the Ritz pairs of what comes out of it: solvers/chebyshev/ritz_pairs.hpp.
  void start();
  void make_inverse();
  void require_close();
  SpectrumLook<Real> look_at_pencil();
  void filter(std::int64_t begin, std::int64_t end, bool has_pairs, Real last_wanted);
  void filter_in_full(const std::vector<int>& degrees, const std::vector<Real>& values, bool has_pairs,
                      Real last_wanted);
  template <class ApplyA>
  void filter_pencil(const ApplyA& apply_a, const std::vector<int>& degrees, const std::vector<Real>& values,
                     bool has_pairs, Real last_wanted);
  void filter_in_single(const std::vector<int>& degrees, const std::vector<Real>& values, bool has_pairs,
                        Real last_wanted);
  bool replace_lost_columns(Real last_wanted);
  void rotate();
  void measure_residuals(const SmallMatrix<Real>& theta);

  // The degrees of a filter, of each active column, and what they lead to: solvers/chebyshev/degrees.hpp.
  void choose_degrees();
  int highest_in_single() const;
  double leaked(int degree, std::int64_t j) const;
  int highest_without_leaks(int degree, std::int64_t j) const;
  int first_degree() const;
  Real rounding(std::int64_t j) const;
  Real filtered_condition(bool has_pairs) const;

  // The result: solvers/chebyshev/result.hpp.
  Result<Vector> finish();
  bool is_last_level_cut() const;

  AnyOperator<Vector> a_;
  std::optional<AnyOperator<InSingle<Vector>>> a_single_;
  Vector initial_;
  ChebyshevOptions options_;
  Real sign_;
  Pencil<Vector> pencil_;
  std::int64_t columns_;
  Vector x_, residual_, even_, odd_;  // the last two apart, so that a product finds its columns side by side
  Vector b_image_;                    // of X
  std::optional<InverseOfB<Vector>> inverse_;
  std::optional<Single> single_;                    // as long as filters run in single precision
  std::vector<Real> values_, residuals_, lengths_;  // of all columns; lengths of X's own
  Real last_wanted_ = 0;
  IntervalChoice<Real> choice_;
  Course<Vector> course_;

  std::int64_t locked_ = 0;
  std::vector<int> degrees_;  // of the last filter, for each column that was active
  bool is_filtered_ = false, is_whole_space_ = false;
  double fallen_from_ = 0, fallen_to_ = 0;  // log_error() of the wanted columns, at the look before and at the last one
  bool is_resumed_ = false;                 // after a look
  std::int64_t applications_single_ = 0;
  int until_trial_ = 0;  // iterations
  double fall_in_single_ = 0;
  bool is_leak_limited_ = false;  // the last filter, by locked columns
  bool is_trial_ = false, leaves_single_ = false, is_out_of_range_ = false;
  int refinements_ = 0;
};

}  // namespace blockvec::solvers

#pragma once

#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/column_operations.hpp>
#include <blockvec/small_on_host.hpp>
#include <blockvec/solvers/lobpcg.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "solvers/course.hpp"
#include "solvers/pencil.hpp"
#include "solvers/progress.hpp"
#include "solvers/subspace_problem.hpp"

namespace blockvec::solvers {

/// The loop of LOBPCG. Tall data: [X P W] side by side in one block vector, with their images under sign * A, and under
/// B where there is one. X has all columns all the time, also those of pairs that have converged: what is left that
/// couples them to the others would limit how far these get. W has no columns for pairs well below the tolerance. The
/// constructor allocates what the search needs.
template <class Vector>
class LobpcgSearch {
 public:
  using Scalar = typename Vector::Scalar;
  using Layout = typename Vector::Layout;
  using Space = typename Vector::Space;
  using Real = RealOf<Scalar>;

  /// The options are checked().
  LobpcgSearch(const Problem<Vector>& problem, const LobpcgOptions& options, const Observer& observer)
      : problem_(problem),
        options_(options),
        sign_(options.which == Which::smallest ? Real(1) : Real(-1)),
        pencil_("lobpcg", problem, sign_, options.orth),
        columns_(options.wanted + options.guard),
        trial_(static_cast<bool>(problem.precondition)),
        course_({problem, options.checkpoint,
                 steering("lobpcg", options, {{"guard columns", fmt::format("{}", options.guard)}}), observer},
                options.max_iterations, patience),
        basis_(context(), problem.a.rows(), 3 * columns_, "X P W"),
        image_(context(), problem.a.rows(), 3 * columns_, "A X P W"),
        small_(context(), 3 * columns_),
        residuals_(index(columns_)),
        errors_(index(columns_)),
        lengths_(index(columns_), Real(1)) {
    if (problem.b) b_image_ = Vector(context(), problem.a.rows(), 3 * columns_, "B X P W");
  }
  LobpcgSearch(const LobpcgSearch&) = delete;
  LobpcgSearch& operator=(const LobpcgSearch&) = delete;

  Result<Vector> solve() {
    is_resumed_ = course_.begin_or_resume(*this);
    if (!is_resumed_) start();
    for (;; ++refinements_) {
      iterate();
      Result<Vector> result = finish();
      if (!all_found() || result.converged() || refinements_ == most_refinements) return result;
      course_.forget_errors();  // residuals, recomputed, are larger than the images had told
      refresh();
    }
  }

  /// All that the search goes on from after a look, for an archive (state_archive.hpp).
  template <class Archive>
  void state(Archive& archive) {
    archive(course_, pencil_, trial_, preconditionings_, small_, explicit_steps_, refinements_, residuals_, errors_,
            lengths_, error_);
    const std::int64_t beside = columns_ + small_.p();
    archive.tall(basis_.columns(0, beside + columns_));  // R lies behind P
    archive.tall(image_.columns(0, beside));
    if (problem_.b) archive.tall(b_image_.columns(0, beside));
  }

 private:
  static constexpr int most_refinements = 3;
  static constexpr std::int64_t patience = 200;  // iterations
  /// Once W had to be made orthonormal before A was applied to it, so many steps do so at once.
  static constexpr std::int64_t explicit_period = 10;
  /// By how much coefficients that make W orthonormal may magnify rounding errors, squared: to some 1e-12.
  static constexpr Real most_amplification = std::max<Real>(64, Real(1e-12) / epsilon<Real>);

  const Context& context() const { return problem_.a.context(); }
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  /// Column j of X has converged: recomputed residuals are some rounding errors larger than those of images.
  bool is_found(std::int64_t j) const { return errors_[index(j)] <= 0.9 * options_.tolerance; }
  /// Column j takes part in W and P, also for a while after it has converged: in trials with 100 pairs of a Laplacian
  /// the last ones then took fewer iterations.
  bool is_active(std::int64_t j) const { return !(errors_[index(j)] <= 0.2 * options_.tolerance); }
  /// Pairs that have converged, from the wanted end to the first that has not.
  std::int64_t found() const {
    std::int64_t count = 0;
    while (count < options_.wanted && is_found(count)) ++count;
    return count;
  }
  bool all_found() const { return found() == options_.wanted; }

  // The parts of [X P W], of the basis or of an image.
  Vector x_of(const Vector& all) const { return all.columns(0, columns_); }
  Vector beside_w_of(const Vector& all) const { return all.columns(0, columns_ + small_.p()); }
  Vector subspace_of(const Vector& all, std::int64_t w) const { return all.columns(0, columns_ + small_.p() + w); }
  Vector w_of(const Vector& all, std::int64_t w) const {
    return all.columns(columns_ + small_.p(), columns_ + small_.p() + w);
  }
  const Vector& b_images() const { return problem_.b ? b_image_ : basis_; }

  void start() {
    const Vector x = basis_.columns(0, columns_);
    pencil_.look(x, options_.seed);
    const std::int64_t given = std::min(problem_.initial.width(), columns_);
    fill_random(x, options_.seed);
    if (given > 0) copy(problem_.initial.columns(0, given), x.columns(0, given));
    refresh();
  }

  /// X becomes orthonormal, and Ritz vectors, by images that are computed anew. No P.
  void refresh() {
    small_.drop_p();
    const Vector x = basis_.columns(0, columns_), ax = image_.columns(0, columns_);
    const Vector bx = problem_.b ? b_image_.columns(0, columns_) : Vector();
    pencil_.orthonormalize_start(x, bx);
    pencil_.apply_a(x, ax);
    const SmallMatrix<Scalar> g(context(), columns_, columns_);
    inner_product(x, ax, g);
    const auto z = small_.start(g);
    multiply_in_place(x, z);
    multiply_in_place(ax, z);
    if (problem_.b) multiply_in_place(bx, z);
  }

  void iterate() {
    while (pencil_.trouble.empty()) {
      if (!std::exchange(is_resumed_, false)) {
        measure_residuals();
        trial_.see(error_, error_ - std::log10(options_.tolerance));
        observe();
      }
      if (all_found()) return;
      course_.save_if_asked(*this);
      if (course_.is_over()) return;
      step();
      course_.count_iteration();
    }
  }

  /// One iteration, from the residuals in W's place to new X and P.
  void step() {
    std::int64_t w = search_directions();
    if (w > 0) w = take_in(w);
    if (!pencil_.trouble.empty() || (w == 0 && small_.p() == 0)) return;
    // The views of all operands are those of before the step.
    const Vector all = subspace_of(basis_, w), image = subspace_of(image_, w);
    const Vector b_image = problem_.b ? subspace_of(b_image_, w) : Vector();
    const auto c = small_.step(w, columns_, active_);
    multiply_in_place(all, c);
    multiply_in_place(image, c);
    if (problem_.b) multiply_in_place(b_image, c);
    for (const Real theta : small_.theta()) {
      if (!problem_.b) pencil_.norm_a = std::max(pencil_.norm_a, std::abs(theta));
    }
  }

  /// A W, B W and their products with [X P W], for w columns in W's place. Residuals, preconditioned or not, mostly lie
  /// well apart from X, P and one another: then the coefficients of the step make W orthonormal. Where that would
  /// magnify rounding errors, W itself is made orthonormal. Returns how many columns it has then.
  std::int64_t take_in(std::int64_t w) {
    if (explicit_steps_ == 0 && pencil_.deflation().width() == 0) {
      const Vector tall = w_of(basis_, w), image = w_of(image_, w);
      pencil_.apply_a(tall, image);
      if (problem_.b) pencil_.apply_b(tall, w_of(b_image_, w));
      const Vector all = subspace_of(basis_, w);
      InnerProducts<Scalar, Layout, Space>(context())
          .add(all, w_of(b_images(), w), small_.gram_of_w(w))
          .add(all, image, small_.image_of_w(w))
          .reduce();
      if (small_.orthonormalize_w(w, most_amplification)) return w;
      explicit_steps_ = explicit_period;
    }
    explicit_steps_ = std::max<std::int64_t>(explicit_steps_ - 1, 0);
    const Vector b_beside = problem_.b ? beside_w_of(b_image_) : Vector();
    w = pencil_.orthonormalize(beside_w_of(basis_), b_beside, w_of(basis_, w),
                               problem_.b ? w_of(b_image_, w) : Vector());
    if (!pencil_.trouble.empty()) return w;
    if (w == 0) {
      if (trial_.uses()) trial_.drop();
      return w;
    }
    pencil_.apply_a(w_of(basis_, w), w_of(image_, w));
    inner_product(subspace_of(basis_, w), w_of(image_, w), small_.image_of_w(w));
    return w;
  }

  /// R's columns become unit vectors if their squares, also under A, would leave the range of numbers, or lose digits.
  void keep_in_range(const Vector& r) const {
    constexpr Real precision = epsilon<Real> * epsilon<Real>;
    constexpr Real low = std::numeric_limits<Real>::min() / precision,
                   high = std::numeric_limits<Real>::max() * precision;
    HostMatrix<Scalar> factors("BlockVec::solvers::factors", 1, index(columns_));
    bool fits = true;
    for (std::int64_t j = 0; j < columns_; ++j) {
      const auto length = static_cast<Real>(residuals_[index(j)]);
      factors(0, index(j)) = Scalar(length > 0 ? 1 / length : Real(1));
      if (!(length > 0)) continue;
      const Real square = length * length;
      fits = fits && square * std::min<Real>(1, pencil_.norm_a) >= low &&
             square * std::max<Real>(1, pencil_.norm_a) <= high;
    }
    if (fits) return;
    WorkspaceScope<Space> scope(context());
    const auto row = SmallMatrix<Scalar, Space>::scratch(scope, 1, columns_);
    row.from_host(factors);
    scale_columns(r, row);
  }

  /// W = M R, or R, for the active columns of X, as many as there is room for. Returns how many.
  std::int64_t search_directions() {
    active_.clear();
    const std::int64_t room = pencil_.dimensions() - columns_ - small_.p();  // dimensions beside all others
    for (std::int64_t j = 0; j < columns_ && std::ssize(active_) < room; ++j) {
      if (is_active(j)) active_.push_back(j);
    }
    const auto w = std::ssize(active_);
    keep_in_range(w_of(basis_, columns_));
    if (w == 0 || (!trial_.uses() && w == columns_)) return w;
    const Vector r = w_of(basis_, columns_), to = w_of(basis_, w);
    WorkspaceScope<Space> scope(context());
    const Vector taken = scratch_like(scope, r, w);
    gather_columns(r, active_, taken);
    if (!trial_.uses()) {
      copy(taken, to);
      return w;
    }
    std::vector<double> theta;
    for (const std::int64_t j : active_) theta.push_back(static_cast<double>(sign_ * small_.theta()[index(j)]));
    problem_.precondition(theta, taken, to);
    preconditionings_ += w;
    return w;
  }

  // What is known of X's pairs: solvers/lobpcg/residuals.hpp.
  void measure_residuals();
  void observe();

  // The result: solvers/lobpcg/result.hpp.
  Result<Vector> finish();
  bool is_last_level_cut(const std::vector<double>& eigenvalues) const;

  Problem<Vector> problem_;
  LobpcgOptions options_;
  Real sign_;
  Pencil<Vector> pencil_;
  std::int64_t preconditionings_ = 0;
  std::int64_t columns_;  // of X
  PreconditionerTrial trial_;
  Course<Vector> course_;
  Vector basis_, image_, b_image_;
  SubspaceProblem<Scalar> small_;

  bool is_resumed_ = false;  // after a look
  int refinements_ = 0;
  std::int64_t explicit_steps_ = 0;   // that make W orthonormal before A is applied to it
  std::vector<double> residuals_;     // of all columns, as last measured
  std::vector<double> errors_;        // backward errors
  std::vector<Real> lengths_;         // of X's columns, which are B-orthonormal
  std::vector<std::int64_t> active_;  // columns of X with a part in W and P
  double error_ = 0;                  // log_error() of the wanted ones
};

}  // namespace blockvec::solvers

#pragma once

#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/column_operations.hpp>
#include <blockvec/small_on_host.hpp>
#include <blockvec/solvers/lobpcg.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "solvers/course.hpp"
#include "solvers/pencil.hpp"
#include "solvers/progress.hpp"
#include "solvers/subspace_problem.hpp"

namespace blockvec::solvers {

/// The loop of LOBPCG. Tall data: [locked X P W] side by side, so that [X P W] is one block vector, with their images
/// under sign * A, and under B where there is one. The constructor allocates what the search needs.
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
        errors_(index(columns_)) {
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
      if (!all_locked() || result.converged() || refinements_ == most_refinements) return result;
      locked_ = 0;  // residuals, recomputed, are larger than the images had told
      values_.clear();
      course_.forget_errors();
      refresh();
    }
  }

  /// All that the search goes on from after a look, for an archive (state_archive.hpp).
  template <class Archive>
  void state(Archive& archive) {
    archive(course_, pencil_, trial_, preconditionings_, small_, locked_, residual_place_, refinements_, values_,
            residuals_, errors_, error_);
    const std::int64_t beside = columns_ + small_.p();
    archive.tall(basis_.columns(0, beside + residual_place_ + small_.x()));  // R lies behind P
    archive.tall(image_.columns(0, beside));
    if (problem_.b) archive.tall(b_image_.columns(0, beside));
  }

 private:
  static constexpr int most_refinements = 3;
  static constexpr std::int64_t patience = 200;  // iterations

  const Context& context() const { return problem_.a.context(); }
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  bool all_locked() const { return locked_ >= options_.wanted; }

  // The parts of [locked X P W], of the basis or of an image.
  Vector x_of(const Vector& all) const { return all.columns(locked_, columns_); }
  Vector subspace_of(const Vector& all, std::int64_t w) const {
    return all.columns(locked_, columns_ + small_.p() + w);
  }
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
        lock();
        trial_.see(error_, error_ - std::log10(options_.tolerance));
        observe();
      }
      if (all_locked()) return;
      course_.save_if_asked(*this);
      if (course_.is_over()) return;
      step();
      course_.count_iteration();
    }
  }

  /// R = A X - B X diag(theta) in the place of W, and the backward errors of X's columns.
  void measure_residuals() {
    const std::int64_t k = small_.x();
    const Vector x = x_of(basis_), ax = x_of(image_), bx = x_of(b_images()), r = w_of(basis_, k);
    WorkspaceScope<Space> scope(context());
    const auto theta = SmallMatrix<Real, Space>::scratch(scope, 1, k);
    HostMatrix<Real> values("BlockVec::solvers::values", 1, index(k));
    for (std::int64_t j = 0; j < k; ++j) values(0, index(j)) = small_.theta()[index(j)];
    theta.from_host(values);
    residual(bx, theta, ax, r);
    const auto squares = SmallMatrix<Scalar, Space>::scratch(scope, 4, k);
    const auto row = [&](std::int64_t i) { return squares.block(i, i + 1, 0, k); };
    InnerProducts<Scalar, Layout, Space> products(context());
    products.add_dots(r, r, row(0));
    if (problem_.b) products.add_dots(x, x, row(1)).add_dots(ax, ax, row(2)).add_dots(bx, bx, row(3));
    products.reduce();
    const auto host = squares.to_host();
    const auto length = [&](std::size_t i, std::int64_t j) { return std::sqrt(real_part(host(i, index(j)))); };
    if (problem_.b) {
      for (std::int64_t j = 0; j < k; ++j) {
        pencil_.norm_a = std::max(pencil_.norm_a, length(2, j) / length(1, j));
        pencil_.norm_b = std::max(pencil_.norm_b, length(3, j) / length(1, j));
      }
    } else {
      for (const Real value : small_.theta()) pencil_.norm_a = std::max(pencil_.norm_a, std::abs(value));
    }
    for (std::int64_t j = 0; j < k; ++j) {
      const Real length_of_residual = length(0, j);
      const auto at = index(locked_ + j);
      residuals_[at] = static_cast<double>(length_of_residual);
      errors_[at] =
          pencil_.backward_error(length_of_residual, small_.theta()[index(j)], problem_.b ? length(1, j) : Real(1));
      if (!std::isfinite(errors_[at])) {
        throw NotFiniteError("lobpcg: the residual of column " + std::to_string(locked_ + j) + " of X is not finite");
      }
    }
    error_ = log_error(std::span(errors_).first(index(options_.wanted)), options_.tolerance);
  }

  /// Pairs that have converged, in order from the wanted end. What couples them to others is neglected from then on, so
  /// half of the tolerance is asked for.
  void lock() {
    std::int64_t count = 0;
    while (locked_ + count < options_.wanted && errors_[index(locked_ + count)] <= options_.tolerance / 2) ++count;
    for (std::int64_t j = 0; j < count; ++j) values_.push_back(small_.theta()[index(j)]);
    if (count == 0) return;
    small_.remove(count);
    locked_ += count;
    residual_place_ = count;
  }

  /// One iteration, from the residuals in W's place to new X and P.
  void step() {
    std::int64_t w = search_directions();
    if (w > 0) {
      const std::int64_t beside = columns_ + small_.p();
      w = problem_.b ? pencil_.orthonormalize(basis_.columns(0, beside), b_image_.columns(0, beside), w_of(basis_, w),
                                              w_of(b_image_, w))
                     : pencil_.orthonormalize(basis_.columns(0, beside), {}, w_of(basis_, w), {});
      if (!pencil_.trouble.empty()) return;
      if (w == 0 && trial_.uses()) trial_.drop();
    }
    if (w > 0) {
      const Vector aw = w_of(image_, w);
      pencil_.apply_a(w_of(basis_, w), aw);
      inner_product(subspace_of(basis_, w), aw, small_.image_of_w(w));
    } else if (small_.p() == 0) {
      return;
    }
    // The views of all operands are those of before the step.
    const Vector all = subspace_of(basis_, w), image = subspace_of(image_, w);
    const Vector b_image = problem_.b ? subspace_of(b_image_, w) : Vector();
    const auto c = small_.step(w, small_.x(), active_);
    multiply_in_place(all, c);
    multiply_in_place(image, c);
    if (problem_.b) multiply_in_place(b_image, c);
    for (const Real theta : small_.theta()) {
      if (!problem_.b) pencil_.norm_a = std::max(pencil_.norm_a, std::abs(theta));
    }
  }

  /// W = M R, or R, for the columns of X that have not converged, as many as there is room for. Returns how many.
  std::int64_t search_directions() {
    const std::int64_t k = small_.x(), residual_place = std::exchange(residual_place_, 0);
    active_.clear();
    const std::int64_t room = pencil_.dimensions() - columns_ - small_.p();  // dimensions beside all others
    for (std::int64_t j = 0; j < k && std::ssize(active_) < room; ++j) {
      if (errors_[index(locked_ + j)] > options_.tolerance / 2) active_.push_back(j);
    }
    const auto w = std::ssize(active_);
    if (w == 0) return 0;
    const Vector r = w_of(basis_, residual_place + k), to = w_of(basis_, w);
    const bool is_in_place = !trial_.uses() && residual_place == 0 && w == k;
    if (is_in_place) return w;
    WorkspaceScope<Space> scope(context());
    const Vector taken = scratch_like(scope, r, w);
    std::vector<std::int64_t> places(active_);
    for (std::int64_t& place : places) place += residual_place;
    gather_columns(r, places, taken);
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

  void observe() {
    Step step = look_at_pairs<Real>(sign_, values_, {residuals_.begin(), residuals_.begin() + options_.wanted});
    step.applications = pencil_.applications();
    course_.see(std::move(step), error_);
  }

  // The result: solvers/lobpcg/result.hpp.
  Result<Vector> finish();
  bool is_last_level_cut(const std::vector<double>& eigenvalues) const;

  Problem<Vector> problem_;
  LobpcgOptions options_;
  Real sign_;
  Pencil<Vector> pencil_;
  std::int64_t preconditionings_ = 0;
  std::int64_t columns_;  // of X and of what is locked
  PreconditionerTrial trial_;
  Course<Vector> course_;
  Vector basis_, image_, b_image_;
  SubspaceProblem<Scalar> small_;

  bool is_resumed_ = false;  // after a look
  int refinements_ = 0;
  std::int64_t locked_ = 0;
  std::int64_t residual_place_ = 0;   // columns of R before those of X: of pairs that have just been locked
  std::vector<Real> values_;          // of the locked ones
  std::vector<double> residuals_;     // of all columns, as last measured
  std::vector<double> errors_;        // backward errors
  std::vector<std::int64_t> active_;  // columns of X that have not converged
  double error_ = 0;                  // log_error() of the wanted ones
};

}  // namespace blockvec::solvers

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
            residuals_, errors_, lengths_, error_);
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

  // What is known of X's pairs: solvers/lobpcg/residuals.hpp.
  void measure_residuals();
  void lock();
  void observe();

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
  std::vector<Real> lengths_;         // of X's columns, which are B-orthonormal
  std::vector<std::int64_t> active_;  // columns of X that have not converged
  double error_ = 0;                  // log_error() of the wanted ones
};

}  // namespace blockvec::solvers

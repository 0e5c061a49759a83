#pragma once

#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/column_operations.hpp>
#include <blockvec/small_on_host.hpp>
#include <blockvec/solvers/jacobi_davidson.hpp>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "solvers/course.hpp"
#include "solvers/jacobi_davidson/correction.hpp"
#include "solvers/jacobi_davidson/locked_pairs.hpp"
#include "solvers/pencil.hpp"
#include "solvers/progress.hpp"
#include "solvers/subspace_problem.hpp"

namespace blockvec::solvers {

/// The outer loop of block Jacobi-Davidson. Tall data: [locked X P W] side by side with their images under sign * A -
/// target B, and under B where there is one; X are all Ritz vectors of the basis, P previous directions after a
/// restart, W the newest corrections. All values are those of this pencil: the lowest ones are wanted, or near a target
/// those nearest to zero, of which X are refined vectors (SubspaceProblem::step_near). At an end of the spectrum the
/// target is zero. The constructor allocates what the search needs.
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
        is_near_(options.target.has_value()),
        target_(static_cast<Real>(options.target.value_or(0))),
        sign_(options.which == Which::smallest ? Real(1) : Real(-1)),
        pencil_("jacobi_davidson", problem, sign_, options.orth),
        uses_preconditioner_(static_cast<bool>(problem.precondition)),
        course_({problem, options.checkpoint, steering("jacobi_davidson", options, own_steering(options)), observer},
                options.max_iterations, patience),
        basis_(context(), problem.a.rows(), options.wanted + options.basis + 3 * options.block, "X P W"),
        image_(context(), problem.a.rows(), basis_.width(), "A X P W"),
        small_(context(), options.basis + options.block),
        correction_(pencil_, options.block),
        residual_(context(), problem.a.rows(), options.block, "residuals") {
    if (problem.b) b_image_ = Vector(context(), problem.a.rows(), basis_.width(), "B X P W");
  }
  JacobiDavidsonSearch(const JacobiDavidsonSearch&) = delete;
  JacobiDavidsonSearch& operator=(const JacobiDavidsonSearch&) = delete;

  Result<Vector> solve() {
    if (!course_.begin_or_resume(*this)) {
      const Vector model = basis_.columns(0, 1);
      pencil_.look(model, options_.seed);
      start(problem_.initial);
    }
    for (;; ++refinements_) {
      do {
        iterate();
      } while (looks_again());
      Result<Vector> result = finish();
      if (!is_complete() || result.converged() || refinements_ == most_refinements) return result;
      const Vector found = basis_.columns(0, options_.wanted).deep_copy("found");
      locked_ = {};  // residuals, recomputed, are larger than the images had told
      course_.forget_errors();
      looks_for_copies_ = false;
      start(found);
    }
  }

  /// All that the search goes on from after a look, or at the start of a look for copies, for an archive
  /// (state_archive.hpp).
  template <class Archive>
  void state(Archive& archive) {
    archive(course_, pencil_, uses_preconditioner_, preconditionings_, small_, has_restarted_, looks_for_copies_,
            found_in_look_, starts_, locked_, residuals_, margins_, longest_, errors_, error_, has_looked_,
            refinements_);
    for_all([&](const Vector& all) { archive.tall(all.columns(0, beside())); });
    archive.tall(residual_);
  }

 private:
  static constexpr int most_refinements = 3;
  static constexpr std::int64_t patience = 100;  // iterations, of some 20 products each

  const Context& context() const { return problem_.a.context(); }
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  /// Enough pairs are locked, and what is left does not lie below them, as far as its residual tells.
  bool is_complete() const {
    if (locked_.count() < options_.wanted) return false;
    if (small_.x() == 0 || locked_.count() == locked_at_most()) return true;
    if (looks_for_copies_ && errors_.empty()) return false;  // that look has only begun
    const double above = static_cast<double>(next_rank()) - static_cast<double>(rank(last_wanted()));
    if (!looks_for_copies_) return above >= -same();  // another search looks for more
    // A column that is on its way down may look like an eigenvector of a higher level for a while.
    const double settled = eigenvalue_error_of(std::sqrt(options_.tolerance));
    return above >= -same() && next_error() <= std::max(same(), std::min(above / 10, settled));
  }
  /// A few pairs more than wanted have room: of those that come to light late, some are lower than others.
  std::int64_t locked_at_most() const { return std::min(options_.wanted + 2 * options_.block, pencil_.dimensions()); }
  /// What is wanted has the lowest ranks.
  Real rank(Real value) const { return is_near_ ? std::abs(value) : value; }
  /// The rank of the first of X. Before a vector has converged, its Rayleigh quotient may lie anywhere around the
  /// target.
  Real next_rank() const {
    const Real theta = small_.theta().front();
    return is_near_ ? std::hypot(theta, margins_.empty() ? Real(0) : margins_.front()) : theta;
  }
  /// The value as the pencil A, B has it.
  Real original(Real value) const { return value + target_; }
  /// The last one of the wanted values that are locked.
  Real last_wanted() const {
    const auto order = lowest_first(locked_.values, options_.wanted, [this](Real value) { return rank(value); });
    return locked_.values[index(order.back())];
  }
  /// By how much the rank of the first of X may be lower than it seems.
  double next_error() const { return margins_.empty() ? 0 : static_cast<double>(margins_.front()); }
  /// Whether the column of X may still be a lower pair in disguise.
  bool looks_below(std::int64_t j) const {
    return looks_for_copies_ && j == 0 && rank(small_.theta()[index(j)]) > rank(last_wanted());
  }
  /// Two eigenvalues this close count as one.
  double same() const { return eigenvalue_error_of(10 * options_.tolerance); }
  /// How far an eigenvalue of the wanted end may be off with this backward error.
  double eigenvalue_error_of(double backward_error) const {
    Real largest = 0;
    for (const Real value : locked_.values) largest = std::max(largest, std::abs(original(value)));
    return static_cast<double>(pencil_.eigenvalue_error_of(backward_error, largest, longest_));
  }
  static CheckpointHeader own_steering(const JacobiDavidsonOptions& options) {
    return {{"place in the spectrum", options.target ? fmt::format("near {}", *options.target) : "an end"},
            {"block", fmt::format("{}", options.block)},
            {"basis", fmt::format("{} columns, {} kept", options.basis, options.kept)},
            {"inner steps", fmt::format("{}", options.inner_steps)}};
  }
  std::int64_t to_find() const { return locked_at_most() - locked_.count(); }
  /// Columns of X that a restart keeps.
  std::int64_t kept() const { return std::min(options_.kept, pencil_.dimensions() - locked_.count()); }

  /// So many of X's first columns.
  Vector x_of(const Vector& all, std::int64_t x) const { return all.columns(locked_.count(), locked_.count() + x); }
  std::int64_t beside() const { return locked_.count() + small_.x() + small_.p(); }
  Vector locked_of(const Vector& all) const { return all.columns(0, locked_.count()); }
  Vector subspace_of(const Vector& all, std::int64_t w) const { return all.columns(locked_.count(), beside() + w); }
  Vector w_of(const Vector& all, std::int64_t w) const { return all.columns(beside(), beside() + w); }
  const Vector& b_images() const { return problem_.b ? b_image_ : basis_; }
  template <class Body>
  void for_all(const Body& body) {
    body(basis_);
    body(image_);
    if (problem_.b) body(b_image_);
  }

  /// After iterate(): begins to look for copies that the basis had no part of, and so could not see. False where there
  /// is no need to, or no way.
  bool looks_again() {
    if (!is_complete() || !pencil_.trouble.empty()) return false;
    if (looks_for_copies_ && found_in_look_ == 0) return false;
    if (beside() == pencil_.dimensions()) return false;  // the basis is all there is
    const auto order = lowest_known();
    bring_to_front(order);
    locked_ = locked_.chosen(order);
    looks_for_copies_ = true;
    found_in_look_ = 0;
    course_.forget_errors();
    forget_residuals();
    start_beside_locked();
    if (!pencil_.trouble.empty()) return false;
    course_.save_if_asked(*this);
    return !course_.is_stopped();
  }

  /// As start(), of random columns beside what is locked.
  void start_beside_locked() {
    has_restarted_ = false;
    std::int64_t k = kept();
    const Vector x = x_of(basis_, k);
    fill_random(x, options_.seed + ++starts_);
    k = pencil_.orthonormalize(locked_of(basis_), problem_.b ? locked_of(b_image_) : Vector(), x,
                               problem_.b ? x_of(b_image_, k) : Vector());
    if (pencil_.trouble.empty()) rayleigh_ritz(k);
  }

  /// X's first k columns, which are orthonormal, become Ritz vectors. No P.
  void rayleigh_ritz(std::int64_t k) {
    apply(x_of(basis_, k), x_of(b_images(), k), x_of(image_, k));
    SmallMatrix<Scalar> z;
    if (is_near_) {
      project_all(k);
      z = small_.start_near(k, is_refined(), options_.block);
    } else {
      const SmallMatrix<Scalar> g(context(), k, k);
      inner_product(x_of(basis_, k), x_of(image_, k), g);
      z = small_.start(g);
    }
    for_all([&](const Vector& all) { multiply_in_place(x_of(all, k), z); });
  }

  /// Y = (sign * A - target B) X, with B X at hand.
  void apply(const Vector& x, const Vector& bx, const Vector& y) {
    pencil_.apply_a(x, y);
    if (target_ != 0) axpby(Scalar(-target_), bx, Scalar(1), y);
  }
  /// With a B singular vectors are no eigenvectors: these are of B^-1 A, in the inner product of B.
  bool is_refined() const { return is_near_ && !problem_.b; }
  /// The small matrices of a step near a target, of so many columns behind the locked ones. One reduction.
  void project_all(std::int64_t columns) {
    const auto part = [&](const Vector& all) { return all.columns(locked_.count(), locked_.count() + columns); };
    InnerProducts<Scalar, Layout, Space> products(context());
    products.add(part(basis_), part(image_), small_.projected(columns));
    if (is_refined()) products.add(part(image_), part(image_), small_.gram_of_images(columns));
    products.reduce();
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
      if (!has_looked_) {
        forget_residuals();
        measure_residuals();
        if (lock()) measure_residuals();
        observe();
      }
      has_looked_ = false;
      if (is_complete()) return;
      has_looked_ = true;
      course_.save_if_asked(*this);
      has_looked_ = false;
      if (course_.is_over()) return;
      expand();
      course_.count_iteration();
    }
  }

  // What is known of X's pairs: solvers/jacobi_davidson/residuals.hpp.
  void forget_residuals();
  void measure_residuals();
  bool lock();
  void observe();

  // How the basis grows: solvers/jacobi_davidson/expansion.hpp.
  void expand();
  std::int64_t orthonormalize(std::int64_t w);
  void solve_corrections(std::int64_t w);
  Real shift(std::int64_t j) const;

  // The result: solvers/jacobi_davidson/result.hpp.
  std::vector<std::int64_t> lowest_known() const;
  void bring_to_front(std::span<const std::int64_t> columns);
  double known_residual(std::int64_t column) const;
  Result<Vector> finish();
  bool is_last_level_cut() const;

  Problem<Vector> problem_;
  JacobiDavidsonOptions options_;
  bool is_near_;
  Real target_, sign_;
  Pencil<Vector> pencil_;
  bool uses_preconditioner_;
  std::int64_t preconditionings_ = 0;
  Course<Vector> course_;
  Vector basis_, image_, b_image_;
  SubspaceProblem<Scalar> small_;
  Correction<Vector> correction_;
  Vector residual_;  // of the first columns of X

  bool has_looked_ = false;  // since the basis has grown
  int refinements_ = 0;
  bool has_restarted_ = false;  // this search; before, X is far from eigenvectors, and residuals do as well
  bool looks_for_copies_ = false;
  std::int64_t found_in_look_ = 0;
  std::uint64_t starts_ = 0;
  LockedPairs<Real> locked_;
  std::vector<double> residuals_;  // of the first columns of X
  std::vector<Real> margins_;      // by how much their eigenvalues may lie below their Ritz values
  Real longest_ = 0;               // of all columns of X that were looked at; with B they are B-orthonormal
  std::vector<double> errors_;     // their backward errors
  double error_ = 0;               // log_error() of what is wanted, as far as it is looked at
};

}  // namespace blockvec::solvers

#pragma once

#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/column_operations.hpp>
#include <blockvec/small_on_host.hpp>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "solvers/jacobi_davidson/minres.hpp"
#include "solvers/pencil.hpp"

namespace blockvec::solvers {

/// Corrections of Jacobi-Davidson for a block of pairs, by a MINRES run a column, all of which advance together.
template <class Vector>
class Correction {
 public:
  using Scalar = typename Vector::Scalar;
  using Layout = typename Vector::Layout;
  using Space = typename Vector::Space;
  using Real = RealOf<Scalar>;
  using Basis = orth::Basis<Scalar, Layout, Space>;
  using Row = std::vector<Real>;

  /// What is projected out: vectors q and their images under B; the block's own x and b x are among them.
  struct Projected {
    Basis q, bq;
    Vector bx;
  };

  Correction(Pencil<Vector>& pencil, std::int64_t block)
      : pencil_(pencil), minres_(pencil.context(), block), gram_(pencil.context(), block, block) {
    const auto make = [&](const char* label) { return Vector(pencil.context(), pencil.rows(), block, label); };
    for (Vector* v : {&residual_before_, &residual_, &image_, &v_, &step_, &step_before_, &step_older_, &solution_})
      *v = make("inner");
    if (pencil.has_b()) b_image_ = make("inner");
  }

  /// T ~ corrections for R. `theta` in terms of sign * A; `share`: what is to be left of each column's residual.
  /// `precondition(r, z)` or null. False where the preconditioner shows not to be positive definite: T is of no use
  /// then. A step takes two reductions, one application of A (and of B, and of the preconditioner), one wait of the
  /// host, and 18 + 2 m words a column beside them, m columns of Q.
  template <class Precondition>
  bool solve(const Row& theta, const Row& share, std::int64_t most_steps, const Projected& out, const Vector& r,
             const Vector& t, const Precondition* precondition) {
    width_ = r.width();
    minres_.begin(theta, share);
    Vector z = head(image_);
    if (precondition != nullptr) prepare(out, *precondition);
    fill(head(solution_), Scalar(0));
    copy(r, head(residual_));
    precondition_residual(out, precondition, z);
    Verdict verdict = heard();
    for (std::int64_t step = 0; step < most_steps && verdict == Verdict::goes_on; ++step) {
      axpby_columns(minres_.normalizing(), z, Scalar(0), head(v_));
      multiply(out, precondition != nullptr);
      minres_.take_product();
      const Vector residuals[] = {head(residual_), head(residual_before_)};
      const std::int64_t terms = std::min<std::int64_t>(step + 1, 2);
      axpby_columns(minres_.orthogonalizing(terms), first(residuals, terms), Scalar(1), head(image_));
      std::swap(residual_before_, residual_);
      std::swap(residual_, image_);
      z = head(image_);
      precondition_residual(out, precondition, z);
      std::swap(step_older_, step_before_);
      std::swap(step_before_, step_);
      const Vector steps[] = {head(v_), head(step_before_), head(step_older_)};
      const std::int64_t known = std::min<std::int64_t>(step + 1, 3);
      axpby_columns(minres_.stepping(known), first(steps, known), Scalar(0), head(step_));
      axpby_columns(minres_.advancing(), head(step_), Scalar(1), head(solution_));
      verdict = heard();
    }
    copy(head(solution_), t);
    return verdict != Verdict::is_indefinite;
  }

 private:
  using Verdict = minres::Verdict;

  Vector head(const Vector& v) const { return v.columns(0, width_); }
  template <std::size_t size>
  static std::span<const Vector> first(const Vector (&vectors)[size], std::int64_t count) {
    return {vectors, static_cast<std::size_t>(count)};
  }

  /// What the last norms came to.
  Verdict heard() const {
    const Verdict verdict = minres_.verdict();
    if (verdict != Verdict::is_not_finite) return verdict;
    throw NotFiniteError(
        "jacobi_davidson: a correction is not finite: A, B or the preconditioner brings in NaN or Inf");
  }

  /// image = P^H (A - theta B) P v, and v^H image. P is left out where v is in its range already.
  void multiply(const Projected& out, bool is_preconditioned) {
    const Vector v = head(v_), y = head(image_);
    if (pencil_.has_b() || is_preconditioned) remove(out.q, out.bq, v);
    pencil_.apply_a(v, y);
    if (pencil_.has_b()) pencil_.apply_b(v, head(b_image_));
    axpby_columns(minres_.shifting(), pencil_.has_b() ? head(b_image_) : v, Scalar(1), y);
    remove(out.bq, out.q, y, [&](auto& products) { products.add_dots(v, y, minres_.dots()); });
  }

  /// W <- W - U V^H W. `also` adds products to the same reduction.
  template <class Also>
  void remove(const Basis& u, const Basis& v, const Vector& w, const Also& also) {
    WorkspaceScope<Space> scope(pencil_.context());
    const auto s = SmallMatrix<Scalar, Space>::scratch(scope, v.width(), w.width());
    InnerProducts<Scalar, Layout, Space> products(pencil_.context());
    v.for_pieces([&](const Vector& piece, std::int64_t begin, std::int64_t end) {
      products.add(piece, w, s.block(begin, end, 0, w.width()));
    });
    also(products);
    products.reduce();
    gram_schmidt_sweep(u.all(), &s, w, nullptr, kernels::Triangle::general);
  }
  void remove(const Basis& u, const Basis& v, const Vector& w) {
    remove(u, v, w, [](auto&) {});
  }

  /// M (B x) and the factor of (B x)^H M (B x), which the preconditioner's projection needs.
  template <class Precondition>
  void prepare(const Projected& out, const Precondition& precondition) {
    if (m_bx_.width() == 0) m_bx_ = Vector(pencil_.context(), pencil_.rows(), gram_.columns(), "M B X");
    const auto gram = gram_.block(0, width_, 0, width_);
    precondition(out.bx, head(m_bx_));
    inner_product(out.bx, head(m_bx_), gram);
    is_projecting_ = orth::dense::cholesky(gram, 64 * epsilon<Real>, gram).rank == width_;
    if (!is_projecting_) return;
    orth::dense::triangular_inverse(gram, gram);
    minres_.set_inverse(gram.to_host());
  }

  /// z = K residual with K the projected preconditioner, or the residual itself; its norm goes to the recurrences.
  template <class Precondition>
  void precondition_residual(const Projected& out, const Precondition* precondition, Vector& z) {
    const Vector r = head(residual_);
    InnerProducts<Scalar, Layout, Space> products(pencil_.context());
    if (precondition == nullptr) {
      z = r;
      products.add_dots(r, r, minres_.dots()).reduce();
      return minres_.take_norm(false);
    }
    (*precondition)(r, z);
    products.add_dots(r, z, minres_.dots());
    if (is_projecting_) products.add(out.bx, z, minres_.removed());
    products.reduce();
    minres_.take_norm(is_projecting_);
    if (is_projecting_) update(Scalar(-1), head(m_bx_), minres_.removed(), Scalar(1), z);
  }

  Pencil<Vector>& pencil_;
  std::int64_t width_ = 0;
  Vector residual_before_, residual_, image_, v_, step_, step_before_, step_older_, b_image_, m_bx_;
  Vector solution_;  // without gaps between rows, which T may have
  Minres<Scalar, Space> minres_;
  SmallMatrix<Scalar> gram_;
  bool is_projecting_ = false;
};

}  // namespace blockvec::solvers

#pragma once

#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/column_operations.hpp>
#include <blockvec/on_host.hpp>
#include <blockvec/small_on_host.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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
      : pencil_(pencil), gram_(pencil.context(), block, block), row_(pencil.context(), 1, block) {
    const auto make = [&](const char* label) { return Vector(pencil.context(), pencil.rows(), block, label); };
    for (Vector* v : {&residual_before_, &residual_, &image_, &v_, &step_, &step_before_, &step_older_})
      *v = make("inner");
    if (pencil.has_b()) b_image_ = make("inner");
  }

  /// T ~ corrections for R. `theta` in terms of sign * A; `share`: what is to be left of each column's residual.
  /// `precondition(r, z)` or null. False where the preconditioner shows not to be positive definite: T is of no use
  /// then.
  template <class Precondition>
  bool solve(const Row& theta, const Row& share, std::int64_t most_steps, const Projected& out, const Vector& r,
             const Vector& t, const Precondition* precondition) {
    const std::int64_t b = r.width();
    begin(b);
    Vector z = head(image_);
    if (precondition != nullptr) prepare(out, *precondition);
    fill(t, Scalar(0));
    copy(r, head(residual_));
    if (!precondition_residual(out, precondition, z)) return false;
    for (std::size_t j = 0; j < n_; ++j) {
      phi_[j] = beta_[j];
      first_[j] = beta_[j];
      done_[j] = !(beta_[j] > 0);
    }
    for (std::int64_t step = 0; step < most_steps; ++step) {
      // v = z / beta
      axpby_columns(coefficients([&](std::size_t j) { return done_[j] ? Real(0) : 1 / beta_[j]; }), z, Scalar(0),
                    head(v_));
      multiply(theta, out, precondition != nullptr);
      if (step > 0)
        add([&](std::size_t j) { return -beta_[j] / beta_before_[j]; }, head(residual_before_), head(image_));
      add([&](std::size_t j) { return -alpha_[j] / beta_[j]; }, head(residual_), head(image_));
      std::swap(residual_before_, residual_);
      std::swap(residual_, image_);
      beta_before_ = beta_;
      z = head(image_);
      if (!precondition_residual(out, precondition, z)) return false;
      rotate();
      // w = (v - epsilon w_older - delta w_before) / gamma
      std::swap(step_older_, step_before_);
      std::swap(step_before_, step_);
      axpby_columns(coefficients([&](std::size_t j) { return 1 / gamma_[j]; }), head(v_), Scalar(0), head(step_));
      if (step > 0) add([&](std::size_t j) { return -delta_[j] / gamma_[j]; }, head(step_before_), head(step_));
      if (step > 1) add([&](std::size_t j) { return -epsilon_[j] / gamma_[j]; }, head(step_older_), head(step_));
      add([&](std::size_t j) { return phi_step_[j]; }, head(step_), t);
      bool is_over = true;
      for (std::size_t j = 0; j < n_; ++j) {
        if (!done_[j] && (phi_[j] <= share[j] * first_[j] || !(beta_[j] > epsilon<Real> * first_[j]))) done_[j] = true;
        is_over = is_over && done_[j];
      }
      if (is_over) break;
    }
    return true;
  }

 private:
  Vector head(const Vector& v) const { return v.columns(0, static_cast<std::int64_t>(n_)); }

  void begin(std::int64_t b) {
    n_ = static_cast<std::size_t>(b);
    for (Row* row : {&alpha_, &beta_, &beta_before_, &phi_, &phi_step_, &first_, &gamma_, &delta_, &epsilon_, &dbar_,
                     &epsilon_next_, &sine_, &removed_}) {
      row->assign(n_, Real(0));
    }
    cosine_.assign(n_, Real(-1));
    done_.assign(n_, false);
  }

  /// A row of factors in the memory of the vectors, until the next call.
  template <class Factor>
  SmallMatrix<Scalar, Space> coefficients(const Factor& factor) {
    const auto row = row_.block(0, 1, 0, static_cast<std::int64_t>(n_));
    on_host(
        [&](const auto& here) {
          for (std::size_t j = 0; j < n_; ++j) here.view()(0, j) = Scalar(factor(j));
        },
        writes(row));
    return row;
  }
  /// W += V diag(factor), for the columns that are not done.
  template <class Factor>
  void add(const Factor& factor, const Vector& v, const Vector& w) {
    axpby_columns(coefficients([&](std::size_t j) { return done_[j] ? Real(0) : factor(j); }), v, Scalar(1), w);
  }

  /// image = P^H (A - theta B) P v, and alpha = v^H image. P is left out where v is in its range already.
  void multiply(const Row& theta, const Projected& out, bool is_preconditioned) {
    const Vector v = head(v_), y = head(image_);
    if (pencil_.has_b() || is_preconditioned) remove(out.q, out.bq, v);
    pencil_.apply_a(v, y);
    if (pencil_.has_b()) pencil_.apply_b(v, head(b_image_));
    axpby_columns(coefficients([&](std::size_t j) { return -theta[j]; }), pencil_.has_b() ? head(b_image_) : v,
                  Scalar(1), y);
    WorkspaceScope<Space> scope(pencil_.context());
    const auto dots = SmallMatrix<Scalar, Space>::scratch(scope, 1, v.width());
    remove(out.bq, out.q, y, [&](auto& products) { products.add_dots(v, y, dots); });
    const auto host = dots.to_host();
    for (std::size_t j = 0; j < n_; ++j) alpha_[j] = real_part(host(0, j));
  }

  /// W <- W - U V^H W. `also` adds products to the same reduction.
  template <class Also>
  void remove(const Basis& u, const Basis& v, const Vector& w, const Also& also) {
    WorkspaceScope<> scope(pencil_.context());
    const auto s = SmallMatrix<Scalar>::scratch(scope, v.width(), w.width());
    InnerProducts<Scalar, Layout, Space> products(pencil_.context());
    v.for_pieces([&](const Vector& piece, std::int64_t begin, std::int64_t end) {
      products.add(piece, w, s.block(begin, end, 0, w.width()));
    });
    also(products);
    products.reduce();
    gram_schmidt_sweep(u.all(), &s, w, static_cast<const SmallMatrix<Scalar>*>(nullptr), kernels::Triangle::general);
  }
  void remove(const Basis& u, const Basis& v, const Vector& w) {
    remove(u, v, w, [](auto&) {});
  }

  SmallMatrix<Scalar> gram() const {
    const auto n = static_cast<std::int64_t>(n_);
    return gram_.block(0, n, 0, n);
  }
  /// M (B x) and the factor of (B x)^H M (B x), which the preconditioner's projection needs.
  template <class Precondition>
  void prepare(const Projected& out, const Precondition& precondition) {
    if (m_bx_.width() == 0) m_bx_ = Vector(pencil_.context(), pencil_.rows(), gram_.columns(), "M B X");
    precondition(out.bx, head(m_bx_));
    inner_product(out.bx, head(m_bx_), gram());
    is_projecting_ = orth::dense::cholesky(gram(), 64 * epsilon<Real>, gram()).rank == gram().columns();
  }

  /// z = K residual with K the projected preconditioner, or the residual itself, and beta = (residual^H z)^1/2. False
  /// where K is not positive definite.
  template <class Precondition>
  bool precondition_residual(const Projected& out, const Precondition* precondition, Vector& z) {
    const Vector r = head(residual_);
    WorkspaceScope<Space> scope(pencil_.context());
    const auto dots = SmallMatrix<Scalar, Space>::scratch(scope, 1, r.width());
    InnerProducts<Scalar, Layout, Space> products(pencil_.context());
    if (precondition == nullptr) {
      z = r;
      products.add_dots(r, r, dots).reduce();
    } else {
      (*precondition)(r, z);
      WorkspaceScope<> host_scope(pencil_.context());
      const auto s = SmallMatrix<Scalar>::scratch(host_scope, out.bx.width(), r.width());
      products.add_dots(r, z, dots);
      if (is_projecting_) products.add(out.bx, z, s);
      products.reduce();
      if (is_projecting_) {  // z -= M B x G^-1 (B x)^H z with G = R^H R
        orth::dense::triangular_solve(orth::dense::Side::left, kernels::Triangle::upper, gram(), true, s);
        const auto squares = SmallMatrix<Real>::scratch(host_scope, 1, r.width());
        orth::dense::column_squares(s, squares);
        std::copy_n(squares.data(), n_, removed_.begin());
        orth::dense::triangular_solve(orth::dense::Side::left, kernels::Triangle::upper, gram(), false, s);
        update(Scalar(-1), head(m_bx_), s, Scalar(1), z);
      }
    }
    const auto host = dots.to_host();
    for (std::size_t j = 0; j < n_; ++j) {
      const Real square = real_part(host(0, j)) - removed_[j];
      if (!std::isfinite(square))
        throw NotFiniteError(
            "jacobi_davidson: a correction is not finite: A, B or the preconditioner brings in NaN or Inf");
      if (square < 0 && -square > std::sqrt(epsilon<Real>) * (std::abs(real_part(host(0, j))) + removed_[j]))
        return false;
      beta_[j] = std::sqrt(std::max(square, Real(0)));
    }
    return true;
  }

  /// The Givens rotations of MINRES, a column each (Paige, Saunders 1975).
  void rotate() {
    for (std::size_t j = 0; j < n_; ++j) {
      if (done_[j]) {
        gamma_[j] = 1;
        phi_step_[j] = 0;
        continue;
      }
      epsilon_[j] = epsilon_next_[j];
      delta_[j] = cosine_[j] * dbar_[j] + sine_[j] * alpha_[j];
      const Real gbar = sine_[j] * dbar_[j] - cosine_[j] * alpha_[j];
      epsilon_next_[j] = sine_[j] * beta_[j];
      dbar_[j] = -cosine_[j] * beta_[j];
      gamma_[j] = std::hypot(gbar, beta_[j]);
      if (!(gamma_[j] > 0)) {
        gamma_[j] = 1;
        phi_step_[j] = 0;
        done_[j] = true;
        continue;
      }
      cosine_[j] = gbar / gamma_[j];
      sine_[j] = beta_[j] / gamma_[j];
      phi_step_[j] = cosine_[j] * phi_[j];
      phi_[j] *= sine_[j];
    }
  }

  Pencil<Vector>& pencil_;
  std::size_t n_ = 0;
  Vector residual_before_, residual_, image_, v_, step_, step_before_, step_older_, b_image_, m_bx_;
  SmallMatrix<Scalar> gram_;
  SmallMatrix<Scalar, Space> row_;
  bool is_projecting_ = false;
  Row alpha_, beta_, beta_before_, phi_, phi_step_, first_, gamma_, delta_, epsilon_, dbar_, epsilon_next_, sine_,
      cosine_, removed_;
  std::vector<bool> done_;
};

}  // namespace blockvec::solvers

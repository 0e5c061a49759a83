#pragma once

#include <algorithm>
#include <blockvec/orth/dense.hpp>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "solvers/counted_operator.hpp"
#include "solvers/refined_vectors.hpp"

namespace blockvec::solvers {

/// The Rayleigh-Ritz problem of LOBPCG and Jacobi-Davidson in small matrices on the host: H = S^H A S for the
/// orthonormal S = [X P W], of which X are Ritz vectors. What is known of X and P is kept from step to step; W^H A S
/// comes anew. A W that is not orthonormal beside V = [X P] can be made so in these matrices only: W' = (W - V C) R^-1.
template <class Scalar>
class SubspaceProblem {
 public:
  using Real = RealOf<Scalar>;
  using Small = SmallMatrix<Scalar>;

  /// For at most `columns` in S.
  SubspaceProblem(const Context& context, std::int64_t columns)
      : h_(context, columns, columns, "BlockVec::solvers::projected_a"),
        z_(context, columns, columns, "BlockVec::solvers::ritz_vectors"),
        of_p_(context, columns, columns, "BlockVec::solvers::projected_a_of_p"),
        gram_(context, columns, columns, "BlockVec::solvers::gram_of_w"),
        factor_(context, columns, columns, "BlockVec::solvers::factor_of_w"),
        coefficients_(context, columns, columns, "BlockVec::solvers::coefficients"),
        row_(context, 1, columns, "BlockVec::solvers::row") {}

  /// What a checkpoint keeps between two steps (state_archive.hpp).
  template <class Archive>
  void state(Archive& archive) {
    archive(theta_, p_);
    if (x() + p_ > h_.columns()) throw ShapeError("SubspaceProblem: more columns than there is room for");
    archive.small(of_p_.block(0, p_, 0, p_));
  }

  std::int64_t x() const { return std::ssize(theta_); }  ///< columns of X
  std::int64_t p() const { return p_; }                  ///< columns of P
  const std::vector<Real>& theta() const { return theta_; }

  /// Ritz values of g = X^H A X, and X's new columns in terms of the old ones. No P.
  Small start(const Small& g) {
    const std::int64_t k = g.columns();
    const Small z = z_.block(0, k, 0, k);
    solve(g, z);
    theta_.assign(row_.data(), row_.data() + k);
    p_ = 0;
    return z;
  }

  /// X's first columns leave the problem.
  void remove(std::int64_t count) { theta_.erase(theta_.begin(), theta_.begin() + count); }
  void drop_p() { p_ = 0; }

  /// Where S^H A W is to be put: (x + p + w) x w.
  Small image_of_w(std::int64_t w) const { return h_.block(0, x() + p_ + w, x() + p_, x() + p_ + w); }
  /// Where S^H W, or S^H B W, is to be put, if W is not orthonormal beside X and P: (x + p + w) x w.
  Small gram_of_w(std::int64_t w) const { return gram_.block(0, x() + p_ + w, 0, w); }

  /// Makes W orthonormal in the next step's coefficients, from image_of_w() and gram_of_w(): by Pythagoras and
  /// Cholesky, R^H R = W^H W - C^H C for C = V^H W. W itself stays as it is. Rounding errors make [V W'] orthonormal to
  /// eps a, where a = ||D R^-1||_F^2 / w for the lengths D of W's columns. False, and image_of_w() is as it was, where
  /// a is more than `most`.
  bool orthonormalize_w(std::int64_t w, Real most) {
    const std::int64_t v = x() + p_;
    const Small c = gram_.block(0, v, 0, w), g = gram_.block(v, v + w, 0, w), r = factor_.block(0, w, 0, w);
    const auto squares = row_.block(0, 1, 0, w);
    for (std::int64_t j = 0; j < w; ++j) squares.data()[j * squares.ld()] = real_part(at(g, j, j));
    orth::dense::multiply(Scalar(-1), c, true, c, false, Scalar(1), g);
    const auto found = orth::dense::cholesky(g, epsilon<Real>, r, &squares);
    if (!found.finite || found.rank < w) return false;
    const Small inverse = z_.block(0, w, 0, w);
    orth::dense::triangular_inverse(r, inverse);
    Real a = 0;
    for (std::int64_t j = 0; j < w; ++j) {
      for (std::int64_t i = 0; i <= j; ++i) {
        const Scalar entry = at(inverse, i, j);
        a += squares.data()[i * squares.ld()] * real_part(conjugate(entry) * entry);
      }
    }
    if (!(a <= most * static_cast<Real>(w))) return false;
    // H of [V W'] from that of [V W]: E = V^H A W - H_V C, and W^H A W - C^H E - E_0^H C with E_0 = V^H A W.
    const Small of_v = image_of_w(w).block(0, v, 0, w), of_w = image_of_w(w).block(v, v + w, 0, w);
    orth::dense::multiply(Scalar(-1), of_v, true, c, false, Scalar(1), of_w);
    fill_v();
    orth::dense::multiply(Scalar(-1), h_.block(0, v, 0, v), false, c, false, Scalar(1), of_v);
    orth::dense::multiply(Scalar(-1), c, true, of_v, false, Scalar(1), of_w);
    const auto upper = kernels::Triangle::upper;
    orth::dense::triangular_solve(orth::dense::Side::right, upper, r, false, of_v);
    orth::dense::triangular_solve(orth::dense::Side::right, upper, r, false, of_w);
    orth::dense::triangular_solve(orth::dense::Side::left, upper, r, true, of_w);
    is_w_orthonormal_ = false;
    return true;
  }

  /// One step with w columns of W: [X' P'] = S C for the C that is returned, until the next call. X' are the lowest
  /// Ritz vectors. P' spans what `active` columns of X' have gained, orthogonal to X'; dependent directions are
  /// dropped. With Z = [Z_X Z_Y] the eigenvectors of H, P' = S Z_Y Q for an orthonormal Q with the span of Z_Y^H E E^H
  /// Z_X, E being X's columns of S: orthonormal to rounding however small the gain is (Duersch et al. 2018,
  /// section 4.2).
  Small step(std::int64_t w, std::int64_t kept, std::span<const std::int64_t> active) {
    const std::int64_t k = x(), n = k + p_ + w;
    fill_v();
    solve(h_.block(0, n, 0, n), z_.block(0, n, 0, n));
    theta_.assign(row_.data(), row_.data() + kept);
    const Small result = combine(k, w, kept, active), gains = h_.block(0, n - kept, 0, p_);
    // P'^H A P' = Q^H diag(theta_Y) Q.
    for (std::int64_t j = 0; j < p_; ++j) {
      for (std::int64_t i = 0; i <= j; ++i) {
        Scalar sum(0);
        for (std::int64_t l = 0; l < n - kept; ++l)
          sum += conjugate(at(gains, l, i)) * row_.data()[kept + l] * at(gains, l, j);
        at(of_p_, i, j) = sum;
      }
    }
    return result;
  }

  /// Where S^H A S and (A S)^H A S are to be put for step_near(), if S has so many columns.
  Small projected(std::int64_t columns) const { return h_.block(0, columns, 0, columns); }
  Small gram_of_images(std::int64_t columns) const { return gram_.block(0, columns, 0, columns); }

  /// As start(), with k columns.
  Small start_near(std::int64_t k, bool is_refined, std::int64_t lead) {
    theta_.clear();
    p_ = 0;
    return step_near(k, k, {}, is_refined, lead);
  }
  /// As step(), but X' are vectors of the eigenvalues nearest to zero, inside the spectrum, and all small
  /// matrices come anew: projected() and, for refined vectors, gram_of_images(). Of these the first
  /// `lead` are parted by Rayleigh-Ritz; theta are Rayleigh quotients. Without it X' are Ritz vectors, nearest first.
  Small step_near(std::int64_t w, std::int64_t kept, std::span<const std::int64_t> active, bool is_refined,
                  std::int64_t lead) {
    const std::int64_t k = x(), n = k + p_ + w;
    const Small h = projected(n), z = z_.block(0, n, 0, n);
    if (is_refined) {
      nearest::refined_vectors(h, gram_of_images(n), lead, z);
    } else {
      orth::dense::set_identity(z);
      nearest::rayleigh_ritz(h, z, 0, n);
    }
    theta_ = nearest::rayleigh_quotients(h, z.block(0, n, 0, kept));
    return combine(k, w, kept, active);
  }

 private:
  /// C of a step from Z, whose first columns are X'. Q stays in h_.
  Small combine(std::int64_t k, std::int64_t w, std::int64_t kept, std::span<const std::int64_t> active) {
    const std::int64_t p = p_, n = k + p + w;
    const std::int64_t rest = n - kept, gained = std::min<std::int64_t>(std::ssize(active), rest);
    // Z_Y^H E E^H Z_X for the active columns, in the place of C's last columns; Q overwrites it.
    const Small q = coefficients_.block(0, rest, kept, kept + gained);
    for (std::int64_t j = 0; j < gained; ++j) {
      for (std::int64_t i = 0; i < rest; ++i) {
        Scalar sum(0);
        for (std::int64_t l = 0; l < k; ++l) sum += conjugate(at(z_, l, kept + i)) * at(z_, l, active[index(j)]);
        at(q, i, j) = sum;
      }
    }
    p_ = orthonormalize(q);
    const Small gains = h_.block(0, rest, 0, p_);  // H is not needed any more
    orth::dense::copy(q.block(0, rest, 0, p_), gains);
    orth::dense::copy(z_.block(0, n, 0, kept), coefficients_.block(0, n, 0, kept));
    orth::dense::multiply(Scalar(1), z_.block(0, n, kept, n), false, gains, false, Scalar(0),
                          coefficients_.block(0, n, kept, kept + p_));
    const Small result = coefficients_.block(0, n, 0, kept + p_);
    if (!std::exchange(is_w_orthonormal_, true)) {  // V Y + W' Z = V (Y - C R^-1 Z) + W R^-1 Z
      const Small of_v = result.block(0, k + p, 0, kept + p_), of_w = result.block(k + p, n, 0, kept + p_);
      orth::dense::triangular_solve(orth::dense::Side::left, kernels::Triangle::upper, factor_.block(0, w, 0, w), false,
                                    of_w);
      orth::dense::multiply(Scalar(-1), gram_.block(0, k + p, 0, w), false, of_w, false, Scalar(1), of_v);
    }
    return result;
  }

  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  static Scalar& at(const Small& a, std::int64_t i, std::int64_t j) { return a.data()[i + j * a.ld()]; }
  /// H's part of V, in full.
  void fill_v() {
    const std::int64_t k = x();
    orth::dense::fill(h_.block(0, k + p_, 0, k + p_), Scalar(0));
    for (std::int64_t i = 0; i < k; ++i) at(h_, i, i) = Scalar(theta_[index(i)]);
    for (std::int64_t j = 0; j < p_; ++j) {
      for (std::int64_t i = 0; i <= j; ++i) {
        at(h_, k + i, k + j) = at(of_p_, i, j);
        at(h_, k + j, k + i) = conjugate(at(of_p_, i, j));
      }
    }
  }
  /// Eigenvalues to row_, ascending. Of H the upper triangle counts.
  void solve(const Small& h, const Small& z) {
    orth::dense::eigendecomposition(h, row_.block(0, 1, 0, h.columns()), z);
  }

  /// Gram-Schmidt twice on Q's columns; those that depend on others before them are left out. Returns how many stay, in
  /// front.
  static std::int64_t orthonormalize(const Small& q) {
    const auto norm = [&](std::int64_t j) {
      Real sum = 0;
      for (std::int64_t i = 0; i < q.rows(); ++i) sum += real_part(conjugate(at(q, i, j)) * at(q, i, j));
      return std::sqrt(sum);
    };
    std::int64_t kept = 0;
    for (std::int64_t j = 0; j < q.columns(); ++j) {
      const Real before = norm(j);
      for (int round = 0; round < 2; ++round) {
        for (std::int64_t l = 0; l < kept; ++l) {
          Scalar dot(0);
          for (std::int64_t i = 0; i < q.rows(); ++i) dot += conjugate(at(q, i, l)) * at(q, i, j);
          for (std::int64_t i = 0; i < q.rows(); ++i) at(q, i, j) -= dot * at(q, i, l);
        }
      }
      const Real after = norm(j);
      // The entries of Z are wrong by some eps.
      const Real noise = 16 * static_cast<Real>(q.rows()) * epsilon<Real>;
      if (!(after > std::max(noise, 1000 * epsilon<Real> * before))) continue;
      for (std::int64_t i = 0; i < q.rows(); ++i) at(q, i, kept) = at(q, i, j) / after;
      ++kept;
    }
    return kept;
  }

  Small h_, z_, of_p_, gram_, factor_, coefficients_;
  SmallMatrix<Real> row_;
  std::vector<Real> theta_;
  std::int64_t p_ = 0;
  bool is_w_orthonormal_ = true;
};

}  // namespace blockvec::solvers

#pragma once

#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/solvers/operator.hpp>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "solvers/counted_operator.hpp"
#include "solvers/tridiagonal.hpp"

namespace blockvec::solvers {

/// Where a filter is to cut the spectrum of sign * A, and what else a look at it tells.
template <class Real>
struct SpectrumCut {
  Real lowest;  ///< a Ritz value near the lower end
  Real at;      ///< a Ritz value with about as many eigenvalues below it as were asked for, or more
  Real top;     ///< no eigenvalue is above, in all likelihood
  Real norm;    ///< of A at least this: the largest Ritz value in absolute terms
  /// More eigenvalues than were asked for lie so close to the lowest one that the cut had to be put above them: a level
  /// of many copies, or nearly so.
  bool is_crowded;
};

/// The inner product x^H B y, in which the probed operator is Hermitian; empty: x^H y.
template <class Vector>
struct ProbedInnerProduct {
  std::function<void(const Vector&, const Vector&)> apply_b = {};
  Vector b_deflation = {};  ///< B applied to what stays out of the search
};

/// Lanczos from one random vector, short and without reorthogonalisation: far cheaper than steps in blocks, and it sees
/// the ends of the spectrum first. Its Ritz values and the squared first entries of their vectors are a quadrature of
/// the spectral density, since a random vector weighs all eigenvectors alike on average: n times the weights up to a
/// Ritz value estimate how many eigenvalues lie up to there (Lin, Saad, Yang 2016, SIAM Review 58, 34). It goes on
/// until the second Ritz value has no more than `count` eigenvalues below it, `most_steps` at most. The largest Ritz
/// value plus its residual bounds the spectrum in practice (Zhou, Li 2011). Nothing where there are too few eigenvalues
/// to cut between. Cost: each step applies A, and B, to one column, four passes over a column, two reductions.
template <class Vector>
class SpectrumProbe {
 public:
  using Scalar = typename Vector::Scalar;
  using Space = typename Vector::Space;
  using Real = RealOf<Scalar>;
  using Cut = SpectrumCut<Real>;

  /// The columns of `deflation`, orthonormal, stay out of the search; that takes another reduction a step. `spare`: two
  /// columns that it may use. With a B it allocates a third.
  SpectrumProbe(const AnyOperator<Vector>& a, Real sign, const Vector& deflation,
                const std::pair<Vector, Vector>& spare, const ProbedInnerProduct<Vector>& inner = {})
      : a_(a),
        sign_(sign),
        apply_b_(inner.apply_b),
        deflation_(deflation),
        b_deflation_(apply_b_ ? inner.b_deflation : deflation),
        image_(apply_b_ ? Vector(a.context(), a.rows(), 1, "B Lanczos vector") : Vector()),
        current_(spare.first),
        previous_(spare.second),
        dot_(a.context(), 1, 1, "BlockVec::solvers::probe_dot"),
        norm_(a.context(), 1, 1, "BlockVec::solvers::probe_norm"),
        coefficients_(a.context(), deflation.width(), 1, "BlockVec::solvers::probe_coefficients") {}

  /// The cut is at least `least_gap` times the width of the spectrum above the lowest Ritz value, whatever the count: a
  /// level wider than the count is not cut.
  std::optional<Cut> run(Real count, Real least_gap, std::uint64_t seed) {
    constexpr int most_steps = 60;
    constexpr int steps_between_looks = 4;
    fill_random(current_, seed);
    deflate(current_);
    normalize(current_, norm(current_));
    std::optional<Cut> cut;
    for (int steps = 1; steps <= most_steps; ++steps) {
      const bool goes_on = step();
      if (goes_on && steps % steps_between_looks != 0) continue;
      cut = look(count, least_gap);
      if (is_resolved_ || !goes_on) break;
    }
    return cut;
  }

  /// Columns that A was applied to.
  std::int64_t applications() const { return static_cast<std::int64_t>(diagonal_.size()); }

 private:
  /// One step of the three-term recurrence. False: the Krylov space is invariant.
  bool step() {
    const Real before = coupling_.empty() ? Real(0) : coupling_.back();
    a_.apply(Scalar(sign_), Scalar(0), current_, Scalar(-before), previous_);
    column_dots(apply_b_ ? image_ : current_, previous_, dot_);
    const Scalar quotient = dot_.to_host()(0, 0);
    axpby(-quotient, current_, Scalar(1), previous_);
    deflate(previous_);
    diagonal_.push_back(real_part(quotient));
    coupling_.push_back(norm(previous_));
    size_ = std::max({size_, std::abs(diagonal_.back()), coupling_.back()});
    if (!(coupling_.back() > std::sqrt(epsilon<Scalar>) * size_)) return false;
    normalize(previous_, coupling_.back());
    std::swap(previous_, current_);
    return true;
  }

  std::optional<Cut> look(Real count, Real least_gap) {
    const auto n = diagonal_.size();
    const auto pairs = tridiagonal_eigenpairs<Real>(a_.context(), diagonal_, coupling_);
    const auto &values = pairs.values.view(), &vectors = pairs.vectors.view();
    const auto rows = static_cast<Real>(a_.rows().global_rows());
    const Real lowest = values(0, 0);
    const Real top = values(0, n - 1) + coupling_.back() * std::abs(vectors(n - 1, n - 1));
    Real below = 0;
    bool is_crowded = false;
    for (std::size_t i = 0; i < n; ++i) {
      below += rows * vectors(0, i) * vectors(0, i);
      if (i == 1) is_resolved_ = below <= count;
      if (i < 1 || below < count) continue;
      if (values(0, i) - lowest < least_gap * (top - lowest)) {
        is_crowded = true;
        continue;
      }
      return Cut{lowest, values(0, i), top, std::max(std::abs(lowest), std::abs(values(0, n - 1))), is_crowded};
    }
    return std::nullopt;
  }

  void deflate(const Vector& x) {
    if (deflation_.width() == 0) return;
    inner_product(b_deflation_, x, coefficients_);
    update(Scalar(-1), deflation_, coefficients_, Scalar(1), x);
  }

  /// The length of the vector that is to be the next current one; its image is kept.
  Real norm(const Vector& x) {
    if (apply_b_) {
      apply_b_(x, image_);
      column_dots(x, image_, dot_);
      return std::sqrt(std::max<Real>(0, real_part(dot_.to_host()(0, 0))));
    }
    column_norms(x, norm_);
    return norm_.to_host()(0, 0);
  }
  void normalize(const Vector& x, Real length) {
    scale(x, Scalar(1 / length));
    if (apply_b_) scale(image_, Scalar(1 / length));
  }

  AnyOperator<Vector> a_;
  Real sign_;
  std::function<void(const Vector&, const Vector&)> apply_b_;
  Vector deflation_, b_deflation_;
  Vector image_;  // of the current vector under B
  Vector current_, previous_;
  SmallMatrix<Scalar, Space> dot_;
  SmallMatrix<Real, Space> norm_;
  SmallMatrix<Scalar, Space> coefficients_;
  std::vector<Real> diagonal_, coupling_;
  Real size_ = 0;
  bool is_resolved_ = false;  // the second Ritz value lies low enough
};

}  // namespace blockvec::solvers

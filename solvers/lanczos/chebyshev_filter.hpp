#pragma once

#include <algorithm>
#include <blockvec/operations.hpp>
#include <blockvec/solvers/lanczos.hpp>
#include <limits>
#include <utility>
#include <vector>

#include "solvers/chebyshev_polynomial.hpp"

namespace blockvec::solvers {

/// What an automatic filter does to the lowest eigenvalue: two digits or so are gained by a step then. A stronger
/// filter costs more columns of A in all, a weaker one more orthogonalisation; in between it hardly matters.
template <class Real>
constexpr Real filter_range = 300;

/// The degree of the filter that leaves [cut, top] unwanted: the greatest one that raises the lowest eigenvalue to
/// filter_range at most.
template <class Real>
int filter_degree_for(Real lowest, Real cut, Real top) {
  const Real t = 1 + 2 * (cut - lowest) / (top - cut);
  int degree = 1;
  while (degree < LanczosOptions::most_filter_degree && chebyshev(degree + 1, t) <= filter_range<Real>) ++degree;
  return degree;
}

/// The least distance of a cut from the lowest eigenvalue, in widths of the spectrum, that the greatest degree is
/// enough for.
template <class Real>
Real least_filtered_gap() {
  const Real t = chebyshev_inverse(LanczosOptions::most_filter_degree, filter_range<Real>);
  return (t - 1) / (t + 1);
}

/// What a Krylov space is built with: sign * A, or a Chebyshev polynomial of it. Either way the wanted end of the
/// spectrum becomes the lower end. The polynomial is -T_d(t), where t maps the unwanted interval [cut, top] of sign * A
/// onto [1, -1]: the unwanted eigenvalues go to
/// [-1, 1], and the wanted ones, below the cut, to values below -1, in their order and the further apart the higher the
/// degree d. As T_k(T_d) = T_kd, k Krylov steps with it are worth k d steps with A, at 1/d of the orthogonalisation.
/// Source: Li, Xi, Vecharynski, Yang, Saad 2016 (SIAM J. Sci. Comput. 38, A2512), which filters a thick-restart Lanczos
/// process too.
template <class Vector>
class SpectralTransform {
 public:
  using Scalar = typename Vector::Scalar;
  using Real = RealOf<Scalar>;

  /// sign * A itself.
  SpectralTransform(AnyOperator<Vector> a, Real sign) : a_(std::move(a)), sign_(sign) {}
  /// The polynomial of degree >= 1; cut < top are eigenvalues of sign * A.
  SpectralTransform(AnyOperator<Vector> a, Real sign, Real cut, Real top, int degree)
      : a_(std::move(a)), sign_(sign), centre_((cut + top) / 2), half_width_((top - cut) / 2), degree_(degree) {}

  /// What a checkpoint keeps (state_archive.hpp).
  template <class Archive>
  void state(Archive& archive) {
    archive(centre_, half_width_, degree_);
  }

  /// 0: A itself.
  int degree() const { return degree_; }
  /// Only eigenvalues of sign * A below this can be wanted ones.
  Real cut() const { return degree_ == 0 ? std::numeric_limits<Real>::infinity() : centre_ - half_width_; }

  /// Y = C X. Costs `degree` applications of A, or one.
  void apply(const Vector& x, const Vector& y) const {
    if (degree_ == 0) return a_.apply(Scalar(sign_), Scalar(0), x, Scalar(0), y);
    const auto shift = Scalar(sign_ * centre_);
    const Real factor = -sign_ / half_width_;
    // T_1 = t, T_k = 2 t T_(k-1) - T_(k-2), and C = -T_d.
    std::vector<RecurrenceStep<Scalar>> steps(static_cast<std::size_t>(degree_), {Scalar(2 * factor), Scalar(-1)});
    steps.front() = {Scalar(factor), Scalar(0)};
    for (auto* const number : {&steps.back().alpha, &steps.back().beta}) *number = -*number;
    a_.apply_polynomial({shift, std::move(steps), {}}, x, y);
  }

  /// The eigenvalue of sign * A that belongs to a wanted eigenvalue of C. A value of the unwanted interval gives the
  /// cut.
  Real eigenvalue(Real value) const {
    if (degree_ == 0) return value;
    return centre_ - half_width_ * chebyshev_inverse(degree_, std::max(-value, Real(1)));
  }

  /// The other way round: C's eigenvalue for one of sign * A.
  Real value(Real eigenvalue) const {
    if (degree_ == 0) return eigenvalue;
    return -chebyshev(degree_, std::max((centre_ - eigenvalue) / half_width_, Real(-1)));
  }

  /// A residual norm of a pair of C times this bounds that of the pair of A: on the whole spectrum
  /// |lambda - theta| <= (top - theta) / (|value| - 1) * |C(lambda) - value|, since -C is convex and monotone below the
  /// cut and within
  /// [-1, 1] above it. Infinite for values in the unwanted interval.
  Real residual_factor(Real value) const {
    if (degree_ == 0) return 1;
    return (centre_ + half_width_ - eigenvalue(value)) / std::max(-value - 1, Real(0));
  }

 private:
  AnyOperator<Vector> a_;
  Real sign_;
  Real centre_ = 0;
  Real half_width_ = 1;
  int degree_ = 0;
};

}  // namespace blockvec::solvers

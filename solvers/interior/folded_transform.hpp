#pragma once

#include <algorithm>
#include <blockvec/operations.hpp>
#include <blockvec/solvers/operator.hpp>
#include <cmath>
#include <optional>
#include <utility>

#include "solvers/chebyshev_polynomial.hpp"

namespace blockvec::solvers {

/// C = -T_m(t((A - target)^2)), where t maps [distance^2, farthest^2] onto [1, -1]: eigenvalues within `distance` of
/// the target go to values below -1, the lower the nearer they are, all others to [-1, 1].
template <class Vector>
class FoldedTransform {
 public:
  using Scalar = typename Vector::Scalar;
  using Real = RealOf<Scalar>;
  /// What C makes of an eigenvalue at the target: as far as a step with a filter of block Lanczos goes.
  static constexpr Real range = 300;
  static constexpr int most_degree = 10000;  // T has at most this degree

  FoldedTransform() = default;
  FoldedTransform(AnyOperator<Vector> a, Real target, Real distance, Real farthest)
      : a_(std::move(a)),
        target_(target),
        centre_((distance * distance + farthest * farthest) / 2),
        half_width_((farthest * farthest - distance * distance) / 2) {
    while (degree_ < most_degree && chebyshev(degree_ + 1, centre_ / half_width_) <= range) ++degree_;
  }

  /// The degree of the polynomial of A, twice that of T.
  int degree() const { return 2 * degree_; }
  /// Whether it raises what is near the target as it should; a short distance would ask for a higher degree.
  bool is_strong() const { return degree_ < most_degree || value(0) < -range / 2; }

  /// Y = C X. Costs degree() applications of A; scratch for two blocks.
  void apply(const Vector& x, const Vector& y) const {
    WorkspaceScope<typename Vector::Space> scope(x.context());
    const Vector shifted = scratch_like(scope, x, x.width());
    Vector previous = y, current = scratch_like(scope, x, x.width());
    if (degree_ % 2 != 0) std::swap(previous, current);  // so that the last term comes to stand in Y
    copy(x, previous);
    // to <- factor t(F) from + beta to, with F = (A - target)^2
    const auto multiply = [&](Real factor, const Vector& from, Real beta, const Vector& to) {
      a_->apply(Scalar(1), Scalar(target_), from, Scalar(0), shifted);
      a_->apply(Scalar(-factor / half_width_), Scalar(target_), shifted, Scalar(beta), to);
      axpby(Scalar(factor * centre_ / half_width_), from, Scalar(1), to);
    };
    if (degree_ == 1) {
      multiply(-1, previous, 0, current);
      return;
    }
    multiply(1, previous, 0, current);
    for (int k = 2; k < degree_; ++k) {
      multiply(2, current, -1, previous);
      std::swap(current, previous);
    }
    multiply(-2, current, 1, previous);
  }

  /// C's eigenvalue for one of A at this distance from the target.
  Real value(Real distance) const {
    return -chebyshev(degree_, std::max((centre_ - distance * distance) / half_width_, Real(-1)));
  }
  /// The other way round, as far as the filter reaches.
  Real distance(Real value) const {
    const Real square = centre_ - half_width_ * chebyshev_inverse(degree_, std::max(-value, Real(1)));
    return std::sqrt(std::max<Real>(square, 0));
  }

 private:
  std::optional<AnyOperator<Vector>> a_;
  Real target_ = 0, centre_ = 0, half_width_ = 1;
  int degree_ = 1;
};

}  // namespace blockvec::solvers

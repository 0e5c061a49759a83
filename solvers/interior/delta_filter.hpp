#pragma once

#include <algorithm>
#include <blockvec/operations.hpp>
#include <blockvec/solvers/operator.hpp>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace blockvec::solvers {

/// C = -p(A), where p is the Chebyshev expansion of a delta function, cut off at some degree and scaled to p = 1 at its
/// place: of all polynomials of this degree with this value it is the smallest one in the mean over the spectrum.
/// It falls to both sides of the place and is at most a quarter farther away. The degree is the greatest one that
/// leaves all eigenvalues in a window around the place near its top. A cut without damping has the narrowest top for
/// its degree; what it leaves far away does not harm a Krylov space.
template <class Vector>
class DeltaFilter {
 public:
  using Scalar = typename Vector::Scalar;
  using Real = RealOf<Scalar>;
  /// What p is in the window, at least, where that is much narrower than the spectrum.
  static constexpr double level = 0.75;
  static constexpr int least_degree = 6, most_degree = 20000;

  DeltaFilter() = default;
  /// For a spectrum between bottom and top. The window may reach beyond it on one side or on both, but meets it. Where
  /// `at` does not say the place, it is the middle of the window, or the one end of the spectrum that lies in it. From
  /// a place at an end, p grows to what is beyond it.
  DeltaFilter(AnyOperator<Vector> a, Real bottom, Real top, Real from, Real to, std::optional<Real> at = {})
      : a_(std::move(a)) {
    const bool meets_bottom = from <= bottom, meets_top = to >= top;
    const Real room = (top - bottom) / 100;  // for what an end that is not in the window hides
    const Real lowest = meets_bottom ? bottom : bottom - room, highest = meets_top ? top : top + room;
    half_width_ = (highest - lowest) / 2;
    centre_ = lowest + half_width_;
    if (half_width_ > 0) {
      const double low = std::max(place(std::max(from, bottom)), -1.0), high = std::min(place(std::min(to, top)), 1.0);
      expand(at                          ? std::clamp(place(*at), low, high)
             : meets_bottom == meets_top ? between(low, high)
             : meets_bottom              ? low
                                         : high,
             low, high);
    }
    if (degree() < least_degree) take_parabola(at ? *at : from + (to - from) / 2, bottom, top);
  }

  int degree() const { return static_cast<int>(coefficients_.size()) - 1; }
  /// Does p fall all the way, without side lobes?
  bool is_parabola() const { return is_parabola_; }
  /// What p is at most far from the window.
  Real side_lobes() const { return Real(is_parabola_ ? -1 : 0.25); }
  /// What p is at least on the spectrum.
  Real least() const { return Real(is_parabola_ ? -1 : -0.35); }
  /// Whether the degree is as high as the window asks.
  bool is_strong() const { return is_strong_; }

  /// Y = C X. Costs degree() applications of A, and the sum of its terms.
  void apply(const Vector& x, const Vector& y) const {
    Polynomial<Scalar> p{Scalar(centre_), {}, {factor_of(0)}};
    for (std::size_t k = 1; k < coefficients_.size(); ++k) {
      const Real factor = k == 1 ? 1 : 2;
      p.steps.push_back({Scalar(factor / half_width_), Scalar(1 - factor)});
      p.weights.push_back(factor_of(k));
    }
    a_->apply_polynomial(p, x, y);
  }

  /// C's eigenvalue for one of A.
  Real value(Real eigenvalue) const {
    const double t = place(eigenvalue);
    double newer = 0, older = 0;
    for (int k = degree(); k > 0; --k) {
      older = coefficients_[static_cast<std::size_t>(k)] + 2 * t * newer - older;
      std::swap(newer, older);
    }
    return static_cast<Real>(-(coefficients_[0] + t * newer - older));
  }

 private:
  /// That of T_k X in C X.
  Scalar factor_of(std::size_t k) const { return Scalar(static_cast<Real>(-coefficients_[k])); }
  double place(Real eigenvalue) const { return static_cast<double>((eigenvalue - centre_) / half_width_); }
  /// The cosine in the middle between two others, as angles go.
  static double between(double low, double high) {
    const double cosine = low * high - std::sqrt((1 - low * low) * (1 - high * high));  // of the sum of both angles
    return std::copysign(std::sqrt(std::max(0.0, (1 + cosine) / 2)), low + high);
  }
  void take_parabola(Real at, Real bottom, Real top) {
    is_parabola_ = is_strong_ = true;
    centre_ = at;
    half_width_ = std::max(top - at, at - bottom) * Real(1.02);
    if (!(half_width_ > 0)) half_width_ = std::max<Real>(std::abs(at), 1);  // one eigenvalue is all there is
    coefficients_ = {0, 0, -1};
  }
  /// The delta function at a place between low and high.
  void expand(double at, double low, double high) {
    // T_(k-1) and T_k there, and the sums up to k.
    struct Point {
      double t, before, now, sum;
    } points[] = {{at, 1, at, 1}, {low, 1, low, 1}, {high, 1, high, 1}};
    coefficients_ = {1};
    is_strong_ = false;
    while (degree() < most_degree && !is_strong_) {
      const double factor = 2 * points[0].now;
      for (Point& point : points) {
        point.sum += factor * point.now;
        point.before = std::exchange(point.now, 2 * point.t * point.now - point.before);
      }
      is_strong_ = std::min(points[1].sum, points[2].sum) < level * points[0].sum;
      if (!is_strong_) coefficients_.push_back(factor);
    }
    double sum = 1;  // p at the place
    for (std::size_t k = 1; k < coefficients_.size(); ++k) sum += coefficients_[k] * coefficients_[k] / 2;
    for (double& coefficient : coefficients_) coefficient /= sum;
  }

  std::optional<AnyOperator<Vector>> a_;
  Real centre_ = 0, half_width_ = 1;
  std::vector<double> coefficients_ = {1};  // of Chebyshev polynomials
  bool is_strong_ = false, is_parabola_ = false;
};

}  // namespace blockvec::solvers

#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "solvers/chebyshev_polynomial.hpp"

namespace blockvec::solvers {

/// The part of the spectrum of sign * A that a filter damps, [cut, top], and what the Chebyshev polynomial of it does
/// to the eigenvalues below, of which `lowest` is one. Small numbers on the host, the same on every rank.
template <class Real>
struct DampedInterval {
  Real lowest, cut, top;

  /// What a checkpoint keeps (state_archive.hpp).
  template <class Archive>
  void state(Archive& archive) {
    archive(lowest, cut, top);
  }

  Real centre() const { return cut + (top - cut) / 2; }
  /// Never so narrow that an eigenvalue is mapped beyond all numbers: with nothing to damp, a filter of degree 2 does.
  Real half_width() const { return std::max((top - cut) / 2, (top - lowest) / 1000); }
  /// Where the polynomial is taken for this eigenvalue: [cut, top] goes to [1, -1], what lies below the cut to t > 1.
  Real place(Real eigenvalue) const {
    const Real half = half_width();
    return half > 0 ? (centre() - eigenvalue) / half : Real(1);
  }

  /// The least even degree >= 2 that raises this eigenvalue `gain` times above what is damped, `most` at most. It is
  /// lower where the filter would raise the lowest eigenvalue so far above this one that the rounding errors in its
  /// direction, `rounding` of the column before, came to a hundredth of it.
  int degree_for(Real eigenvalue, Real gain, int most, Real rounding = epsilon<Real>) const {
    const Real t = std::max(place(eigenvalue), Real(1)), t_lowest = std::max(place(lowest), t);
    int degree = 2;
    while (degree + 2 <= most && chebyshev(degree, t) < gain) {
      if (chebyshev(degree + 2, t_lowest) * 100 * rounding > chebyshev(degree + 2, t)) break;
      degree += 2;
    }
    return degree;
  }
};

/// Filters of higher degrees than this would rest on a cut that is not known well enough, except where it lies so near
/// that they are too weak.
inline constexpr int usual_degree = 100;
/// How far one filter raises the last wanted eigenvalue at least, if its degree may be so high.
inline constexpr int least_gain = 10;

/// The least distance from the cut, in widths of the spectrum, at which a filter of this degree has the least gain.
template <class Real>
Real least_gap(int degree) {
  const Real t = chebyshev_inverse(degree, Real(least_gain));
  return (t - 1) / (t + 1);
}

/// The interval as Ritz values of the iterated columns tell it. The cut is the largest of them, which nears the first
/// eigenvalue for which there is no column, from above. But where these columns all lie in one level that is wider than
/// they, nothing in the level would be raised above the rest: then the cut stays clear of the last wanted value. This
/// distance becomes smaller where the residuals do not fall, since the level may be several close ones.
template <class Real>
class IntervalChoice {
 public:
  /// Decades that residuals fall by in an iteration that gets somewhere.
  static constexpr double least_fall = 0.3;

  IntervalChoice() = default;
  explicit IntervalChoice(const DampedInterval<Real>& first)
      : interval_(first), clear_(least_gap<Real>(usual_degree) * (first.top - first.lowest)) {}

  template <class Archive>
  void state(Archive& archive) {
    archive(interval_, is_sound_, clear_);
  }

  const DampedInterval<Real>& interval() const { return interval_; }
  /// Whether Ritz values tell where eigenvalues lie. Early ones do not, of vectors that have everything in them.
  bool is_sound() const { return is_sound_; }

  /// Ritz values, ascending, and residual norms of all columns; is_slow: those of the wanted ones have not fallen by
  /// least_fall.
  void see(const std::vector<Real>& values, const std::vector<Real>& residuals, std::size_t wanted, bool is_slow) {
    Real &lowest = interval_.lowest, &cut = interval_.cut, &top = interval_.top;
    const Real largest = values.back(), last = values[wanted - 1];
    lowest = std::min(lowest, values.front());
    if (largest > top) top = largest + residuals.back();  // an eigenvalue above what was taken for the top
    const Real finest = least_gap<Real>(usual_degree) * (top - lowest);
    is_sound_ = residuals[wanted - 1] < std::max(last - lowest, finest) / 10;
    if (largest > last + clear_) {
      cut = std::min(cut, largest);
      if (cut < last + clear_ && (is_slow || is_sound_)) cut = largest;
    } else if (is_slow) {
      clear_ = std::max<Real>(cut - last, 0) / 8;
      cut = last + clear_;
    } else if (is_sound_) {
      cut = std::max(cut, last + clear_);
    }
    cut = std::min(cut, top);
  }

 private:
  DampedInterval<Real> interval_{};
  bool is_sound_ = false;
  Real clear_ = 0;  // of the last wanted value at least this
};

}  // namespace blockvec::solvers

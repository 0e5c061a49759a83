#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "solvers/chebyshev/search.hpp"

/// Which degrees the filters of a search have, and what condition they leave the block with.
namespace blockvec::solvers {

/// The even degree of each active column: what brings its residual to a third of the tolerance. Extra columns have
/// the last wanted one's.
template <class Vector>
void ChebyshevSearch<Vector>::choose_degrees() {
  const auto& interval = choice_.interval();
  int most = std::min(usual_degree, options_.most_degree);
  if (choice_.is_sound()) {
    const Real last = values_[index(options_.wanted - 1)];
    most = std::max(most, interval.degree_for(last, Real(least_gain), options_.most_degree));
  }
  if (is_single()) most = std::min(most, highest_in_single());
  degrees_.clear();
  is_leak_limited_ = false;
  for (std::int64_t j = locked_; j < columns_; ++j) {
    if (!is_filtered_) {
      degrees_.push_back(first_degree());
    } else if (j < options_.wanted) {
      auto gain = static_cast<Real>(std::max(1., error(j) / (options_.tolerance / 3)));
      if (inverse_ && !inverse_->is_exact()) gain = std::min(gain, 1 / inverse_->error());
      if (is_single()) gain = std::min(gain, 1 / (16 * Real(epsilon<float>)));
      int degree = interval.degree_for(values_[index(j)], gain, most, rounding(j));
      if (is_single()) degree = (degree + Single::unit - 1) / Single::unit * Single::unit;
      degrees_.push_back(highest_without_leaks(degree, j));
      if (degrees_.back() < degree) is_leak_limited_ = true;
    } else {
      degrees_.push_back(degrees_.back());
    }
  }
}

/// Rounding errors in the direction of the lowest eigenvector, epsilon of the residual, are raised T(t(lowest)) times
/// as far as what is damped, and rounded themselves: another epsilon of that comes into all directions. Beyond this
/// degree it would exceed a tenth of what the filter leaves of the residual.
template <class Vector>
int ChebyshevSearch<Vector>::highest_in_single() const {
  constexpr Real squared = Real(epsilon<float>) * Real(epsilon<float>);
  const auto& interval = choice_.interval();
  const int degree = interval.degree_for(interval.lowest, 1 / (10 * squared), options_.most_degree);
  return std::max(2, degree / Single::unit * Single::unit);
}

/// What a filter of this degree brings into column j from locked ones, as a backward error. Orthogonal to the locked
/// column, it still has as much of the true eigenvector as the locked one lacks; the filter raises that above the
/// column's own part, and of what is then taken away the locked column's residual stays behind. So do rounding errors
/// of what was raised, in single precision.
template <class Vector>
double ChebyshevSearch<Vector>::leaked(int degree, std::int64_t j) const {
  const auto& interval = choice_.interval();
  const auto raised = [&](std::int64_t i) {
    return chebyshev(degree, std::max<Real>(1, interval.place(values_[index(i)])));
  };
  const Real own = raised(j);
  double sum = 0;
  for (std::int64_t i = 0; i < locked_; ++i) {
    const Real distance = values_[index(j)] - values_[index(i)];
    const Real margin = Pencil<Vector>::eigenvalue_error(residuals_[index(i)], lengths_[index(i)]);
    const Real lacking = margin < distance ? margin / distance : Real(1);
    const double behind = error(i) + (is_single() ? static_cast<double>(epsilon<float>) : 0);
    sum += static_cast<double>(std::max<Real>(0, raised(i) / own - 1) * lacking) * behind;
  }
  return sum;
}

/// The highest even degree, not above this one, at which what leaks into column j leaves room below the tolerance.
template <class Vector>
int ChebyshevSearch<Vector>::highest_without_leaks(int degree, std::int64_t j) const {
  const auto leaks = [&](int halves) { return !(leaked(2 * halves, j) <= options_.tolerance / 4); };
  if (locked_ == 0 || !leaks(degree / 2)) return degree;
  int low = 1, high = degree / 2;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (leaks(middle) ? high : low) = middle;
  }
  const bool is_divided = is_single() && 2 * low > Single::unit;
  return is_divided ? 2 * low / Single::unit * Single::unit : 2 * low;
}

/// Rounding errors as degree_for() knows them. In single precision they shrink with the residual, and come to a tenth
/// of the column: most of them lie in directions of lower columns, from which the Ritz vectors part them.
template <class Vector>
auto ChebyshevSearch<Vector>::rounding(std::int64_t j) const -> Real {
  if (!is_single()) return epsilon<Real>;
  const Real residual = Pencil<Vector>::eigenvalue_error(residuals_[index(j)], lengths_[index(j)]);
  const Real share = std::min<Real>(1, residual / choice_.interval().half_width());
  return std::max(epsilon<Real>, share * epsilon<float> / 10);
}

/// Of random columns. Where it is to be chosen: the last wanted eigenvector comes to stand out of all others.
template <class Vector>
int ChebyshevSearch<Vector>::first_degree() const {
  const auto& interval = choice_.interval();
  const Real least = is_single() ? epsilon<float> : epsilon<Real>;
  if (options_.first_degree > 0) {
    return interval.degree_for(interval.cut, std::numeric_limits<Real>::max(), options_.first_degree, least);
  }
  const Real others = std::sqrt(static_cast<Real>(x_.global_rows()) / static_cast<Real>(columns_));
  return interval.degree_for(last_wanted_, 50 * others, std::min(usual_degree, options_.most_degree), least);
}

/// About the condition of the filtered block with columns of unit length: how far the lowest eigenvector grows in a
/// column beyond what the column stands for. In a Ritz vector its share is the residual over the distance; without
/// pairs, in random columns, all of it.
template <class Vector>
auto ChebyshevSearch<Vector>::filtered_condition(bool has_pairs) const -> Real {
  const auto& interval = choice_.interval();
  const Real t_lowest = interval.place(interval.lowest);
  if (!has_pairs) return chebyshev(degrees_.front(), t_lowest);
  Real condition = 1;
  const std::vector<Real> margin = margins();
  for (std::size_t i = 0; i < degrees_.size(); ++i) {
    const auto j = index(locked_) + i;
    const Real distance = values_[j] - interval.lowest;
    const Real share = margin[j] < distance ? margin[j] / distance : Real(1);
    const Real growth = chebyshev(degrees_[i], t_lowest) /
                        std::max<Real>(1, chebyshev(degrees_[i], std::max<Real>(1, interval.place(values_[j]))));
    condition = std::max(condition, share * growth);
  }
  return condition;
}

}  // namespace blockvec::solvers

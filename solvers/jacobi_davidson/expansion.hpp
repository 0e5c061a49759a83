#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "solvers/jacobi_davidson/search.hpp"

/// How the basis of a Jacobi-Davidson search grows and is cut back.
namespace blockvec::solvers {

/// Corrections for the first pairs of X, and a basis that has them.
template <class Vector>
void JacobiDavidsonSearch<Vector>::expand() {
  const std::int64_t room = pencil_.dimensions() - beside();
  std::int64_t w = std::min({options_.block, small_.x(), room});
  if (w > 0) {
    solve_corrections(w);
    w = orthonormalize(w);
    if (!pencil_.trouble.empty()) return;
  }
  if (w == 0 && room > 0) {  // the corrections are all in the span of the basis: others take their place
    w = std::min(options_.block, room);
    fill_random(w_of(basis_, w), options_.seed + 1 + static_cast<std::uint64_t>(course_.iterations()));
    w = orthonormalize(w);
  }
  if (!pencil_.trouble.empty()) return;
  if (w > 0) {
    apply(w_of(basis_, w), w_of(b_images(), w), w_of(image_, w));
    if (!is_near_) inner_product(subspace_of(basis_, w), w_of(image_, w), small_.image_of_w(w));
  }
  const std::int64_t columns = small_.x() + small_.p() + w;
  const bool restarts = columns + options_.block > options_.basis;
  has_restarted_ = has_restarted_ || restarts;
  const std::int64_t keeps = restarts ? std::min(kept(), columns) : columns;
  std::vector<std::int64_t> previous(index(restarts ? std::min(options_.block, small_.x()) : 0));
  std::iota(previous.begin(), previous.end(), 0);
  const std::int64_t before = locked_.count(), after = beside() + w;
  if (is_near_) project_all(columns);
  const auto c =
      is_near_ ? small_.step_near(w, keeps, previous, is_refined(), options_.block) : small_.step(w, keeps, previous);
  for_all([&](const Vector& all) { multiply_in_place(all.columns(before, after), c); });
  for (const Real theta : small_.theta()) {
    if (!problem_.b) pencil_.norm_a = std::max(pencil_.norm_a, std::abs(original(theta)));
  }
}

/// W's columns beside all others. Returns how many are independent.
template <class Vector>
std::int64_t JacobiDavidsonSearch<Vector>::orthonormalize(std::int64_t w) {
  return pencil_.orthonormalize(basis_.columns(0, beside()), problem_.b ? b_image_.columns(0, beside()) : Vector(),
                                w_of(basis_, w), problem_.b ? w_of(b_image_, w) : Vector());
}

/// As far below the Ritz value, or as near to the target, as its eigenvalue may lie: a shift inside the spectrum would
/// draw the column to what is near it there. A column that looks for more below the last wanted value is drawn to the
/// lowest one, or to the target.
template <class Vector>
auto JacobiDavidsonSearch<Vector>::shift(std::int64_t j) const -> Real {
  const Real theta = small_.theta()[index(j)], margin = margins_[index(j)];
  if (is_near_) return looks_below(j) ? Real(0) : std::copysign(std::max<Real>(0, std::abs(theta) - margin), theta);
  if (!looks_below(j)) return theta - margin;
  return *std::min_element(locked_.values.begin(), locked_.values.end()) - static_cast<Real>(same());
}

/// W <- corrections for the first w columns of X, or what does as well.
template <class Vector>
void JacobiDavidsonSearch<Vector>::solve_corrections(std::int64_t w) {
  const std::int64_t known = locked_.count() + w;
  using Out = typename Correction<Vector>::Projected;
  // What is locked and the block's own vectors lie side by side.
  const Out out{{pencil_.deflation(), basis_.columns(0, known)},
                {pencil_.b_deflation(), b_images().columns(0, known)},
                x_of(b_images(), w)};
  std::vector<Real> theta, share;
  std::vector<double> shifts;
  for (std::int64_t j = 0; j < w; ++j) {
    const double error = errors_[index(j)];
    theta.push_back(original(shift(j)));
    shifts.push_back(static_cast<double>(sign_ * theta.back()));
    share.push_back(static_cast<Real>(error > 0 ? std::max(0.1, 0.25 * options_.tolerance / error) : 1));
  }
  const std::function<void(const Vector&, const Vector&)> precondition = [&](const Vector& r, const Vector& z) {
    problem_.precondition(shifts, r, z);
    preconditionings_ += r.width();
  };
  const Vector r = residual_.columns(0, w), t = w_of(basis_, w);
  if (!has_restarted_) {
    if (uses_preconditioner_) {
      precondition(r, t);
    } else {
      copy(r, t);
    }
    return;
  }
  if (uses_preconditioner_ && correction_.solve(theta, share, options_.inner_steps, out, r, t, &precondition)) return;
  uses_preconditioner_ = false;
  (void)correction_.solve(theta, share, options_.inner_steps, out, r, t, static_cast<decltype(&precondition)>(nullptr));
}

}  // namespace blockvec::solvers

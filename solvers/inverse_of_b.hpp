#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <cmath>
#include <cstdint>
#include <string>

#include "solvers/chebyshev_polynomial.hpp"
#include "solvers/pencil.hpp"
#include "solvers/spectrum_bounds.hpp"

namespace blockvec::solvers {

/// D ~ B^-1 from products with B and the problem's own approximation M of B^-1: Chebyshev's semi-iteration for M B,
/// with so many steps that ||I - D B|| is small enough in the norm of B. A fixed polynomial, so D is linear, Hermitian
/// and positive definite, and takes no reductions. Source: Saad 2003, Iterative Methods for Sparse Linear Systems,
/// algorithm 12.1.
template <class Vector>
class InverseOfB {
 public:
  using Scalar = typename Vector::Scalar;
  using Real = RealOf<Scalar>;

  /// A short Lanczos recurrence tells the ends of M B's spectrum. Throws Error where M shows not to be positive
  /// definite, InputError where M B has a condition that would take more than 400 steps. Cost: 30 products of B and M
  /// with a column. `aim`: what the error is to be, as far as rounding allows. `solver` is named in errors; `pencil`
  /// must outlive this.
  InverseOfB(const std::string& solver, const Pencil<Vector>& pencil, const Vector& model, std::uint64_t seed,
             Real aim = for_filters)
      : pencil_(pencil) {
    constexpr std::int64_t lanczos_steps = 30;
    const auto apply_b = [&](const Vector& x, const Vector& y) { pencil.apply_b(x, y); };
    const auto bounds = spectrum_bounds(apply_b, model, lanczos_steps, seed, pencil.inverse_b());
    if (!(bounds.lowest > 0)) {
      throw Error(solver + ": the approximation of B^-1 is not positive definite, or B is not");
    }
    // The bounds lie within the spectrum. Below the lower one the polynomial does its work too, only more slowly; above
    // the upper one it would grow.
    const Real margin = (bounds.highest - bounds.lowest) / 20;
    const Real low = std::max(bounds.lowest - margin, bounds.lowest * Real(0.8)), high = bounds.highest + margin;
    centre_ = low + (high - low) / 2;
    radius_ = (high - low) / 2;
    const Real least = std::max(aim, 16 * epsilon<Real>);
    while (error() > least) {
      if (++steps_ <= most_steps) continue;
      throw InputError(
          fmt::format("{}: B is too far from its approximate inverse, which has a condition of {:.1e} with it: give a "
                      "better Problem::inverse_b, or take lobpcg or jacobi_davidson, which need none",
                      solver, static_cast<double>(high / low)));
    }
  }

  /// Products with M that an application takes; one fewer with B.
  int steps() const { return steps_; }
  /// About ||I - D B|| in the norm of B.
  Real error() const { return radius_ > 0 ? 1 / chebyshev(steps_, centre_ / radius_) : Real(0); }
  bool is_exact() const { return steps_ == 1 && error() <= 1000 * epsilon<Real>; }

  /// Y = D X, which do not overlap. X is lost. Scratch for two blocks.
  void apply_in_place_of(const Vector& x, const Vector& y) const {
    const auto& m = pencil_.inverse_b();
    const auto apply_m = [&](const Vector& from, const Vector& to) { m ? m(from, to) : copy(from, to); };
    apply_m(x, y);
    scale(y, Scalar(1 / centre_));
    if (steps_ == 1) return;
    WorkspaceScope<typename Vector::Space> scope(x.context());
    const Vector step = scratch_like(scope, x, x.width()), image = scratch_like(scope, x, x.width());
    copy(y, step);
    Real rho = radius_ / centre_;
    for (int i = 1; i < steps_; ++i) {
      pencil_.apply_b(step, image);
      axpby(Scalar(-1), image, Scalar(1), x);
      const Real next = 1 / (2 * centre_ / radius_ - rho);
      if (m) m(x, image);
      axpby(Scalar(2 * next / radius_), m ? image : x, Scalar(next * rho), step);
      axpby(Scalar(1), step, Scalar(1), y);
      rho = next;
    }
  }
  void apply(const Vector& x, const Vector& y) const {
    WorkspaceScope<typename Vector::Space> scope(x.context());
    const Vector taken = scratch_like(scope, x, x.width());
    copy(x, taken);
    apply_in_place_of(taken, y);
  }

 private:
  /// What a filter on residuals can gain at most: smaller errors cost more products with B for each of A.
  static constexpr Real for_filters = Real(1e-2);
  static constexpr int most_steps = 400;

  const Pencil<Vector>& pencil_;
  Real centre_ = 1, radius_ = 0;
  int steps_ = 1;
};

}  // namespace blockvec::solvers

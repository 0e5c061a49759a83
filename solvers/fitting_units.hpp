#pragma once

#include <blockvec/blockvec.hpp>
#include <blockvec/solvers/problem.hpp>
#include <blockvec/solvers/result.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace blockvec::solvers {

/// A / unit, the unit being a power of two: all its numbers are A's, but for their exponents.
template <class Vector>
class OperatorInUnits {
 public:
  using Scalar = typename Vector::Scalar;

  OperatorInUnits(AnyOperator<Vector> a, RealOf<Scalar> unit) : a_(std::move(a)), unit_(unit) {}
  const Context& context() const { return a_.context(); }
  const RowDistribution& rows() const { return a_.rows(); }
  void apply(Scalar alpha, Scalar shift, const Vector& x, Scalar beta, const Vector& y) const {
    a_.apply(alpha * (1 / unit_), shift * unit_, x, beta, y);
  }

 private:
  AnyOperator<Vector> a_;
  RealOf<Scalar> unit_;
};

/// The power of two in whose units the squares of A's residuals neither overflow nor lose digits, down to rounding
/// errors of A; 1 for most matrices. Estimated from A x for a random x: one product with a column, one reduction; one
/// or two of each more where squares of A x leave the range.
template <class Vector>
RealOf<typename Vector::Scalar> fitting_unit(const AnyOperator<Vector>& a, std::uint64_t seed,
                                             std::int64_t& applications) {
  using Scalar = typename Vector::Scalar;
  using Real = RealOf<Scalar>;
  using Space = typename Vector::Space;
  using Limits = std::numeric_limits<Real>;
  const Real least = std::sqrt(Limits::min() / epsilon<Real>) / epsilon<Real>;
  const Real most = std::sqrt(Limits::max() * epsilon<Real>);
  constexpr int far = Limits::max_exponent / 4 * 3, farthest = Limits::max_exponent - 24, step = 32;

  WorkspaceScope<Space> scope(a.context());
  const Vector x(a.context(), a.rows(), 1, "random vector");
  const Vector y = scratch_like(scope, x, 1);
  const auto norms = SmallMatrix<Real, Space>::scratch(scope, 1, 1);
  fill_normal(x, seed);
  const auto length = static_cast<Real>(std::sqrt(static_cast<double>(a.rows().global_rows())));  // about ||x||
  for (const int exponent : {0, far, -far}) {
    a.apply(Scalar(std::ldexp(Real(1), exponent)), Scalar(0), x, Scalar(0), y);
    ++applications;
    column_norms(y, norms);
    const Real size = norms.to_host()(0, 0) / length;
    if (exponent == 0 && size >= least && size <= most) return 1;
    if (!(size > 0 && size <= Limits::max())) continue;
    const auto place = static_cast<double>(std::ilogb(size) - exponent);
    const int unit = step * static_cast<int>(std::lround(place / step));  // coarse: the same on any number of ranks
    return std::ldexp(Real(1), std::min(std::max(unit, -farthest), farthest));
  }
  return 1;  // A is zero, or not finite
}

/// What `solve` makes of the problem in units in which its numbers keep their precision, in the problem's own units:
/// solve(problem, observer, unit). B is left as it is.
template <class Vector, class Solve>
Result<Vector> solve_in_fitting_units(const Problem<Vector>& problem, const Observer& observer, std::uint64_t seed,
                                      const Solve& solve) {
  using Scalar = typename Vector::Scalar;
  std::int64_t applications = 0;
  const std::int64_t first_reduction = problem.a.context().reductions();
  const auto unit = fitting_unit(problem.a, seed, applications);
  const std::int64_t reductions = problem.a.context().reductions() - first_reduction;

  const auto times_unit = [&](std::vector<double>& values) {
    for (double& value : values) value *= static_cast<double>(unit);
  };
  const auto complete = [&](auto& found) {
    times_unit(found.eigenvalues);
    times_unit(found.residual_norms);
    found.applications += applications;
    found.reductions += reductions;
  };
  const auto complete_step = [&](Step& step) {
    complete(step);
    times_unit(step.residuals);
  };

  Problem<Vector> in_units = problem;
  if (unit != 1) {
    in_units.a = OperatorInUnits<Vector>(problem.a, unit);
    if (problem.precondition) {
      in_units.precondition = [&](std::span<const double> theta, const Vector& r, const Vector& w) {
        std::vector<double> own(theta.begin(), theta.end());
        times_unit(own);
        problem.precondition(own, r, w);
        scale(w, Scalar(unit));
      };
    }
  }
  Observer seen;
  if (observer) {
    seen = [&](const Step& step) {
      Step own = step;
      complete_step(own);
      return observer(own);
    };
  }
  Result<Vector> result = solve(in_units, seen, static_cast<double>(unit));
  complete(result);
  times_unit(result.residual_estimates);
  result.norm_estimate *= static_cast<double>(unit);
  for (Step& step : result.history) complete_step(step);
  return result;
}

}  // namespace blockvec::solvers

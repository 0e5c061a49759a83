#pragma once

#include <blockvec/blockvec.hpp>
#include <blockvec/column_operations.hpp>
#include <span>
#include <utility>
#include <vector>

#include "solvers/chebyshev/damped_interval.hpp"
#include "solvers/inverse_of_b.hpp"
#include "solvers/pencil.hpp"

namespace blockvec::solvers {

/// As chebyshev_filter(), for the pencil sign * A, B and pairs (V, values) with the residuals R = sign A V - B V
/// diag(values), of which `odd` holds R; it is lost. With H = B^-1 sign A and Y_k = T_k(t(H)) V - V
/// diag(T_k(t(values))) the recurrence
///     Y_(k+1) = 2 t(H) Y_k - Y_(k-1) - 2 / half_width B^-1 R diag(T_k(t(values)))
/// runs on Y. All of it shrinks with the residuals, so a D ~ B^-1 takes the place of B^-1: an error of D changes how
/// fast the pairs converge, and not what to. H is taken as sigma + D (sign A - sigma B) where D is not exact; with
/// sigma = the last wanted value, what D leaves undamped is small beside the distance of what is damped. Cost: A on
/// sum(degrees) columns by apply_a(X, Y), as often D, and B once more where D is not exact. Scratch for four blocks.
/// Source: residuals, Kodali, Ramakrishnan, Motamarri 2025 (arXiv 2503.22652).
template <class Vector, class ApplyA>
void pencil_filter(const Pencil<Vector>& pencil, const ApplyA& apply_a, const InverseOfB<Vector>& inverse,
                   RealOf<typename Vector::Scalar> last_wanted,
                   const DampedInterval<RealOf<typename Vector::Scalar>>& interval, std::span<const int> degrees,
                   std::span<const RealOf<typename Vector::Scalar>> values, const Vector& v, const Vector& odd) {
  using Scalar = typename Vector::Scalar;
  using Real = RealOf<Scalar>;
  using Space = typename Vector::Space;
  WorkspaceScope<Space> scope(v.context());
  const auto all = std::ssize(degrees);
  const Vector r = scratch_like(scope, v, all), even = scratch_like(scope, v, all);
  const Vector image = scratch_like(scope, v, all), inverse_image = scratch_like(scope, v, all);
  const auto factors = SmallMatrix<Scalar, Space>::scratch(scope, 1, all);
  // Scaled as chebyshev_filter() does, by T_k(t(lowest)).
  const Real half = interval.half_width(), t = interval.place(interval.lowest);
  const Real sigma = inverse.is_exact() ? Real(0) : last_wanted;
  std::vector<Real> before(values.size(), Real(1)), now;  // T_k(t(values)), scaled
  for (const Real value : values) now.push_back(interval.place(value) / t);
  const auto as_factors = [&](const std::vector<Real>& numbers) {
    HostMatrix<Scalar> host("BlockVec::solvers::factors", 1, numbers.size());
    for (std::size_t j = 0; j < numbers.size(); ++j) host(0, j) = Scalar(numbers[j]);
    factors.from_host(host);
  };

  copy(odd, r);
  copy(r, image);
  inverse.apply_in_place_of(image, odd);
  scale(odd, Scalar(-1 / (half * t)));
  fill(even, Scalar(0));
  Vector previous = even, current = odd;
  Real ratio = 1 / t;
  std::int64_t width = all;
  std::vector<Real> reached(values.size());
  for (int k = 2; k <= degrees.front(); ++k) {
    while (degrees[static_cast<std::size_t>(width - 1)] < k) --width;
    const auto part = [&](const Vector& block) { return block.columns(0, width); };
    const Vector y = part(current), next_y = part(previous), ay = part(image), dy = part(inverse_image);
    const Real next = 1 / (2 * t - ratio), factor = 2 * next / half;
    apply_a(y, ay);
    if (sigma != 0) {
      pencil.apply_b(y, dy);
      axpby(Scalar(-sigma), dy, Scalar(1), ay);
    }
    as_factors(now);
    axpby_columns(factors.block(0, 1, 0, width), part(r), Scalar(1), ay);
    inverse.apply_in_place_of(ay, dy);
    axpby(Scalar(-factor), dy, Scalar(-next * ratio), next_y);
    axpby(Scalar(factor * (interval.centre() - sigma)), y, Scalar(1), next_y);
    for (std::size_t j = 0; j < now.size(); ++j) {
      const Real following = next * (2 * interval.place(values[j]) * now[j] - ratio * before[j]);
      before[j] = std::exchange(now[j], following);
      if (degrees[j] == k) reached[j] = following;
    }
    ratio = next;
    std::swap(previous, current);
  }
  as_factors(reached);
  axpby_columns(factors, v, Scalar(0), v);
  axpby(Scalar(1), even, Scalar(1), v);
}

}  // namespace blockvec::solvers

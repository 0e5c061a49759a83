#pragma once

#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "solvers/counted_operator.hpp"
#include "solvers/tridiagonal.hpp"

namespace blockvec::solvers {

/// Lowest and highest Ritz value of a Hermitian operator: from within its spectrum, the ends of which they near. NaN
/// where M showed not to be positive definite.
template <class Real>
struct RitzBounds {
  Real lowest = 0, highest = 0;
  Real norm() const { return std::max(std::abs(lowest), std::abs(highest)); }
};

/// By `steps` of the Lanczos recurrence from a random vector that is made by `seed`, without reorthogonalisation, which
/// the ends do not need. apply(x, y) computes Y = A X. With a Hermitian positive definite M, given as y = M x, the
/// values are those of M A: the recurrence runs on A M in the inner product x^H M y. Cost a step: one application of
/// each to a column, two reductions, 11 words a row. Scratch memory for three columns like `model`'s, with M for four.
template <class Vector, class Apply>
RitzBounds<RealOf<typename Vector::Scalar>> spectrum_bounds(const Apply& apply, const Vector& model, std::int64_t steps,
                                                            std::uint64_t seed,
                                                            const typename FunctionOperator<Vector>::Multiply& m = {}) {
  using Scalar = typename Vector::Scalar;
  using Real = RealOf<Scalar>;
  using Space = typename Vector::Space;
  steps = std::min(steps, model.global_rows());
  WorkspaceScope<Space> scope(model.context());
  Vector before = scratch_like(scope, model, 1), q = scratch_like(scope, model, 1), w = scratch_like(scope, model, 1);
  const Vector image = m ? scratch_like(scope, model, 1) : Vector();  // M q, or M w
  const auto dot = SmallMatrix<Scalar, Space>::scratch(scope, 1, 1);
  const auto norm = SmallMatrix<Real, Space>::scratch(scope, 1, 1);
  const auto norm_of = [&](const Vector& v) {
    if (m) {
      m(v, image);
      column_dots(v, image, dot);
      return std::sqrt(real_part(dot.to_host()(0, 0)));
    }
    column_norms(v, norm);
    return norm.to_host()(0, 0);
  };
  const auto normalize = [&](const Vector& v, Real length) {
    scale(v, Scalar(1 / length));
    if (m) scale(image, Scalar(1 / length));
  };
  constexpr Real unknown = std::numeric_limits<Real>::quiet_NaN();
  fill(before, Scalar(0));
  fill_normal(q, seed);
  const Real first = norm_of(q);
  if (m && !(first > 0)) return {unknown, unknown};
  normalize(q, first);
  std::vector<Real> diagonal, beside{0};
  Real largest = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    apply(m ? image : q, w);
    column_dots(m ? image : q, w, dot);
    diagonal.push_back(real_part(dot.to_host()(0, 0)));
    axpby(Scalar(-diagonal.back()), q, Scalar(1), w);
    axpby(Scalar(-beside.back()), before, Scalar(1), w);
    const Real rest = norm_of(w);
    if (m && std::isnan(rest)) return {unknown, unknown};
    largest = std::max({largest, std::abs(diagonal.back()), rest});
    if (!(rest > 64 * epsilon<Real> * largest)) break;  // an invariant space
    beside.push_back(rest);
    normalize(w, rest);
    std::swap(before, q);
    std::swap(q, w);
  }
  const auto values =
      tridiagonal_eigenpairs<Real>(model.context(), diagonal, std::span<const Real>(beside).subspan(1)).values;
  return {values.data()[0], values.data()[values.columns() - 1]};
}

}  // namespace blockvec::solvers

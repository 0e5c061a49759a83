#pragma once

#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/column_operations.hpp>
#include <blockvec/orth/dense.hpp>
#include <cmath>
#include <vector>

#include "solvers/counted_operator.hpp"

namespace blockvec::solvers {

/// A pair that was found, in terms of sign * A, whose lower end is the wanted one.
template <class Real>
struct RitzPair {
  Real value = 0;
  Real residual = 0;  // recomputed
  Real estimate = 0;
  Real residual_of_a = 0;  // what people are told: with a B it is ||A x - theta B x||, and `residual` is of B^-1 A

  template <class Archive>
  void state(Archive& archive) {
    archive(value, residual, estimate, residual_of_a);
  }
};

template <class Real>
bool has_lower_value(const RitzPair<Real>& a, const RitzPair<Real>& b) {
  return a.value < b.value;
}

/// Rayleigh quotients and residual norms of sign * A for orthonormal columns. One application, two reductions.
template <class Vector, class Apply>
auto measured_pairs(const Apply& apply, const Vector& x) {
  using Scalar = typename Vector::Scalar;
  using Real = RealOf<Scalar>;
  using Space = typename Vector::Space;
  WorkspaceScope<Space> scope(x.context());
  const std::int64_t width = x.width();
  const Vector ax = scratch_like(scope, x, width);
  const auto quotients = SmallMatrix<Scalar, Space>::scratch(scope, 1, width);
  const auto theta = SmallMatrix<Real, Space>::scratch(scope, 1, width);
  const auto row = SmallMatrix<Real, Space>::scratch(scope, 1, width);
  apply(x, ax);
  column_dots(x, ax, quotients);
  const auto dots = quotients.to_host();
  std::vector<RitzPair<Real>> pairs(static_cast<std::size_t>(width));
  HostMatrix<Real> values("BlockVec::solvers::values", 1, pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) values(0, i) = pairs[i].value = real_part(dots(0, i));
  theta.from_host(values);
  residual(x, theta, ax, row);
  const auto norms = row.to_host();
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i].residual = pairs[i].residual_of_a = norms(0, i);
  return pairs;
}

/// The lowest Ritz vectors of sign * A in the span of an orthonormal basis. One application, one reduction.
template <class Vector, class Apply>
void lowest_ritz_vectors(const Apply& apply, const Vector& basis, const Vector& vectors) {
  using Scalar = typename Vector::Scalar;
  using Space = typename Vector::Space;
  WorkspaceScope<Space> scope(basis.context());
  const std::int64_t columns = basis.width();
  const Vector image = scratch_like(scope, basis, columns);
  const auto g = SmallMatrix<Scalar, Space>::scratch(scope, columns, columns);
  const auto values = SmallMatrix<RealOf<Scalar>, Space>::scratch(scope, 1, columns);
  apply(basis, image);
  inner_product(basis, image, g);
  orth::dense::eigendecomposition(g, values, g);
  update(Scalar(1), basis, g.block(0, columns, 0, vectors.width()), Scalar(0), vectors);
}

}  // namespace blockvec::solvers

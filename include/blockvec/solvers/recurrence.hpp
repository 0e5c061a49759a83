#pragma once

#include <blockvec/column_operations.hpp>
#include <blockvec/operations.hpp>
#include <blockvec/small_matrix.hpp>
#include <span>
#include <utility>
#include <vector>

/// @file
/// Three-term recurrences in an operator: how filters apply polynomials in A.
namespace blockvec::solvers {

/// V_k = alpha (A - shift) V_(k-1) + beta V_(k-2), and S += weight V_k where there is a sum S.
template <class Scalar>
struct RecurrenceStep {
  Scalar alpha;               ///< of (A - shift) V_(k-1)
  Scalar beta;                ///< of V_(k-2)
  Scalar weight = Scalar(0);  ///< of V_k in the sum
};

/// The steps one after another, from V_0 in `newest` and V_(-1) in `before`: each V_k takes the place of V_(k-2). So
/// V_1 stands in `before`, V_2 in `newest`, and so on; the first beta may be 0, which does not read `before`. Blocks
/// have the same shape and do not overlap. Cost: a product a step, and for a sum half a pass over three blocks and one
/// over two. Collective as products are. Operators that do better have a function recur() of their own (Operator).
template <class Operator, class Vector>
void recur_by_products(Operator& a, typename Vector::Scalar shift,
                       std::span<const RecurrenceStep<typename Vector::Scalar>> steps, const Vector& newest,
                       const Vector& before, const Vector* sum) {
  using Scalar = typename Vector::Scalar;
  using Space = typename Vector::Space;
  WorkspaceScope<Space> scope(newest.context());
  SmallMatrix<Scalar, Space> weights;
  if (sum != nullptr) {
    weights = SmallMatrix<Scalar, Space>::scratch(scope, static_cast<std::int64_t>(steps.size()), newest.width());
    HostMatrix<Scalar> host("BlockVec::solvers::weights", steps.size(), static_cast<std::size_t>(newest.width()));
    for (std::size_t k = 0; k < host.extent(0); ++k) {
      for (std::size_t j = 0; j < host.extent(1); ++j) host(k, j) = steps[k].weight;
    }
    weights.from_host(host);
  }
  Vector last = newest, place = before;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    a.apply(steps[k].alpha, shift, last, steps[k].beta, place);
    std::swap(last, place);
    if (sum == nullptr) continue;
    // Two terms in one pass.
    const auto row = static_cast<std::int64_t>(k);
    const Vector terms[] = {place, last};
    if (k % 2 != 0) {
      axpby_columns(weights.block(row - 1, row + 1, 0, newest.width()), std::span<const Vector>(terms), Scalar(1),
                    *sum);
    } else if (k + 1 == steps.size()) {
      axpby_columns(weights.block(row, row + 1, 0, newest.width()), last, Scalar(1), *sum);
    }
  }
}

}  // namespace blockvec::solvers

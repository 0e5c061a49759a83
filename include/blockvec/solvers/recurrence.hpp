#pragma once

#include <blockvec/column_operations.hpp>
#include <blockvec/kernels/error.hpp>
#include <blockvec/operations.hpp>
#include <blockvec/small_matrix.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// Three-term recurrences in an operator: how filters apply polynomials in A.
namespace blockvec::solvers {

/// V_k = alpha (A - shift) V_(k-1) + beta V_(k-2).
template <class Scalar>
struct RecurrenceStep {
  Scalar alpha;  ///< of (A - shift) V_(k-1)
  Scalar beta;   ///< of V_(k-2)
};

/// p(A) X by a recurrence from V_0 = X: V_n of its last step, or a sum of all V_k.
template <class Scalar>
struct Polynomial {
  Scalar shift = Scalar(0);                   ///< of all steps
  std::vector<RecurrenceStep<Scalar>> steps;  ///< n of them, the degree; the first beta is 0
  std::vector<Scalar> weights;                ///< of V_0 to V_n in p(A) X; none: p(A) X is V_n

  /// Throws ShapeError unless there are n + 1 weights, or none.
  void require_shape() const {
    if (weights.empty() || weights.size() == steps.size() + 1) return;
    throw ShapeError("Polynomial: " + std::to_string(weights.size()) + " weights of " + std::to_string(steps.size()) +
                     " steps, expected one more than steps, or none");
  }
};

/// The steps one after another, from V_0 in `newest` and V_(-1) in `before`: each V_k takes the place of V_(k-2). So
/// V_1 stands in `before`, V_2 in `newest`, and so on; the first beta may be 0, which does not read `before`. Blocks
/// have the same shape and do not overlap. Cost: a product a step. Collective as products are. Operators that do better
/// have a function recur() of their own (Operator).
template <class Operator, class Vector>
void recur_by_products(Operator& a, typename Vector::Scalar shift,
                       std::span<const RecurrenceStep<typename Vector::Scalar>> steps, const Vector& newest,
                       const Vector& before) {
  Vector last = newest, place = before;
  for (const auto& step : steps) {
    a.apply(step.alpha, shift, last, step.beta, place);
    std::swap(last, place);
  }
}

/// Y = p(A) X by recur(newest, before, sum) on scratch blocks, sum being Y's address where there are weights, else
/// null. Y holds the first term then. Scratch for a block, with weights for two. Cost beside recur's: a copy of X.
template <class Vector, class Recur>
void apply_polynomial_on_scratch(const Polynomial<typename Vector::Scalar>& p, const Vector& x, const Vector& y,
                                 const Recur& recur) {
  using Scalar = typename Vector::Scalar;
  WorkspaceScope<typename Vector::Space> scope(x.context());
  const Vector scratch = scratch_like(scope, x, x.width());
  const Vector* const none = nullptr;
  if (!p.weights.empty()) {
    const Vector newest = scratch_like(scope, x, x.width());
    copy(x, newest);
    axpby(p.weights.front(), x, Scalar(0), y);
    recur(newest, scratch, &y);
  } else if (p.steps.size() % 2 == 0) {  // the last V_k comes to stand in Y
    copy(x, y);
    recur(y, scratch, none);
  } else {
    copy(x, scratch);
    recur(scratch, y, none);
  }
}

/// Y = p(A) X. X and Y have the same shape and do not overlap. Cost: a product a step and a copy of X; for a sum half a
/// pass over three blocks a step and one over two. Collective as products are. Operators that do better have a function
/// apply_polynomial() of their own (Operator).
template <class Operator, class Vector>
void apply_polynomial_by_products(Operator& a, const Polynomial<typename Vector::Scalar>& p, const Vector& x,
                                  const Vector& y) {
  using Scalar = typename Vector::Scalar;
  using Space = typename Vector::Space;
  apply_polynomial_on_scratch(p, x, y, [&](const Vector& newest, const Vector& before, const Vector* sum) {
    if (sum == nullptr) return recur_by_products(a, p.shift, std::span(p.steps), newest, before);
    const std::size_t count = p.steps.size();
    WorkspaceScope<Space> scope(x.context());
    const auto weights = SmallMatrix<Scalar, Space>::scratch(scope, static_cast<std::int64_t>(count), x.width());
    HostMatrix<Scalar> host("BlockVec::solvers::weights", count, static_cast<std::size_t>(x.width()));
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t j = 0; j < host.extent(1); ++j) host(k, j) = p.weights[k + 1];
    }
    weights.from_host(host);
    Vector last = newest, place = before;
    for (std::size_t k = 0; k < count; ++k) {
      a.apply(p.steps[k].alpha, p.shift, last, p.steps[k].beta, place);
      std::swap(last, place);
      // Two terms in one pass.
      const auto row = static_cast<std::int64_t>(k);
      const Vector terms[] = {place, last};
      if (k % 2 != 0) {
        axpby_columns(weights.block(row - 1, row + 1, 0, x.width()), std::span<const Vector>(terms), Scalar(1), *sum);
      } else if (k + 1 == count) {
        axpby_columns(weights.block(row, row + 1, 0, x.width()), last, Scalar(1), *sum);
      }
    }
  });
}

}  // namespace blockvec::solvers

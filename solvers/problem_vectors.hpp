#pragma once

#include <blockvec/orth/orthogonalizer.hpp>
#include <blockvec/solvers/problem.hpp>
#include <string>
#include <type_traits>

/// What a problem brings along, as solvers take it.
namespace blockvec::solvers {

/// Vectors and other operators have the rows and the context of A. Throws ShapeError naming the solver.
template <class Vector>
void require_operands(const std::string& solver, const Problem<Vector>& problem) {
  const auto& a = problem.a;
  const auto require = [&](const char* name, const Vector& v) {
    if (v.width() == 0 || (v.context().same(a.context()) && v.rows() == a.rows())) return;
    throw ShapeError(solver + ": " + name + " vectors " + v.describe() +
                     ": expected the context of the operator, and its rows: " + a.rows().describe());
  };
  require("deflated", problem.deflation);
  require("initial", problem.initial);
  const auto require_beside = [&](const char* name, const auto& other) {
    if (!other || (other->context().same(a.context()) && other->rows() == a.rows())) return;
    throw ShapeError(solver + ": " + name + " has the rows " + other->rows().describe() +
                     ": expected the context of A, and its rows: " + a.rows().describe());
  };
  require_beside("B", problem.b);
  require_beside("A in single precision", problem.a_single);
}

/// Orthonormal columns with the span of V, which stays as it is; B-orthonormal with a metric.
template <class Vector>
Vector orthonormal_copy(
    const Vector& v, const orth::Options& options,
    const orth::Metric<typename Vector::Scalar, typename Vector::Layout, typename Vector::Space>* metric = nullptr) {
  if (v.width() == 0) return {};
  orth::Options dropping = options;
  dropping.deficiency = orth::Deficiency::drop;
  const Vector q = v.deep_copy("deflated vectors");
  const auto result = orth::Orthogonalizer(v.context(), dropping).normalize(q, nullptr, metric);
  return q.columns(0, result.rank);
}

}  // namespace blockvec::solvers

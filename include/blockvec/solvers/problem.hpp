#pragma once

#include <blockvec/precision.hpp>
#include <blockvec/solvers/operator.hpp>
#include <functional>
#include <optional>
#include <span>

namespace blockvec::solvers {

/// W ~ (A - theta_j B)^-1 r_j for every column of R, from approximate eigenvalues theta, one a column. W comes as zeros
/// or anything else; R and W do not overlap. Collective. Best Hermitian and positive definite.
template <class Vector>
using Preconditioner = std::function<void(std::span<const double> theta, const Vector& r, const Vector& w)>;

/// What is to be solved: A x = theta x for a Hermitian A, or A x = theta B x. {a} is enough.
template <class Vector>
struct Problem {
  /// Hermitian: A.
  AnyOperator<Vector> a;
  /// Hermitian and positive definite; none: the identity. Eigenvectors are then B-orthonormal.
  std::optional<AnyOperator<Vector>> b = {};
  Preconditioner<Vector> precondition = {};  ///< none: residuals as they are
  /// Y ~ B^-1 X for Lanczos and Chebyshev solvers, which need it: Hermitian, positive definite, the same for every
  /// call. Where it is not exact, products with B improve it, the fewer the better it is. none: X itself.
  typename FunctionOperator<Vector>::Multiply inverse_b = {};
  /// A rounded to single precision, which halves what filters move (chebyshev_subspace); an operator for it is filled
  /// from RoundedRows. none: filters apply A itself.
  std::optional<AnyOperator<InSingle<Vector>>> a_single = {};
  /// Columns that span an invariant subspace, such as eigenvectors known already: the search stays orthogonal to them.
  /// They need not be orthonormal; dependent columns are dropped.
  Vector deflation = {};
  /// Any number of columns near the wanted eigenvectors. The search begins in their span, with random vectors beside
  /// them (LOBPCG, Chebyshev), or of a thousandth of their length added (Lanczos), so that an eigenvector orthogonal to
  /// all of them is found nevertheless.
  Vector initial = {};
};

}  // namespace blockvec::solvers

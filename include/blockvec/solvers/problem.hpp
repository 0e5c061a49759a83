#pragma once

#include <blockvec/solvers/operator.hpp>

namespace blockvec::solvers {

/// What is to be solved: A x = theta x for a Hermitian A. {a} is enough.
template <class Vector>
struct Problem {
  AnyOperator<Vector> a;
  /// Columns that span an invariant subspace, such as eigenvectors known already: the search stays orthogonal to them.
  /// They need not be orthonormal; dependent columns are dropped.
  Vector deflation = {};
  /// Any number of columns near the wanted eigenvectors. The search begins in their span, with random vectors of a
  /// thousandth of their length added, so that an eigenvector orthogonal to all of them is found nevertheless.
  Vector initial = {};
};

}  // namespace blockvec::solvers

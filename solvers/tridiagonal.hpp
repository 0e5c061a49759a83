#pragma once

#include <blockvec/orth/dense.hpp>
#include <blockvec/small_matrix.hpp>
#include <cstdint>
#include <span>

namespace blockvec::solvers {

/// Eigenvalues of a real symmetric matrix, ascending, and its orthonormal eigenvectors, a column each.
template <class Real>
struct Eigenpairs {
  SmallMatrix<Real> values, vectors;
};

/// Of the tridiagonal matrix with this diagonal, n >= 1 entries, and these n - 1 beside it, as a Lanczos recurrence
/// makes them.
template <class Real>
Eigenpairs<Real> tridiagonal_eigenpairs(const Context& context, std::span<const Real> diagonal,
                                        std::span<const Real> beside) {
  const auto n = std::ssize(diagonal);
  const SmallMatrix<Real> values(context, 1, n, "BlockVec::solvers::values");
  const SmallMatrix<Real> t(context, n, n, "BlockVec::solvers::tridiagonal");
  for (std::int64_t i = 0; i < n; ++i) {
    t.data()[i + i * t.ld()] = diagonal[static_cast<std::size_t>(i)];
    if (i > 0) t.data()[i - 1 + i * t.ld()] = beside[static_cast<std::size_t>(i - 1)];
  }
  orth::dense::eigendecomposition(t, values, t);
  return {values, t};
}

}  // namespace blockvec::solvers

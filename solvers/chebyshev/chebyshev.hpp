#pragma once

#include <blockvec/instantiate.hpp>
#include <blockvec/solvers/chebyshev.hpp>

#include "solvers/chebyshev/degrees.hpp"
#include "solvers/chebyshev/result.hpp"
#include "solvers/chebyshev/ritz_pairs.hpp"
#include "solvers/fitting_units.hpp"
#include "solvers/problem_vectors.hpp"

namespace blockvec::solvers {

template <class Vector>
Result<Vector> chebyshev_subspace(const Problem<Vector>& problem, const ChebyshevOptions& options,
                                  const Observer& observer) {
  require_operands("chebyshev", problem);
  const ChebyshevOptions filled = checked(options, is_host_space<typename Vector::Space> ? 16 : 64,
                                          problem.a.rows().global_rows(), problem.deflation.width());
  const auto solve = [&](const Problem<Vector>& own, const Observer& seen, double) {
    return ChebyshevSearch<Vector>(own, filled, seen).solve();
  };
  return solve_in_fitting_units(problem, observer, filled.seed, solve);
}

}  // namespace blockvec::solvers

/// One file for each scalar, since each takes its time to compile.
#define BLOCKVEC_CHEBYSHEV(Scalar, Layout, Space)                         \
  template Result<BlockVector<Scalar, Layout, Space>> chebyshev_subspace( \
      const Problem<BlockVector<Scalar, Layout, Space>>&, const ChebyshevOptions&, const Observer&);

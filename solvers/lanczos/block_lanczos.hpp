#pragma once

#include <blockvec/instantiate.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <blockvec/solvers/lanczos.hpp>

#include "solvers/fitting_units.hpp"
#include "solvers/lanczos/search.hpp"
#include "solvers/lanczos/search_result.hpp"
#include "solvers/problem_vectors.hpp"

namespace blockvec::solvers {

template <class Vector>
Result<Vector> block_lanczos(const Problem<Vector>& problem, const LanczosOptions& options, const Observer& observer) {
  require_operands("block_lanczos", problem);
  if (problem.b) {
    throw InputError(
        "block_lanczos: it solves A x = theta x alone, and a B was given, which lobpcg, jacobi_davidson, "
        "chebyshev_subspace and interior_lanczos take");
  }
  const Vector deflation = orthonormal_copy(problem.deflation, options.orth);
  const LanczosOptions filled = checked(options, default_block(is_host_space<typename Vector::Space>),
                                        problem.a.rows().global_rows(), deflation.width());
  const auto solve = [&](const Problem<Vector>& own, const Observer& seen, double) {
    return LanczosSearch<Vector>(own, deflation, filled, seen).solve();
  };
  return solve_in_fitting_units(problem, observer, filled.seed, solve);
}

}  // namespace blockvec::solvers

/// One file for each scalar, since each takes its time to compile.
#define BLOCKVEC_BLOCK_LANCZOS(Scalar, Layout, Space)                \
  template Result<BlockVector<Scalar, Layout, Space>> block_lanczos( \
      const Problem<BlockVector<Scalar, Layout, Space>>&, const LanczosOptions&, const Observer&);

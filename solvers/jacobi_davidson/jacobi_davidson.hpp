#pragma once

#include <blockvec/instantiate.hpp>
#include <blockvec/solvers/jacobi_davidson.hpp>

#include "solvers/fitting_units.hpp"
#include "solvers/jacobi_davidson/expansion.hpp"
#include "solvers/jacobi_davidson/residuals.hpp"
#include "solvers/jacobi_davidson/result.hpp"
#include "solvers/jacobi_davidson/search.hpp"
#include "solvers/problem_vectors.hpp"

namespace blockvec::solvers {

template <class Vector>
Result<Vector> jacobi_davidson(const Problem<Vector>& problem, const JacobiDavidsonOptions& options,
                               const Observer& observer) {
  require_operands("jacobi_davidson", problem);
  const JacobiDavidsonOptions filled =
      checked(options, problem.a.rows().global_rows(), problem.deflation.width(), problem.b.has_value());
  const auto solve = [&](const Problem<Vector>& own, const Observer& seen, double unit) {
    JacobiDavidsonOptions in_units = filled;
    if (filled.target) in_units.target = *filled.target / unit;
    return JacobiDavidsonSearch<Vector>(own, in_units, seen).solve();
  };
  return solve_in_fitting_units(problem, observer, filled.seed, solve);
}

}  // namespace blockvec::solvers

/// One file for each scalar, since each takes its time to compile.
#define BLOCKVEC_JACOBI_DAVIDSON(Scalar, Layout, Space)                \
  template Result<BlockVector<Scalar, Layout, Space>> jacobi_davidson( \
      const Problem<BlockVector<Scalar, Layout, Space>>&, const JacobiDavidsonOptions&, const Observer&);

#pragma once

#include <blockvec/instantiate.hpp>
#include <blockvec/solvers/jacobi_davidson.hpp>

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
  const JacobiDavidsonOptions filled = checked(options, problem.a.rows().global_rows(), problem.deflation.width());
  return JacobiDavidsonSearch<Vector>(problem, filled, observer).solve();
}

}  // namespace blockvec::solvers

/// One file for each scalar, since each takes its time to compile.
#define BLOCKVEC_JACOBI_DAVIDSON(Scalar, Layout, Space)                \
  template Result<BlockVector<Scalar, Layout, Space>> jacobi_davidson( \
      const Problem<BlockVector<Scalar, Layout, Space>>&, const JacobiDavidsonOptions&, const Observer&);

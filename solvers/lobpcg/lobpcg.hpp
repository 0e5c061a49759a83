#pragma once

#include <blockvec/instantiate.hpp>
#include <blockvec/solvers/lobpcg.hpp>

#include "solvers/fitting_units.hpp"
#include "solvers/lobpcg/residuals.hpp"
#include "solvers/lobpcg/result.hpp"
#include "solvers/lobpcg/search.hpp"

namespace blockvec::solvers {

template <class Vector>
Result<Vector> lobpcg(const Problem<Vector>& problem, const LobpcgOptions& options, const Observer& observer) {
  require_operands("lobpcg", problem);
  const LobpcgOptions filled = checked(options, problem.a.rows().global_rows(), problem.deflation.width());
  const auto solve = [&](const Problem<Vector>& own, const Observer& seen, double) {
    return LobpcgSearch<Vector>(own, filled, seen).solve();
  };
  return solve_in_fitting_units(problem, observer, filled.seed, solve);
}

}  // namespace blockvec::solvers

/// One file for each scalar, since each takes its time to compile.
#define BLOCKVEC_LOBPCG(Scalar, Layout, Space)                                                                   \
  template Result<BlockVector<Scalar, Layout, Space>> lobpcg(const Problem<BlockVector<Scalar, Layout, Space>>&, \
                                                             const LobpcgOptions&, const Observer&);

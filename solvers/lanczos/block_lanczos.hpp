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
  const auto filled_for = [&](std::int64_t deflated) {
    return checked(options, problem.a.rows().global_rows(), deflated);
  };
  (void)filled_for(0);
  const auto solve = [&](const Problem<Vector>& own, const Observer& seen, double) {
    using Search = LanczosSearch<Vector>;
    KrylovPencil<Vector> pencil("block_lanczos", own, Search::sign_of(options), options.orth, options.seed);
    return Search(own, pencil, filled_for(pencil.deflation().width()), seen).solve();
  };
  return solve_in_fitting_units(problem, observer, options.seed, solve);
}

}  // namespace blockvec::solvers

/// One file for each scalar, since each takes its time to compile.
#define BLOCKVEC_BLOCK_LANCZOS(Scalar, Layout, Space)                \
  template Result<BlockVector<Scalar, Layout, Space>> block_lanczos( \
      const Problem<BlockVector<Scalar, Layout, Space>>&, const LanczosOptions&, const Observer&);

#pragma once

#include <blockvec/instantiate.hpp>
#include <blockvec/solvers/interior.hpp>
#include <cmath>

#include "solvers/interior/result.hpp"
#include "solvers/problem_vectors.hpp"

namespace blockvec::solvers {

template <class Vector>
Result<Vector> interior_lanczos(const Problem<Vector>& problem, const InteriorOptions& options,
                                const Observer& observer) {
  using Search = InteriorSearch<Vector>;
  using Real = typename Search::Real;
  require_operands("interior_lanczos", problem);
  if (problem.b) throw InputError("interior_lanczos: it solves A x = theta x alone, and a B was given");
  const auto& rows = problem.a.rows();
  const Vector deflation = orthonormal_copy(problem.deflation, options.orth);
  const auto filled_for = [&](std::int64_t expected) {
    return checked(options, expected, is_host_space<typename Vector::Space> ? 2 : 4, rows.global_rows(),
                   deflation.width());
  };
  (void)filled_for(0);
  const Vector model(problem.a.context(), rows, 1, "model");
  const SpectrumLook<Real> look = look_at_spectrum(problem.a, Real(1), model, options.seed);
  const Real reach = options.interval ? static_cast<Real>(options.interval->to / 2 - options.interval->from / 2) : 0;
  const Real expected = look.count_within(reach, Search::target_of(options), rows.global_rows());
  return Search(problem, deflation, filled_for(static_cast<std::int64_t>(std::ceil(expected))), look, observer).solve();
}

}  // namespace blockvec::solvers

/// One file for each scalar, since each takes its time to compile.
#define BLOCKVEC_INTERIOR_LANCZOS(Scalar, Layout, Space)                \
  template Result<BlockVector<Scalar, Layout, Space>> interior_lanczos( \
      const Problem<BlockVector<Scalar, Layout, Space>>&, const InteriorOptions&, const Observer&);

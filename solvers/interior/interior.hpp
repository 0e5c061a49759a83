#pragma once

#include <algorithm>
#include <blockvec/instantiate.hpp>
#include <blockvec/solvers/interior.hpp>
#include <cmath>

#include "solvers/fitting_units.hpp"
#include "solvers/interior/result.hpp"
#include "solvers/problem_vectors.hpp"

namespace blockvec::solvers {

template <class Vector>
Result<Vector> interior_lanczos(const Problem<Vector>& problem, const InteriorOptions& options,
                                const Observer& observer) {
  using Search = InteriorSearch<Vector>;
  using Real = typename Search::Real;
  require_operands("interior_lanczos", problem);
  const auto& rows = problem.a.rows();
  const auto filled_for = [&](const InteriorOptions& own, std::int64_t expected, std::int64_t deflated) {
    return checked(own, expected, rows.global_rows(), deflated);
  };
  (void)filled_for(options, 0, 0);
  const auto solve = [&](const Problem<Vector>& own, const Observer& seen, double unit) {
    InteriorOptions in_units = options;
    in_units.target /= unit;
    if (options.interval) in_units.interval = {options.interval->from / unit, options.interval->to / unit};
    const auto& interval = in_units.interval;
    const Real reach = interval ? static_cast<Real>(interval->to / 2 - interval->from / 2) : 0;
    const Real centre = Search::target_of(in_units);
    // What the look lets expect may be too few. More memory is taken only once that has shown.
    const bool may_grow = interval && options.wanted == InteriorOptions::automatic_wanted && options.basis == 0 &&
                          options.checkpoint.file.empty() && options.checkpoint.restart.empty();
    constexpr int most_attempts = 5;
    Result<Vector> so_far;
    const Observer see = seen ? [&](const Step& step) { return seen(so_far.before(step)); } : seen;
    for (int attempt = 1;; ++attempt) {
      InteriorPencil<Vector> pencil(own, options);
      const SpectrumLook<Real>& look = pencil.spectrum;
      const Real expected = std::max(look.count_within(reach, centre, rows.global_rows()),
                                     look.count_of_levels_within(reach, centre, rows.global_rows()));
      const std::int64_t deflated = pencil.deflation().width(), left = rows.global_rows() - deflated;
      const InteriorOptions filled = filled_for(in_units, static_cast<std::int64_t>(std::ceil(expected)), deflated);
      Search search(own, pencil, filled, see);
      so_far = so_far.before(search.solve());
      if (!may_grow || !search.is_short_of_room() || filled.wanted >= left || attempt == most_attempts) return so_far;
      in_units.wanted = std::min(2 * filled.wanted, left);
    }
  };
  return solve_in_fitting_units(problem, observer, options.seed, solve);
}

}  // namespace blockvec::solvers

/// One file for each scalar, since each takes its time to compile.
#define BLOCKVEC_INTERIOR_LANCZOS(Scalar, Layout, Space)                \
  template Result<BlockVector<Scalar, Layout, Space>> interior_lanczos( \
      const Problem<BlockVector<Scalar, Layout, Space>>&, const InteriorOptions&, const Observer&);

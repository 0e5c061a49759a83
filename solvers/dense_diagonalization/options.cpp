#include <fmt/core.h>

#include <algorithm>
#include <blockvec/solvers/dense_diagonalization.hpp>

#include "solvers/option_checks.hpp"

namespace blockvec::solvers {

DenseOptions checked(DenseOptions options, std::int64_t rows, std::int64_t deflated) {
  const OptionChecks check("dense_diagonalization");
  check.rows(rows);
  // 1 + 6 n + 2 n^2 numbers of workspace, counted by integers of 32 bits.
  constexpr std::int64_t most_rows = 32766;
  if (rows > most_rows) {
    check.refuse(fmt::format("LAPACK's indices reach {} rows, and the matrix has {}: take an iterative method",
                             most_rows, rows));
  }
  if (options.target && options.interval) check.refuse("there cannot be both a target and an interval");
  if (options.target) check.target(*options.target);
  if (options.interval) check.interval(options.interval->from, options.interval->to);
  check.tolerance(options.tolerance);
  if (options.wanted == DenseOptions::automatic_wanted) {
    options.wanted = rows - deflated;
    if (!options.interval) options.wanted = std::min<std::int64_t>(options.wanted, 8);
  }
  check.wanted(options.wanted, rows, deflated);
  return options;
}

}  // namespace blockvec::solvers

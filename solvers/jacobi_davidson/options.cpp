#include <fmt/core.h>

#include <algorithm>
#include <blockvec/solvers/jacobi_davidson.hpp>

#include "solvers/option_checks.hpp"

namespace blockvec::solvers {

JacobiDavidsonOptions checked(JacobiDavidsonOptions options, std::int64_t rows, std::int64_t deflated, bool has_b) {
  const std::int64_t left = rows - deflated;
  const OptionChecks check("jacobi_davidson");
  check.rows(rows);
  check.wanted(options.wanted, rows, deflated);
  // Where corrections take many steps, products with wider blocks are worth the steps that come in addition.
  if (options.block == 0) options.block = options.target || (has_b && options.wanted >= 4) ? 4 : 2;
  check.block(options.block);
  check.tolerance(options.tolerance);
  check.iterations(options.max_iterations);
  check.checkpoint(options.checkpoint);
  if (options.inner_steps < 1) check.refuse(fmt::format("there is at least 1 inner step, not {}", options.inner_steps));
  options.block = std::min(options.block, left);
  if (options.target) {
    check.target(*options.target);
    options.which = Which::smallest;
    if (options.basis == 0)
      options.basis = std::max<std::int64_t>({60, 2 * options.wanted + 12 * options.block, 2 * options.kept});
    if (options.kept == 0) options.kept = std::max(options.basis * 3 / 5, options.block);
  }
  if (options.kept == 0) options.kept = options.wanted + options.block + 2;
  if (options.basis == 0) options.basis = std::max<std::int64_t>(10, options.kept + 6 * options.block);
  if (options.kept < options.block) {
    check.refuse(fmt::format("a restart cannot keep {} columns with blocks of {}", options.kept, options.block));
  }
  if (options.basis < options.kept + 2 * options.block) {
    check.refuse(fmt::format("a basis of {} columns is too small to keep {} with blocks of {}: at least {}",
                             options.basis, options.kept, options.block, options.kept + 2 * options.block));
  }
  return options;
}

}  // namespace blockvec::solvers

#include <fmt/core.h>

#include <algorithm>
#include <blockvec/solvers/interior.hpp>
#include <cmath>

#include "solvers/option_checks.hpp"

namespace blockvec::solvers {

InteriorOptions checked(InteriorOptions options, std::int64_t expected, std::int64_t rows, std::int64_t deflated) {
  const OptionChecks check("interior_lanczos");
  const std::int64_t left = rows - deflated;
  check.rows(rows);
  if (options.interval) check.interval(options.interval->from, options.interval->to);
  if (!std::isfinite(options.target)) check.refuse(fmt::format("the target must be a number, not {}", options.target));
  if (options.block == 0) options.block = 4;
  check.block(options.block);
  check.tolerance(options.tolerance);
  check.checkpoint(options.checkpoint);
  options.block = std::min(options.block, left);
  if (options.wanted == InteriorOptions::automatic_wanted)
    options.wanted = std::min<std::int64_t>(left, options.interval ? expected + expected / 2 + 8 : 8);
  check.wanted(options.wanted, rows, deflated);
  if (options.basis == 0) options.basis = 4 * options.wanted + 24 * options.block;
  check.basis(options.basis, options.wanted + 4 * options.block, left, options.wanted, options.block);
  return options;
}

}  // namespace blockvec::solvers

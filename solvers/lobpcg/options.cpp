#include <fmt/core.h>

#include <algorithm>
#include <blockvec/solvers/lobpcg.hpp>

#include "solvers/option_checks.hpp"

namespace blockvec::solvers {

LobpcgOptions checked(LobpcgOptions options, std::int64_t rows, std::int64_t deflated) {
  const OptionChecks check("lobpcg");
  check.rows(rows);
  check.wanted(options.wanted, rows, deflated);
  if (options.guard < LobpcgOptions::automatic_guard)
    check.refuse(fmt::format("there cannot be {} guard columns", options.guard));
  check.tolerance(options.tolerance);
  check.iterations(options.max_iterations);
  check.checkpoint(options.checkpoint);
  if (options.guard == LobpcgOptions::automatic_guard) options.guard = std::max<std::int64_t>(4, options.wanted / 10);
  options.guard = std::min(options.guard, rows - deflated - options.wanted);
  return options;
}

}  // namespace blockvec::solvers

#include <fmt/core.h>

#include <algorithm>
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/lobpcg.hpp>

namespace blockvec::solvers {

LobpcgOptions checked(LobpcgOptions options, std::int64_t rows, std::int64_t deflated) {
  const std::int64_t left = rows - deflated;
  if (rows < 1) throw InputError("lobpcg: the matrix has no rows");
  if (options.wanted < 1 || options.wanted > left) {
    throw InputError(fmt::format("lobpcg: {} eigenpairs were asked of a matrix with {} rows{}", options.wanted, rows,
                                 deflated > 0 ? fmt::format(" beside {} deflated vectors", deflated) : ""));
  }
  if (options.guard < LobpcgOptions::automatic_guard)
    throw InputError(fmt::format("lobpcg: there cannot be {} guard columns", options.guard));
  if (!(options.tolerance > 0))
    throw InputError(fmt::format("lobpcg: the tolerance must be positive, not {}", options.tolerance));
  if (options.max_iterations < 0)
    throw InputError(fmt::format("lobpcg: there cannot be at most {} iterations", options.max_iterations));
  if (options.guard == LobpcgOptions::automatic_guard) options.guard = std::max<std::int64_t>(4, options.wanted / 10);
  options.guard = std::min(options.guard, left - options.wanted);
  return options;
}

}  // namespace blockvec::solvers

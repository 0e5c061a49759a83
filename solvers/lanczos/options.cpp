#include <fmt/core.h>

#include <algorithm>
#include <blockvec/solvers/lanczos.hpp>

#include "solvers/option_checks.hpp"

namespace blockvec::solvers {

LanczosOptions checked(LanczosOptions options, std::int64_t rows, std::int64_t deflated) {
  const OptionChecks check("block_lanczos");
  const std::int64_t left = rows - deflated;
  check.rows(rows);
  check.wanted(options.wanted, rows, deflated);
  if (options.block == 0) options.block = default_block;
  check.block(options.block);
  check.tolerance(options.tolerance);
  check.checkpoint(options.checkpoint);
  if (options.filter_degree < LanczosOptions::automatic_filter)
    check.refuse(fmt::format("a filter has no degree {}", options.filter_degree));
  if (options.filter_degree > LanczosOptions::most_filter_degree) {
    check.refuse(fmt::format("a filter of degree {} overflows; the greatest sensible one is {}", options.filter_degree,
                             LanczosOptions::most_filter_degree));
  }
  options.block = std::min(options.block, left);
  if (options.basis == 0) options.basis = default_basis(options.wanted, options.block);
  check.basis(options.basis, options.wanted + 3 * options.block, left, options.wanted, options.block);
  return options;
}

}  // namespace blockvec::solvers

#include <fmt/core.h>

#include <algorithm>
#include <blockvec/solvers/chebyshev.hpp>

#include "solvers/option_checks.hpp"

namespace blockvec::solvers {

ChebyshevOptions checked(ChebyshevOptions options, std::int64_t filter_width, std::int64_t rows,
                         std::int64_t deflated) {
  const std::int64_t left = rows - deflated;
  const OptionChecks check("chebyshev");
  check.rows(rows);
  check.wanted(options.wanted, rows, deflated);
  if (options.extra < ChebyshevOptions::automatic_extra)
    check.refuse(fmt::format("there cannot be {} extra columns", options.extra));
  check.tolerance(options.tolerance);
  check.iterations(options.max_iterations);
  check.checkpoint(options.checkpoint);
  const auto require_degree = [&](int degree, int least) {
    if (degree >= least && degree % 2 == 0) return;
    check.refuse(fmt::format("the degree of a filter is even and at least {}, not {}", least, degree));
  };
  require_degree(options.first_degree, ChebyshevOptions::automatic_degree);
  require_degree(options.most_degree, 2);
  if (options.filter_width < ChebyshevOptions::automatic_width)
    check.refuse(fmt::format("a filter cannot have {} columns", options.filter_width));
  if (options.extra == ChebyshevOptions::automatic_extra) options.extra = std::max<std::int64_t>(4, options.wanted / 5);
  options.extra = std::min(options.extra, left - options.wanted);
  if (options.filter_width == ChebyshevOptions::automatic_width) options.filter_width = filter_width;
  options.first_degree = std::min(options.first_degree, options.most_degree);
  return options;
}

}  // namespace blockvec::solvers

#include <fmt/core.h>

#include <algorithm>
#include <blockvec/solvers/chebyshev.hpp>
#include <blockvec/solvers/input_error.hpp>

namespace blockvec::solvers {

ChebyshevOptions checked(ChebyshevOptions options, std::int64_t filter_width, std::int64_t rows,
                         std::int64_t deflated) {
  const std::int64_t left = rows - deflated;
  if (rows < 1) throw InputError("chebyshev: the matrix has no rows");
  if (options.wanted < 1 || options.wanted > left) {
    throw InputError(fmt::format("chebyshev: {} eigenpairs were asked of a matrix with {} rows{}", options.wanted, rows,
                                 deflated > 0 ? fmt::format(" beside {} deflated vectors", deflated) : ""));
  }
  if (options.extra < ChebyshevOptions::automatic_extra)
    throw InputError(fmt::format("chebyshev: there cannot be {} extra columns", options.extra));
  if (!(options.tolerance > 0))
    throw InputError(fmt::format("chebyshev: the tolerance must be positive, not {}", options.tolerance));
  if (options.max_iterations < 0)
    throw InputError(fmt::format("chebyshev: there cannot be at most {} iterations", options.max_iterations));
  const auto require_degree = [](int degree, int least) {
    if (degree >= least && degree % 2 == 0) return;
    throw InputError(fmt::format("chebyshev: the degree of a filter is even and at least {}, not {}", least, degree));
  };
  require_degree(options.first_degree, ChebyshevOptions::automatic_degree);
  require_degree(options.most_degree, 2);
  if (options.filter_width < ChebyshevOptions::automatic_width)
    throw InputError(fmt::format("chebyshev: a filter cannot have {} columns", options.filter_width));
  if (options.extra == ChebyshevOptions::automatic_extra) options.extra = std::max<std::int64_t>(4, options.wanted / 5);
  options.extra = std::min(options.extra, left - options.wanted);
  if (options.filter_width == ChebyshevOptions::automatic_width) options.filter_width = filter_width;
  options.first_degree = std::min(options.first_degree, options.most_degree);
  return options;
}

}  // namespace blockvec::solvers

#include <fmt/core.h>

#include <algorithm>
#include <blockvec/solvers/interior.hpp>
#include <cmath>

namespace blockvec::solvers {

InteriorOptions checked(InteriorOptions options, std::int64_t expected, std::int64_t block, std::int64_t rows,
                        std::int64_t deflated) {
  const std::int64_t left = rows - deflated;
  if (rows < 1) throw InputError("interior_lanczos: the matrix has no rows");
  if (options.interval && !(options.interval->from < options.interval->to && std::isfinite(options.interval->from) &&
                            std::isfinite(options.interval->to))) {
    throw InputError(fmt::format("interior_lanczos: an interval has a lower end and an upper one, not {} and {}",
                                 options.interval->from, options.interval->to));
  }
  if (!std::isfinite(options.target))
    throw InputError(fmt::format("interior_lanczos: the target must be a number, not {}", options.target));
  if (options.block == 0) options.block = block;
  if (options.block < 1)
    throw InputError(fmt::format("interior_lanczos: a block has at least 1 column, not {}", options.block));
  if (!(options.tolerance > 0))
    throw InputError(fmt::format("interior_lanczos: the tolerance must be positive, not {}", options.tolerance));
  options.block = std::min(options.block, left);
  if (options.wanted == InteriorOptions::automatic_wanted) {
    options.wanted = std::min<std::int64_t>(left, options.interval ? expected + expected / 2 + 8 : 8);
  }
  if (options.wanted < 1 || options.wanted > left) {
    throw InputError(fmt::format("interior_lanczos: {} eigenpairs were asked of a matrix with {} rows{}",
                                 options.wanted, rows,
                                 deflated > 0 ? fmt::format(" beside {} deflated vectors", deflated) : ""));
  }
  if (options.basis == 0) options.basis = 2 * options.wanted + 12 * options.block;
  const std::int64_t least = options.wanted + 4 * options.block;
  if (options.basis < std::min(least, left)) {
    throw InputError(fmt::format(
        "interior_lanczos: a basis of {} columns is too small for {} eigenpairs with blocks of {}: at least {}",
        options.basis, options.wanted, options.block, least));
  }
  return options;
}

}  // namespace blockvec::solvers

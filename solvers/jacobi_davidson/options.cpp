#include <fmt/core.h>

#include <algorithm>
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/jacobi_davidson.hpp>

namespace blockvec::solvers {

JacobiDavidsonOptions checked(JacobiDavidsonOptions options, std::int64_t rows, std::int64_t deflated) {
  const std::int64_t left = rows - deflated;
  const auto refuse = [](const std::string& what) { throw InputError("jacobi_davidson: " + what); };
  if (rows < 1) refuse("the matrix has no rows");
  if (options.wanted < 1 || options.wanted > left) {
    refuse(fmt::format("{} eigenpairs were asked of a matrix with {} rows{}", options.wanted, rows,
                       deflated > 0 ? fmt::format(" beside {} deflated vectors", deflated) : ""));
  }
  if (options.block < 1) refuse(fmt::format("a block has at least 1 column, not {}", options.block));
  if (!(options.tolerance > 0)) refuse(fmt::format("the tolerance must be positive, not {}", options.tolerance));
  if (options.max_iterations < 0) refuse(fmt::format("there cannot be at most {} iterations", options.max_iterations));
  if (options.inner_steps < 1) refuse(fmt::format("there is at least 1 inner step, not {}", options.inner_steps));
  options.block = std::min(options.block, left);
  if (options.kept == 0) options.kept = options.wanted + options.block + 2;
  if (options.basis == 0) options.basis = std::max<std::int64_t>(10, options.kept + 6 * options.block);
  if (options.kept < options.block) {
    refuse(fmt::format("a restart cannot keep {} columns with blocks of {}", options.kept, options.block));
  }
  if (options.basis < options.kept + 2 * options.block) {
    refuse(fmt::format("a basis of {} columns is too small to keep {} with blocks of {}: at least {}", options.basis,
                       options.kept, options.block, options.kept + 2 * options.block));
  }
  return options;
}

}  // namespace blockvec::solvers

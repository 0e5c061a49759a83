#include <fmt/core.h>

#include <algorithm>
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/lanczos.hpp>

namespace blockvec::solvers {

LanczosOptions checked(LanczosOptions options, std::int64_t block, std::int64_t rows, std::int64_t deflated) {
  if (rows < 1) throw InputError("block_lanczos: the matrix has no rows");
  if (options.wanted < 1 || options.wanted > rows) {
    throw InputError(
        fmt::format("block_lanczos: {} eigenpairs were asked of a matrix with {} rows", options.wanted, rows));
  }
  rows -= deflated;
  if (options.wanted > rows) {
    throw InputError(
        fmt::format("block_lanczos: {} eigenpairs were asked of a matrix with {} rows beside {} deflated vectors",
                    options.wanted, rows + deflated, deflated));
  }
  if (options.block == 0) options.block = block;
  if (options.block < 1)
    throw InputError(fmt::format("block_lanczos: a block has at least 1 column, not {}", options.block));
  if (!(options.tolerance > 0))
    throw InputError(fmt::format("block_lanczos: the tolerance must be positive, not {}", options.tolerance));
  if (!(options.checkpoint.seconds >= 0)) {
    throw InputError(
        fmt::format("block_lanczos: there cannot be {} seconds between checkpoints", options.checkpoint.seconds));
  }
  if (options.filter_degree < LanczosOptions::automatic_filter) {
    throw InputError(fmt::format("block_lanczos: a filter has no degree {}", options.filter_degree));
  }
  if (options.filter_degree > LanczosOptions::most_filter_degree) {
    throw InputError(fmt::format("block_lanczos: a filter of degree {} overflows; the greatest sensible one is {}",
                                 options.filter_degree, LanczosOptions::most_filter_degree));
  }
  options.block = std::min(options.block, rows);
  if (options.basis == 0) options.basis = default_basis(options.wanted, options.block);
  const std::int64_t least = options.wanted + 3 * options.block;
  if (options.basis < std::min(least, rows)) {
    throw InputError(fmt::format(
        "block_lanczos: a basis of {} columns is too small for {} eigenpairs with blocks of {}: at least {}",
        options.basis, options.wanted, options.block, least));
  }
  return options;
}

}  // namespace blockvec::solvers

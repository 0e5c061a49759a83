#include <algorithm>
#include <bit>

#include "src/dispatch/cuda/constants.hpp"
#include "src/dispatch/cuda/spmmv.hpp"

namespace blockvec::kernels::dispatch {

SpmmvConfiguration choose(const SpmmvProblem& problem) {
  const auto blocks = [&](int columns) { return (problem.width + columns - 1) / columns; };
  if (!problem.row_major && problem.width > 1) return {SpmmvKernel::sell_columns, 1, 1, false, blocks(4)};
  // One access of 16 bytes a lane where all rows allow it, else one scalar.
  const int full = std::max(1, 16 / problem.scalar_bytes);
  const bool fits = problem.misalignment % 16 == 0 && problem.width % full == 0;
  const int vector = fits ? full : 1;
  const bool whole = problem.misalignment % static_cast<std::uint64_t>(vector * problem.scalar_bytes) == 0;
  const int most = most_spmmv_lanes(vector, problem.scalar_bytes);
  const auto wanted = static_cast<unsigned>(std::min<std::int64_t>(most, blocks(vector)));
  const int lanes = static_cast<int>(std::bit_ceil(wanted));
  return {SpmmvKernel::sell, vector, lanes, whole, blocks(vector * lanes)};
}

std::string words(const SpmmvConfiguration& c) {
  if (c.kernel == SpmmvKernel::sell_columns) return "sell_columns";
  return "sell vector " + std::to_string(c.vector) + " lanes " + std::to_string(c.lanes) +
         (c.whole ? "" : " in parts") + (c.blocks > 1 ? " blocks " + std::to_string(c.blocks) : "");
}

}  // namespace blockvec::kernels::dispatch

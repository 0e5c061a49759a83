#include "problems/grid.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <blockvec/solvers/input_error.hpp>
#include <cstddef>
#include <limits>

namespace blockvec::examples {

std::array<std::int64_t, 3> grid_lengths(std::string_view problem, const std::vector<std::int64_t>& grid,
                                         std::size_t least, std::size_t most) {
  if (grid.size() < least || grid.size() > most) {
    const std::string wanted = least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most);
    throw solvers::InputError(fmt::format("{}: --grid takes {} lengths, got {}", problem, wanted, grid.size()));
  }
  std::array<std::int64_t, 3> lengths{1, 1, 1};
  // Twice the points are addressed on a lattice with two sites a cell.
  constexpr std::int64_t most_points = std::numeric_limits<std::int64_t>::max() / 2;
  std::int64_t points = 1;
  for (std::size_t d = 0; d < grid.size(); ++d) {
    if (grid[d] < 1)
      throw solvers::InputError(fmt::format("{}: --grid {}: lengths must be positive", problem, fmt::join(grid, " ")));
    if (grid[d] > most_points / points) {
      throw solvers::InputError(
          fmt::format("{}: --grid {}: more points than 64-bit row numbers", problem, fmt::join(grid, " ")));
    }
    points *= grid[d];
    lengths[d] = grid[d];
  }
  return lengths;
}

std::string grid_text(const std::array<std::int64_t, 3>& lengths, int dimensions) {
  return fmt::format("{}",
                     fmt::join(lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(dimensions), " x "));
}

}  // namespace blockvec::examples

#include "problems/laplacian.hpp"

#include <fmt/core.h>

#include "problems/grid.hpp"

namespace blockvec::examples {

Laplacian::Laplacian(const std::vector<std::int64_t>& grid)
    : dimensions_(static_cast<int>(grid.size())), lengths_(grid_lengths("laplacian", grid, 1, 3)) {}

void Laplacian::append_row(std::int64_t row, solvers::RowEntries<double>& entries) const {
  entries.add(row, 2.0 * dimensions_);
  std::int64_t stride = 1;
  for (std::size_t d = 0; d < static_cast<std::size_t>(dimensions_); ++d) {
    const std::int64_t position = row / stride % lengths_[d];
    if (position > 0) entries.add(row - stride, -1);
    if (position + 1 < lengths_[d]) entries.add(row + stride, -1);
    stride *= lengths_[d];
  }
}

std::string Laplacian::describe() const {
  return fmt::format("Laplacian, {} Dirichlet grid", grid_text(lengths_, dimensions_));
}

}  // namespace blockvec::examples

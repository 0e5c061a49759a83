#pragma once

#include <array>
#include <blockvec/solvers/row_source.hpp>
#include <vector>

namespace blockvec::examples {

/// The discrete Laplacian on a grid of 1, 2 or 3 dimensions with Dirichlet boundaries, unscaled: 2d on the diagonal, -1
/// for each neighbour. Grid point (x, y, z) is row x + nx (y + ny z). Eigenvalues: sum over dimensions of 2 - 2 cos(k
/// pi / (n + 1)), k = 1..n.
class Laplacian final : public solvers::RowSource<double> {
 public:
  /// Throws InputError unless there are 1 to 3 positive lengths.
  explicit Laplacian(const std::vector<std::int64_t>& grid);

  std::int64_t size() const override { return lengths_[0] * lengths_[1] * lengths_[2]; }
  void append_row(std::int64_t row, solvers::RowEntries<double>& entries) const override;
  std::string describe() const override;

 private:
  int dimensions_;
  std::array<std::int64_t, 3> lengths_{1, 1, 1};
};

}  // namespace blockvec::examples

#pragma once

#include <array>
#include <blockvec/scalar.hpp>
#include <blockvec/solvers/row_source.hpp>
#include <vector>

namespace blockvec::examples {

/// A periodic sheet of graphene, nx x ny cells with two sites A and B each: hopping -1 from A(x, y) to B(x, y), B(x-1,
/// y) and B(x, y-1). Site s (A: 0, B: 1) of cell (x, y) is row 2 (x + nx y) + s. As in all periodic problems here,
/// hoppings that lead to the same site for lengths 1 and 2 add up. Eigenvalues: +-|1 + exp(2 pi i kx / nx) + exp(2 pi i
/// ky / ny)|. In a magnetic field of p/q flux quanta a hexagon, A(x, y) - B(x, y-1) carries the Peierls phase exp(2 pi
/// i x p / q), which is periodic along x if nx p is a multiple of q; the matrix is then complex.
template <class Scalar>
class Graphene final : public solvers::RowSource<Scalar> {
 public:
  /// Throws InputError unless there are 2 positive lengths and the flux fits them. A real matrix takes no flux.
  explicit Graphene(const std::vector<std::int64_t>& grid, std::int64_t flux_p = 0, std::int64_t flux_q = 1);

  std::int64_t size() const override { return 2 * lengths_[0] * lengths_[1]; }
  void append_row(std::int64_t row, solvers::RowEntries<Scalar>& entries) const override;
  std::string describe() const override;

 private:
  Scalar peierls(std::int64_t x) const;  // the hopping from B(x, y-1) to A(x, y)
  std::array<std::int64_t, 3> lengths_;
  std::int64_t flux_p_;
  std::int64_t flux_q_;
};

}  // namespace blockvec::examples

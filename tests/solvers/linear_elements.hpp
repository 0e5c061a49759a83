#pragma once

#include <blockvec/scalar.hpp>
#include <blockvec/solvers/row_source.hpp>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace blockvec::solvers {

/// -u'' = lambda u by n linear finite elements' nodes, in units of the mesh: K = tridiag(-1, 2, -1) and M = tridiag(1,
/// 4, 1) / 6. With c_j = cos(j pi / (n + 1)) the eigenvalues are 6 (1 - c_j) / (2 + c_j); M's are (2 + c_j) / 3.
template <class Scalar>
struct LinearElements {
  std::int64_t n;
  RowFunction<Scalar> k() const { return tridiagonal(Scalar(2), Scalar(-1)); }
  RowFunction<Scalar> m() const { return tridiagonal(Scalar(RealOf<Scalar>(4) / 6), Scalar(RealOf<Scalar>(1) / 6)); }
  /// Ascending.
  std::vector<double> eigenvalues() const {
    std::vector<double> values;
    for (std::int64_t j = 1; j <= n; ++j) {
      const double c = std::cos(static_cast<double>(j) * std::numbers::pi / static_cast<double>(n + 1));
      values.push_back(6 * (1 - c) / (2 + c));
    }
    return values;
  }
  static constexpr double least_of_m = 1. / 3;

 private:
  RowFunction<Scalar> tridiagonal(Scalar diagonal, Scalar beside) const {
    return RowFunction<Scalar>(n, [=, n = n](std::int64_t row, RowEntries<Scalar>& entries) {
      entries.add(row, diagonal);
      if (row > 0) entries.add(row - 1, beside);
      if (row + 1 < n) entries.add(row + 1, beside);
    });
  }
};

}  // namespace blockvec::solvers

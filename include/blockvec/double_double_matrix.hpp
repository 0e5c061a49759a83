#pragma once

#include <Kokkos_Core.hpp>
#include <blockvec/kernels/double_double.hpp>
#include <blockvec/small_matrix.hpp>
#include <cstdint>
#include <type_traits>

namespace blockvec {

/// A replicated small matrix to about twice the working precision: high + low, entry by entry, high being the sum
/// rounded. A handle, as SmallMatrix.
template <class Scalar, class Space = DefaultSpace>
struct DoubleDoubleMatrix {
  ///@{
  /// The numbers, rounded, and what rounding left out. Both have the same shape.
  SmallMatrix<Scalar, Space> high, low;
  ///@}

  /// Uninitialised, from scratch memory.
  static DoubleDoubleMatrix scratch(WorkspaceScope<Space>& scope, std::int64_t rows, std::int64_t columns) {
    auto high = SmallMatrix<Scalar, Space>::scratch(scope, rows, columns);
    return {high, SmallMatrix<Scalar, Space>::scratch(scope, rows, columns)};
  }
  /// Of both parts.
  std::int64_t rows() const { return high.rows(); }
  /// Of both parts.
  std::int64_t columns() const { return high.columns(); }
  /// Where it lives.
  const Context& context() const { return high.context(); }
  /// A block of both parts, as SmallMatrix::block; shares memory.
  DoubleDoubleMatrix block(std::int64_t row_begin, std::int64_t row_end, std::int64_t column_begin,
                           std::int64_t column_end) const {
    return {high.block(row_begin, row_end, column_begin, column_end),
            low.block(row_begin, row_end, column_begin, column_end)};
  }
};

/// What a pair of Reals is computed with: double for float, DoubleDouble for double.
template <class Real>
using Extended = std::conditional_t<std::is_same_v<Real, float>, double, DoubleDouble>;

///@{
/// high + low, without an error.
KOKKOS_INLINE_FUNCTION double extend(float high, float low) {
  return static_cast<double>(high) + static_cast<double>(low);
}
KOKKOS_INLINE_FUNCTION DoubleDouble extend(double high, double low) { return {high, low}; }
///@}

///@{
/// x as high + low: high is x rounded, low the remainder, rounded.
KOKKOS_INLINE_FUNCTION void split(double x, float& high, float& low) {
  high = static_cast<float>(x);
  low = static_cast<float>(x - static_cast<double>(high));
}
KOKKOS_INLINE_FUNCTION void split(const DoubleDouble& x, double& high, double& low) {
  const DoubleDouble sum = two_sum(x.high, x.low);
  high = sum.high;
  low = sum.low;
}
///@}

}  // namespace blockvec

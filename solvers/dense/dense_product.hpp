#pragma once

#include <blockvec/block_vector.hpp>

#include "solvers/dense/dense_rows.hpp"

namespace blockvec::solvers {

/// Whether a product with so many columns reads one triangle of the square of own columns. On the host that of one
/// column: symv reads the triangle at the memory's speed, while symm and hemm are no faster than gemm. On a device up
/// to 16 real columns, what kernels::hemm takes at once (bench/results/h200/dense_operator.csv).
template <class Scalar, class Space>
constexpr bool reads_one_triangle(std::int64_t columns) {
  if (is_host_space<Space>) return columns == 1;
  return (ScalarTraits<Scalar>::is_complex ? 2 : 1) * columns <= 16;
}

/// How often a product with so many columns reads the square of own columns.
template <class Scalar, class Space>
double own_reads(const DenseBlock<Scalar, Space>& own, std::int64_t columns) {
  const std::int64_t most = ScalarTraits<Scalar>::is_complex ? 8 : 16;  // that a device takes at once
  if (own.packed) return is_host_space<Space> ? 0.5 : 0.5 * static_cast<double>((columns + most - 1) / most);
  return reads_one_triangle<Scalar, Space>(columns) ? 0.5 : 1;
}

/// Y = alpha A X + beta Y for the square of own columns.
template <class Scalar, class Layout, class Space>
void multiply_own(Scalar alpha, const DenseBlock<Scalar, Space>& a, const BlockVector<Scalar, Layout, Space>& x,
                  Scalar beta, const BlockVector<Scalar, Layout, Space>& y);

/// Y = alpha A X + Y for the ghosts' rows of X, row-major without gaps.
template <class Scalar, class Layout, class Space>
void add_ghosts(Scalar alpha, const DenseBlock<Scalar, Space>& a, const Scalar* ghosts,
                const BlockVector<Scalar, Layout, Space>& y);

/// Y = alpha A X + beta Y for all columns, each sum in the order of these, whichever ranks have them.
template <class Scalar, class Layout, class Space>
void multiply_in_order(Scalar alpha, const DenseRows<Scalar, Space>& a, const BlockVector<Scalar, Layout, Space>& x,
                       const Scalar* ghosts, Scalar beta, const BlockVector<Scalar, Layout, Space>& y);

}  // namespace blockvec::solvers

#pragma once

#include <blockvec/block_vector.hpp>
#include <cstdint>
#include <span>

#include "blockvec/kernel_calls.hpp"

/// Sums over rows for Summation::reproducible.
namespace blockvec {

/// What is wanted of two operands.
enum class Wanted {
  product,        ///< V^H W
  double_double,  ///< the same in double-double: the high parts of all entries, then the low ones
  diagonal        ///< column dots
};

/// This rank's rows of two operands.
template <class Scalar>
struct RowProduct {
  kernels::Matrix<KernelScalar<Scalar>> v, w;
  Wanted wanted;
  /// W is V. Kernels make use of it, and round otherwise where they do.
  bool same() const { return v.data == w.data && v.columns == w.columns && v.ld == w.ld; }
  std::int64_t entries() const { return wanted == Wanted::diagonal ? w.columns : v.columns * w.columns; }
  std::int64_t words() const { return (wanted == Wanted::double_double ? 2 : 1) * entries(); }
};

template <class Scalar, class Layout, class Space>
RowProduct<Scalar> row_product(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                               Wanted wanted) {
  return {v.matrix(), w.matrix(), wanted};
}

/// sums = the words of all products, one after another, entries column by column, summed over all ranks with bits that
/// do not depend on how `rows` are distributed, nor on the threads. Operands and sums lie in Space; a device's host
/// gets them as well in staging memory `here`, unless null, and waits for that. Two reductions; see Summation. On a
/// device one pass over the operands of each product, and one reduction where sums cross ranks on devices: then the
/// host waits for nothing else but MPI; where they are staged, it waits. Where a chunk's rows lie on several
/// ranks, these wait for them. Throws ShapeError on every rank if they disagree on `tag` or the shapes, or for more
/// rows than can be counted.
template <class Space, class Scalar>
void sum_reproducibly(const Context& context, const RowDistribution& rows, std::span<const RowProduct<Scalar>> products,
                      std::uint64_t tag, Scalar* sums, Scalar* here = nullptr);

}  // namespace blockvec

#pragma once

#include <Kokkos_Core.hpp>
#include <blockvec/block_vector.hpp>
#include <blockvec/solvers/dense_operator.hpp>
#include <cstdint>
#include <vector>

namespace blockvec::solvers {

/// A row-major matrix whose rows begin at multiples of 128 bytes, or a Hermitian one in the form of
/// kernels::PackedHermitian.
template <class Scalar, class Space>
struct DenseBlock {
  std::int64_t rows = 0, columns = 0, ld = 0;
  Kokkos::View<Scalar*, Space> entries;
  bool packed = false;

  ///@{
  /// Uninitialised. Throws OutOfMemoryError naming the bytes.
  static DenseBlock allocate(std::int64_t rows, std::int64_t columns);
  static DenseBlock allocate_packed(std::int64_t rows);
  ///@}
};

/// This rank's rows of a dense matrix: the columns of its own rows, and all others ("ghosts") in their order.
template <class Scalar, class Space>
struct DenseRows {
  DenseBlock<Scalar, Space> own, ghost;
  std::vector<std::int64_t> ghosts;  ///< global columns, ascending; none for a rank without rows
  std::int64_t ghosts_before = 0;    ///< this rank's rows

  /// What DenseOperator's constructor says. Sends nothing.
  static DenseRows read(const Context& context, const RowDistribution& rows, const RowSource<Scalar>& source,
                        DenseStorage storage);
};

}  // namespace blockvec::solvers

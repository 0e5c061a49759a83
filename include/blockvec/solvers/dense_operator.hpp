#pragma once

#include <blockvec/block_vector.hpp>
#include <blockvec/solvers/row_source.hpp>
#include <cstdint>
#include <memory>

namespace blockvec::solvers {

/// What is stored of the square of a rank's own rows and columns.
enum class DenseStorage : std::uint8_t {
  full,   ///< all of it
  packed  ///< its lower triangle (kernels/packed.hpp): half the memory, and every product reads it
};

/// A dense Hermitian matrix, whose rows are distributed over the ranks as a block vector's. A
/// rank holds the square of its own rows and columns, of which products of few columns read one triangle, and beside it
/// the columns of other ranks. X is gathered from all ranks; the device multiplies own columns meanwhile. All scalars
/// of block vectors, row- and column-major. In a reproducible Context Y's bits depend on neither ranks nor threads.
template <class Scalar, class Space = DefaultSpace>
class DenseOperator {
 public:
  /// Fills this rank's rows from `source`, with the context's threads; what it leaves out is zero, and the source
  /// promises that the matrix is Hermitian. Memory: rows of this rank times all columns, packed half of its own
  /// columns; for a device or packed 128 MiB of the host's besides, through which rows pass. Collective. Throws
  /// OutOfMemoryError naming the bytes asked for, ShapeError if the source's size is not that of `rows`, Error for a
  /// column outside the matrix, NotFiniteError for NaN or Inf.
  DenseOperator(const Context& context, const RowDistribution& rows, const RowSource<Scalar>& source,
                DenseStorage storage = DenseStorage::full);
  /// Frees the matrix.
  ~DenseOperator();
  /// Takes over the matrix.
  DenseOperator(DenseOperator&&) noexcept;

  /// Where its block vectors live.
  const Context& context() const;
  /// Which rank holds which rows.
  const RowDistribution& rows() const;
  /// Entries of the whole matrix, zeros included.
  std::int64_t nonzeros() const;
  /// Columns that it was applied to so far.
  std::int64_t applications() const;

  /// Y = alpha (A - shift) X + beta Y. beta = 0 never reads Y. X and Y do not overlap.
  /// Cost: this rank's part of the matrix once, X and Y once, a shift one pass more over both; one message to and from
  /// every other rank; no reduction. Of own columns one triangle is read: on the host for one column, on a device for
  /// up to 16 columns (8 complex ones), beyond which all of the square takes less time; a packed triangle once for each
  /// 16 (8) on a device, once on the host. On the host by the BLAS and its threads. A device reads the square once more
  /// for each 64 columns (32 complex ones); it waits as SparseOperator does. In a reproducible Context sums run over
  /// the columns in their order, without the BLAS and tensor cores: for checks rather than for speed. Error: as that of
  /// kernels::gemm. Recorded as user_operator. Throws ShapeError naming X and Y.
  template <class Layout>
  void apply(Scalar alpha, Scalar shift, const BlockVector<Scalar, Layout, Space>& x, Scalar beta,
             const BlockVector<Scalar, Layout, Space>& y);

  /// Y = A X.
  template <class Layout>
  void apply(const BlockVector<Scalar, Layout, Space>& x, const BlockVector<Scalar, Layout, Space>& y) {
    apply(Scalar(1), Scalar(0), x, Scalar(0), y);
  }

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace blockvec::solvers

#pragma once

#include <blockvec/block_vector.hpp>
#include <blockvec/kernels/spmmv.hpp>
#include <blockvec/solvers/recurrence.hpp>
#include <blockvec/solvers/row_source.hpp>
#include <cstdint>
#include <memory>
#include <span>

namespace blockvec::solvers {

/// A square sparse matrix whose rows are distributed over the ranks as a block vector's: compressed rows on each rank,
/// with 32-bit local column numbers, and a halo exchange of one message per neighbour. In a device's memory they have
/// SELL-C-sigma format, and the device multiplies own columns while the halo travels. All scalars of block vectors,
/// row- and column-major. In a reproducible Context the products of a row are added in the order of the columns
/// whichever ranks hold these, so that Y's bits depend on neither ranks nor threads.
template <class Scalar, class Space = DefaultSpace>
class SparseOperator {
 public:
  /// Fills this rank's rows from `source`, with the context's threads. A matrix in a device's memory passes through the
  /// host's, where it takes up to twice its size meanwhile. Collective.
  /// Throws OutOfMemoryError naming the bytes asked for, ShapeError if the source's size is not that of `rows`, Error
  /// for a column outside the matrix, NotFiniteError for NaN or Inf.
  SparseOperator(const Context& context, const RowDistribution& rows, const RowSource<Scalar>& source);
  /// A whole matrix whose arrays somebody else keeps in the host's memory: nothing is copied. One rank.
  /// Cost: one pass over columns and values, which are checked. Throws ShapeError for several ranks, for extents other
  /// than those of `rows` or for rows that do not ascend, Error for a column outside the matrix, NotFiniteError for NaN
  /// or Inf.
  static SparseOperator wrap(const Context& context, const RowDistribution& rows,
                             const kernels::CsrMatrix<typename ScalarTraits<Scalar>::Kernel, std::int64_t>&
                                 matrix) requires(is_host_space<Space>);
  /// Frees the matrix.
  ~SparseOperator();
  /// Takes over the matrix.
  SparseOperator(SparseOperator&&) noexcept;

  /// Where its block vectors live.
  const Context& context() const;
  /// Which rank holds which rows.
  const RowDistribution& rows() const;
  /// Of the whole matrix.
  std::int64_t nonzeros() const;
  /// Rows of other ranks that this rank reads in each application.
  std::int64_t ghosts() const;
  /// Columns that it was applied to so far.
  std::int64_t applications() const;

  /// Y = alpha (A - shift) X + beta Y. beta = 0 never reads Y. X and Y do not overlap.
  /// Cost: the matrix once (12 bytes a nonzero in double), X and Y once; one message per neighbour; no reduction. In a
  /// reproducible Context on several ranks X is read and written once more, and on a device a shift is a pass of its
  /// own. On a device nothing waits on one rank and by NCCL; by MPI the host waits for the messages.
  /// Recorded as user_operator. Throws ShapeError naming X and Y.
  template <class Layout>
  void apply(Scalar alpha, Scalar shift, const BlockVector<Scalar, Layout, Space>& x, Scalar beta,
             const BlockVector<Scalar, Layout, Space>& y);

  /// As recur_by_products(), recorded once. On the host the blocks go through all steps by rows, where a product is up
  /// to 3 times faster than on columns: column-major blocks are read and written once more, in strips of 16 columns,
  /// and every strip has messages of its own. Throws ShapeError naming the blocks.
  template <class Layout>
  void recur(Scalar shift, std::span<const RecurrenceStep<Scalar>> steps,
             const BlockVector<Scalar, Layout, Space>& newest, const BlockVector<Scalar, Layout, Space>& before);

  /// Y = p(A) X as apply_polynomial_by_products(), recorded once, by rows on the host as recur(): X is read and Y
  /// written once, and a sum costs no pass. Throws ShapeError naming X and Y, or the weights.
  template <class Layout>
  void apply_polynomial(const Polynomial<Scalar>& p, const BlockVector<Scalar, Layout, Space>& x,
                        const BlockVector<Scalar, Layout, Space>& y);

  /// Y = A X.
  template <class Layout>
  void apply(const BlockVector<Scalar, Layout, Space>& x, const BlockVector<Scalar, Layout, Space>& y) {
    apply(Scalar(1), Scalar(0), x, Scalar(0), y);
  }

 private:
  struct Parts;
  explicit SparseOperator(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace blockvec::solvers

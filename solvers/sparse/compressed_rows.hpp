#pragma once

#include <Kokkos_Core.hpp>
#include <blockvec/kernels/spmmv.hpp>
#include <blockvec/row_distribution.hpp>
#include <blockvec/scalar.hpp>
#include <blockvec/solvers/row_source.hpp>
#include <cstdint>

namespace blockvec::solvers {

/// Rows of a sparse matrix, compressed: the entries of row i stand at [row_begin(i), row_begin(i + 1)), by ascending
/// column.
template <class Scalar>
struct CompressedRows {
  Kokkos::View<std::size_t*, Kokkos::HostSpace> row_begin;
  Kokkos::View<int*, Kokkos::HostSpace> columns;
  Kokkos::View<Scalar*, Kokkos::HostSpace> values;

  std::int64_t rows() const { return static_cast<std::int64_t>(row_begin.extent(0)) - 1; }
  std::int64_t entries() const { return static_cast<std::int64_t>(columns.extent(0)); }
  /// How loops see them. How many columns there are is not known here.
  auto matrix() const {
    using Kernel = typename ScalarTraits<Scalar>::Kernel;
    return kernels::CsrMatrix<Kernel, std::size_t>{rows(), 0, row_begin.data(), columns.data(),
                                                   reinterpret_cast<const Kernel*>(values.data())};
  }
};

/// What a rank's rows are cut into.
enum class Cut {
  own_and_ghost,  ///< columns that this rank owns, and the others'
  /// One part, in which entries of a row stand in the order of their columns whoever owns these.
  together
};

/// This rank's rows of a matrix.
template <class Scalar>
struct SplitRows {
  CompressedRows<Scalar> own;  ///< together: ghosts before this rank's rows have columns -1, -2, ..., those behind them
                               ///< go on beyond its last
  CompressedRows<Scalar> ghost;      ///< columns are positions in `ghosts`; empty rows where all entries are together
  std::vector<std::int64_t> ghosts;  ///< global columns, ascending
  std::int64_t ghosts_before = 0;    ///< this rank's rows
};

/// Reads this rank's rows from `source` with `threads` threads, each row twice: first for its length. Entries of one
/// column are summed. Memory: what is returned, and a row for each thread. Sends nothing.
/// Throws OutOfMemoryError naming the bytes before it takes more memory than the machine has left, Error for a column
/// outside the matrix or a row that changes, NotFiniteError naming row and column.
template <class Scalar>
SplitRows<Scalar> compress_rows(const RowDistribution& rows, const RowSource<Scalar>& source, int threads,
                                Cut cut = Cut::own_and_ghost);

/// The rows of a whole matrix in memory that somebody else keeps: no copy. Entries of a row may have any order, and
/// entries of one column add up. One pass with `threads` threads checks them. Throws ShapeError for a matrix that is
/// not square or whose rows do not ascend, Error for a column outside of it, NotFiniteError naming row and column.
template <class Scalar>
CompressedRows<Scalar> wrap_rows(const kernels::CsrMatrix<typename ScalarTraits<Scalar>::Kernel, std::int64_t>& matrix,
                                 int threads);

}  // namespace blockvec::solvers

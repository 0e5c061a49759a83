#pragma once

#include <Kokkos_Core.hpp>
#include <blockvec/context.hpp>
#include <blockvec/kernels/error.hpp>
#include <blockvec/kernels/matrix.hpp>
#include <blockvec/layout.hpp>
#include <blockvec/row_distribution.hpp>
#include <blockvec/scalar.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

namespace blockvec {

/// This rank's rows of a tall & skinny matrix whose rows are distributed over the ranks of a Context.
/// A handle, like a Kokkos View: copies and column views share memory, and the memory lives as long as one of them does
/// (or, where it was wrapped, as its owner keeps it). Constness of the handle is not constness of the entries. Layout
/// is RowMajor or ColumnMajor, Space a Kokkos memory space.
template <class Scalar_, class Layout_ = DefaultLayout<DefaultSpace>, class Space_ = DefaultSpace>
class BlockVector {
  static_assert(is_block_scalar<Scalar_>,
                "a block vector holds float, double, blockvec::Complex<float> or blockvec::Complex<double>");
  static_assert(std::is_same_v<Layout_, RowMajor> || std::is_same_v<Layout_, ColumnMajor>,
                "the layout of a block vector is blockvec::RowMajor or blockvec::ColumnMajor");
  static_assert(is_block_space<Space_>,
                "a block vector lives in Kokkos::HostSpace, or in Kokkos::CudaSpace where Kokkos is built for CUDA");

 public:
  using Scalar = Scalar_;                              ///< of the entries
  using Layout = Layout_;                              ///< RowMajor or ColumnMajor
  using Space = Space_;                                ///< the memory that it lives in
  using View = Kokkos::View<Scalar**, Layout, Space>;  ///< this rank's rows, as Kokkos sees them

  BlockVector() = default;

  /// Zeros. The base is aligned to 128 bytes, and beyond narrow blocks (128 bytes a row; columns likewise) so is the
  /// leading dimension. Throws ShapeError for a negative width or a distribution over other ranks, OutOfMemoryError
  /// naming label and bytes. Not collective, sends nothing.
  BlockVector(const Context& context, const RowDistribution& rows, std::int64_t width,
              const std::string& label = "BlockVector");

  /// Wraps a View of this rank's rows; shares (and keeps alive, where the View does) its memory.
  static BlockVector wrap(const Context& context, const RowDistribution& rows, const View& view,
                          const std::string& label = "wrapped");
  /// Wraps a pointer to this rank's rows. ld >= width (row-major) or >= local rows (column-major). The caller keeps the
  /// memory.
  static BlockVector wrap(const Context& context, const RowDistribution& rows, Scalar* data, std::int64_t width,
                          std::int64_t ld, const std::string& label = "wrapped");

  /// Rows on all ranks together.
  std::int64_t global_rows() const { return rows_.global_rows(); }
  /// Rows on this rank.
  std::int64_t local_rows() const { return static_cast<std::int64_t>(view_.extent(0)); }
  /// The number of columns.
  std::int64_t width() const { return static_cast<std::int64_t>(view_.extent(1)); }
  /// The distance from one row (row-major) or column (column-major) to the next, in entries.
  std::int64_t ld() const;
  /// This rank's entry (0, 0); null without entries.
  Scalar* data() const { return view_.data(); }
  /// This rank's entries, to be read and written.
  const View& view() const { return view_; }
  /// The entries, to be read only: what an operator asks of its X.
  Kokkos::View<const Scalar**, Layout, Space> const_view() const { return view_; }
  /// Where it lives.
  const Context& context() const { return context_; }
  /// Which rank holds which rows.
  const RowDistribution& rows() const { return rows_; }
  /// The name by which messages call it.
  const std::string& label() const { return *label_; }

  /// The columns [begin, end), sharing memory; views of views too. Allocates nothing. Throws ShapeError.
  BlockVector columns(std::int64_t begin, std::int64_t end) const;
  /// One column, as columns().
  BlockVector column(std::int64_t index) const { return columns(index, index + 1); }
  /// Whether both are views of one block vector with a column in common: the same verdict on every rank, those without
  /// rows included. Memory that was wrapped twice counts as two block vectors.
  bool shares_columns(const BlockVector& other) const;
  /// Whether both are views of one block vector, and other's columns follow this one's: the same verdict on every rank.
  bool precedes(const BlockVector& other) const;
  /// The columns of both, of which the first precedes the second, as one view. It keeps owned memory alive, as each of
  /// them does. Throws ShapeError.
  BlockVector joined(const BlockVector& other) const;

  /// A copy with memory of its own. One pass: reads and writes K m words.
  BlockVector deep_copy(const std::string& label = "copy") const;
  /// A copy in another layout. One pass.
  template <class OtherLayout>
  BlockVector<Scalar, OtherLayout, Space> converted_to_layout(const std::string& label = "copy") const;
  /// A copy of another scalar type: real to complex, or between precisions. Complex to real is not offered. One pass.
  template <class OtherScalar>
  BlockVector<OtherScalar, Layout, Space> converted_to_scalar(const std::string& label = "copy") const;
  /// A copy in another memory space, complete when it is returned.
  template <class OtherSpace>
  BlockVector<Scalar, Layout, OtherSpace> converted_to_space(const std::string& label = "copy") const;

  /// "V (1000 x 8, double, row-major, 4 ranks)": for messages.
  std::string describe() const;

  /// How the kernels see it.
  kernels::Matrix<typename ScalarTraits<Scalar>::Kernel> matrix() const;

 private:
  template <class S, class L, class M>
  friend BlockVector<S, L, M> scratch_like(WorkspaceScope<M>& scope, const BlockVector<S, L, M>& model,
                                           std::int64_t width);

  Context context_;
  RowDistribution rows_;
  // Empty Views over no memory: some versions of Kokkos 4.6 cannot assign to a default-constructed one.
  View view_{static_cast<Scalar*>(nullptr), 0, 0};
  Kokkos::View<Scalar*, Space> storage_{static_cast<Scalar*>(nullptr),
                                        0};  // keeps owned memory alive; empty where wrapped
  std::shared_ptr<const std::string> label_;
  std::uint64_t block_ = 0;  // a number that views of one block vector share
  std::int64_t first_column_ = 0;
};

/// A temporary from scratch memory: contents undefined, lives as long as the scope, allocates nothing once the
/// workspace is warm. Its leading dimension is padded as an owned block vector's.
template <class Scalar, class Layout, class Space>
BlockVector<Scalar, Layout, Space> scratch_like(WorkspaceScope<Space>& scope,
                                                const BlockVector<Scalar, Layout, Space>& model, std::int64_t width);

}  // namespace blockvec

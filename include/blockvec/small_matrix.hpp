#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <blockvec/context.hpp>
#include <blockvec/kernels/error.hpp>
#include <blockvec/kernels/matrix.hpp>
#include <blockvec/scalar.hpp>
#include <cstdint>
#include <string>

namespace blockvec {

/// A small matrix on the host, column-major: what an explicit read of a SmallMatrix gives.
template <class Scalar>
using HostMatrix = Kokkos::View<Scalar**, Kokkos::LayoutLeft, Kokkos::HostSpace>;

/// A replicated small matrix (C, R, Gram), column-major, in the block vectors' memory space. Every rank holds the same
/// bits. What is done with it is ordered on its Context's execution-space instance. A handle: copies and blocks share
/// memory.
template <class Scalar, class Space = DefaultSpace>
class SmallMatrix {
 public:
  /// The Kokkos View that holds the entries.
  using View = Kokkos::View<Scalar**, Kokkos::LayoutLeft, Space>;

  SmallMatrix() = default;
  /// rows x columns zeros.
  SmallMatrix(const Context& context, std::int64_t rows, std::int64_t columns,
              const std::string& label = "BlockVec::SmallMatrix");
  /// Wraps storage that somebody else keeps alive.
  SmallMatrix(const Context& context, View view) : context_(context), view_(std::move(view)) {}
  /// Uninitialised, from scratch memory: lives as long as the scope.
  static SmallMatrix scratch(WorkspaceScope<Space>& scope, std::int64_t rows, std::int64_t columns);

  ///@{
  /// Rows, columns, and the distance from one column to the next, in entries.
  std::int64_t rows() const { return static_cast<std::int64_t>(view_.extent(0)); }
  std::int64_t columns() const { return static_cast<std::int64_t>(view_.extent(1)); }
  std::int64_t ld() const {
    return columns() > 1 ? static_cast<std::int64_t>(view_.stride(1)) : std::max<std::int64_t>(rows(), 1);
  }
  ///@}
  /// Entry (0, 0), in the memory of Space; null without entries.
  Scalar* data() const { return view_.data(); }
  /// The entries as Kokkos sees them.
  const View& view() const { return view_; }
  /// Where it lives.
  const Context& context() const { return context_; }

  /// The rows [row_begin, row_end) of the columns [column_begin, column_end); shares memory. Throws ShapeError.
  SmallMatrix block(std::int64_t row_begin, std::int64_t row_end, std::int64_t column_begin,
                    std::int64_t column_end) const;

  /// An explicit read: a copy on the host, after everything ordered before it.
  HostMatrix<Scalar> to_host() const;
  /// An explicit write of all entries; shapes must agree. The caller writes the same bits on every rank.
  void from_host(const HostMatrix<Scalar>& values) const;

 private:
  Context context_;
  // Over no memory: some versions of Kokkos 4.6 cannot assign to a default-constructed View.
  View view_{static_cast<Scalar*>(nullptr), 0, 0};
};

}  // namespace blockvec

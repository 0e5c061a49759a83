#pragma once

#include <Kokkos_Core.hpp>
#include <blockvec/kernels/matrix.hpp>
#include <blockvec/space.hpp>
#include <string_view>
#include <type_traits>

/// @file
/// The layouts of block vectors.
namespace blockvec {

/// One row's columns are adjacent.
using RowMajor = Kokkos::LayoutRight;
/// One column's rows are adjacent.
using ColumnMajor = Kokkos::LayoutLeft;

/// The layout of block vectors unless told otherwise. In host memory by columns: some columns of a wide block, as a
/// basis that grows has them, are read as fast as a block of their own. In a GPU's memory by rows, which sparse
/// products and Gram-Schmidt sweeps read fastest. Measured in docs/performance.md, "Rows or columns".
template <class Space>
using DefaultLayout = std::conditional_t<is_host_space<Space>, ColumnMajor, RowMajor>;

/// The layout as BlockVec::kernels names it.
template <class Layout>
inline constexpr kernels::Layout kernel_layout =
    std::is_same_v<Layout, RowMajor> ? kernels::Layout::row_major : kernels::Layout::column_major;

/// "row-major" or "column-major".
template <class Layout>
inline constexpr std::string_view layout_name = std::is_same_v<Layout, RowMajor> ? "row-major" : "column-major";

}  // namespace blockvec

#include "solvers/sparse/device_rows.hpp"

#if BLOCKVEC_HAVE_CUDA_SPACE
#include <blockvec/instantiate.hpp>
#include <blockvec/operations.hpp>
#include <type_traits>

#include "solvers/sparse/device_array.hpp"
#include "solvers/sparse/device_entries.hpp"

namespace blockvec::solvers {
namespace {

template <class Scalar>
auto kernel_value(Scalar value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return typename ScalarTraits<Scalar>::Kernel(value.real(), value.imag());
  } else {
    return value;
  }
}

template <class To, class Scalar, class Layout>
kernels::Matrix<To> rows_of(Scalar* data, std::int64_t rows, std::int64_t width, std::int64_t ld) {
  return {reinterpret_cast<To*>(data), rows, width, ld, kernel_layout<Layout>};
}

/// The rows of X between those of the ghosts before and behind them, row-major without gaps.
template <class Scalar>
struct PutBesideGhosts {
  DeviceEntries<Scalar> x;
  const Scalar* ghosts;
  Scalar* to;
  std::int64_t before, rows, width;

  KOKKOS_FUNCTION void operator()(std::int64_t at) const {
    const std::int64_t i = at / width - before, j = at % width;
    const std::int64_t ghost = i < 0 ? i + before : i - rows + before;
    to[at] = i >= 0 && i < rows ? x(i, j) : ghosts[ghost * width + j];
  }
};

}  // namespace

template <class Scalar>
SellRows<Scalar>::SellRows(const CompressedRows<Scalar>& rows, std::int64_t first_column, std::int64_t columns,
                           kernels::LongRows long_rows)
    : rows_(rows.rows()), columns_(columns), diagonal_(first_column) {
  static_assert(sizeof(std::size_t) == sizeof(std::int64_t));
  if (first_column != 0) {
    for (std::size_t at = 0; at < rows.columns.extent(0); ++at) rows.columns(at) += static_cast<int>(first_column);
  }
  const auto sell = kernels::sell_arrays(
      kernels::CsrMatrix<Kernel, std::int64_t>{
          rows_, columns, reinterpret_cast<const std::int64_t*>(rows.row_begin.data()), rows.columns.data(),
          reinterpret_cast<const Kernel*>(rows.values.data())},
      long_rows);
  const auto put = [](auto& to, const auto& from, const char* label) {
    using View = std::remove_reference_t<decltype(to)>;
    to = copy_array<typename View::value_type, Space>(label, from.data(), from.size());
  };
  put(chunk_begin_, sell.chunk_begin, "BlockVec::solvers::sell_chunks");
  put(row_, sell.row, "BlockVec::solvers::sell_rows");
  put(column_, sell.column, "BlockVec::solvers::sell_columns");
  put(value_, sell.value, "BlockVec::solvers::sell_values");
  put(long_row_, sell.long_row, "BlockVec::solvers::long_rows");
  put(long_begin_, sell.long_begin, "BlockVec::solvers::long_rows");
}

template <class Scalar>
template <class XLayout, class Layout>
void SellRows<Scalar>::apply(const Kokkos::Cuda& instance, Scalar alpha, Scalar shift, const Scalar* x,
                             std::int64_t x_ld, Scalar beta, const BlockVector<Scalar, Layout, Space>& y) const {
  if (rows_ == 0 || y.width() == 0) return;
  const kernels::SellMatrix<Kernel> a{rows_,
                                      columns_,
                                      chunk_begin_.data(),
                                      row_.extent(0) == 0 ? nullptr : row_.data(),
                                      column_.data(),
                                      value_.data(),
                                      static_cast<std::int64_t>(long_row_.extent(0)),
                                      long_row_.data(),
                                      long_begin_.data(),
                                      diagonal_};
  const auto result = rows_of<Kernel, Scalar, Layout>(y.data(), rows_, y.width(), y.ld());
  kernels::spmmv(kernel_value(alpha), a, kernel_value(shift),
                 rows_of<const Kernel, const Scalar, XLayout>(x, columns_, y.width(), x_ld), kernel_value(beta), result,
                 result, instance.cuda_stream());
}

template <class Scalar>
DeviceRows<Scalar>::DeviceRows(const Context& context, const RowDistribution& rows, SplitRows<Scalar> split)
    : is_together_(context.is_reproducible()),
      ghosts_before_(split.ghosts_before),
      own_rows_(split.own, is_together_ ? split.ghosts_before : 0,
                rows.local_rows() + (is_together_ ? std::ssize(split.ghosts) : 0),
                is_together_ ? kernels::LongRows::in_chunks : kernels::LongRows::apart),
      ghost_rows_(split.ghost, 0, std::ssize(split.ghosts), kernels::LongRows::apart),
      halo_(context, rows, split.ghosts) {}

template <class Scalar>
template <class Layout>
void DeviceRows<Scalar>::apply(Scalar alpha, Scalar shift, const BlockVector<Scalar, Layout, Space>& x, Scalar beta,
                               const BlockVector<Scalar, Layout, Space>& y) {
  halo_.begin(x);
  if (is_together_) return apply_together(alpha, shift, x, beta, y);
  const auto& instance = x.context().template execution_space<Space>();
  own_rows_.template apply<Layout>(instance, alpha, shift, x.data(), x.ld(), beta, y);
  const Scalar* const ghosts = halo_.finish();
  if (ghost_rows_.is_empty()) return;
  ghost_rows_.template apply<RowMajor>(instance, alpha, Scalar(0), ghosts, x.width(), Scalar(1), y);
}

template <class Scalar>
template <class Layout>
void DeviceRows<Scalar>::apply_together(Scalar alpha, Scalar shift, const BlockVector<Scalar, Layout, Space>& x,
                                        Scalar beta, const BlockVector<Scalar, Layout, Space>& y) {
  const Context& context = x.context();
  const auto& instance = context.template execution_space<Space>();
  const Scalar* const ghosts = halo_.finish();
  if (halo_.ghosts() == 0) {
    return own_rows_.template apply<Layout>(instance, alpha, shift, x.data(), x.ld(), beta, y);
  }
  WorkspaceScope<Space> scope(context);
  const std::int64_t count = (x.local_rows() + halo_.ghosts()) * x.width();
  auto* const whole = scope.template take<Scalar>(static_cast<std::size_t>(count));
  Kokkos::parallel_for(
      "BlockVec::solvers::beside_ghosts",
      Kokkos::RangePolicy<Kokkos::Cuda, Kokkos::IndexType<std::int64_t>>(instance, 0, count),
      PutBesideGhosts<Scalar>{device_entries(x), ghosts, whole, ghosts_before_, x.local_rows(), x.width()});
  own_rows_.template apply<RowMajor>(instance, alpha, shift, whole, x.width(), beta, y);
}

#define BLOCKVEC_DEVICE_ROWS(Scalar)                                                                                  \
  template class DeviceRows<Scalar>;                                                                                  \
  template void DeviceRows<Scalar>::apply(Scalar, Scalar, const BlockVector<Scalar, RowMajor, Kokkos::CudaSpace>&,    \
                                          Scalar, const BlockVector<Scalar, RowMajor, Kokkos::CudaSpace>&);           \
  template void DeviceRows<Scalar>::apply(Scalar, Scalar, const BlockVector<Scalar, ColumnMajor, Kokkos::CudaSpace>&, \
                                          Scalar, const BlockVector<Scalar, ColumnMajor, Kokkos::CudaSpace>&);
BLOCKVEC_FOR_SCALARS(BLOCKVEC_DEVICE_ROWS)

}  // namespace blockvec::solvers
#endif

#pragma once

#include <blockvec/block_vector.hpp>
#include <blockvec/kernels/spmmv.hpp>

#include "solvers/sparse/compressed_rows.hpp"
#include "solvers/sparse/device_halo.hpp"

#if BLOCKVEC_HAVE_CUDA_SPACE
namespace blockvec::solvers {

/// Rows of a sparse matrix in the memory of a device, in SELL-C-sigma format.
template <class Scalar>
class SellRows {
 public:
  using Space = Kokkos::CudaSpace;
  using Kernel = typename ScalarTraits<Scalar>::Kernel;

  /// Converts rows whose column numbers, `first_column` added, lie in [0, columns): that of row 0's diagonal is 0
  /// before. Throws OutOfMemoryError naming the bytes.
  SellRows(const CompressedRows<Scalar>& rows, std::int64_t first_column, std::int64_t columns,
           kernels::LongRows long_rows);

  /// Y = alpha (A - shift) X + beta Y, ordered on the instance. X's first row belongs to column 0.
  template <class XLayout, class Layout>
  void apply(const Kokkos::Cuda& instance, Scalar alpha, Scalar shift, const Scalar* x, std::int64_t x_ld, Scalar beta,
             const BlockVector<Scalar, Layout, Space>& y) const;

  bool is_empty() const { return column_.extent(0) == 0; }

 private:
  std::int64_t rows_, columns_, diagonal_;
  Kokkos::View<std::int64_t*, Space> chunk_begin_;
  Kokkos::View<std::int32_t*, Space> row_;
  Kokkos::View<std::int32_t*, Space> column_;
  Kokkos::View<Kernel*, Space> value_;
  Kokkos::View<std::int32_t*, Space> long_row_;
  Kokkos::View<std::int64_t*, Space> long_begin_;
};

/// This rank's rows of a sparse matrix in the memory of a device, times block vectors there.
template <class Scalar>
class DeviceRows {
 public:
  using Space = Kokkos::CudaSpace;

  /// As HostRows. Frees the rows in host memory.
  DeviceRows(const Context& context, const RowDistribution& rows, SplitRows<Scalar> split);

  std::int64_t ghosts() const { return halo_.ghosts(); }

  /// Y = alpha (A - shift) X + beta Y, ordered on the context's instance. Collective. Own columns are multiplied while
  /// the ghosts' rows are under way.
  template <class Layout>
  void apply(Scalar alpha, Scalar shift, const BlockVector<Scalar, Layout, Space>& x, Scalar beta,
             const BlockVector<Scalar, Layout, Space>& y);

 private:
  template <class Layout>
  void apply_together(Scalar alpha, Scalar shift, const BlockVector<Scalar, Layout, Space>& x, Scalar beta,
                      const BlockVector<Scalar, Layout, Space>& y);

  bool is_together_;
  std::int64_t ghosts_before_;
  SellRows<Scalar> own_rows_, ghost_rows_;
  DeviceHalo<Scalar> halo_;
};

}  // namespace blockvec::solvers
#endif

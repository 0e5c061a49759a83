#include "bench/spmmv_kokkos.hpp"

#include <KokkosSparse_CrsMatrix.hpp>
#include <KokkosSparse_spmv.hpp>
#include <Kokkos_Core.hpp>
#include <complex>
#include <type_traits>

namespace bench {

KokkosScope::KokkosScope() { Kokkos::initialize(); }
KokkosScope::~KokkosScope() { Kokkos::finalize(); }

template <class T>
void kokkos_kernels_spmmv(const DeviceRows<T>& a, const T* x, T* y, std::int64_t width) {
  using Scalar = std::conditional_t<std::is_same_v<T, double>, double, Kokkos::complex<double>>;
  using Space = Kokkos::Cuda;
  using Crs = KokkosSparse::CrsMatrix<Scalar, int, Kokkos::Device<Space, Kokkos::CudaSpace>, void, int>;
  using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  const auto rows = static_cast<std::size_t>(a.rows), entries = static_cast<std::size_t>(a.entries);
  // The matrix type has no view of constants.
  const typename Crs::row_map_type::non_const_type begin(const_cast<int*>(a.row_begin), rows + 1);
  const typename Crs::index_type::non_const_type column(const_cast<int*>(a.column), entries);
  const typename Crs::values_type::non_const_type value(reinterpret_cast<Scalar*>(const_cast<T*>(a.value)), entries);
  const Crs matrix("A", static_cast<int>(a.rows), static_cast<int>(a.rows), static_cast<int>(a.entries), value, begin,
                   column);
  const Space space;  // its stream waits for the legacy default stream, and that one for it
  const Scalar one(1), zero(0);
  const auto* const from = reinterpret_cast<const Scalar*>(x);
  auto* const to = reinterpret_cast<Scalar*>(y);
  if (width == 1) {
    const Kokkos::View<const Scalar*, Kokkos::LayoutLeft, Kokkos::CudaSpace, Unmanaged> in(from, rows);
    const Kokkos::View<Scalar*, Kokkos::LayoutLeft, Kokkos::CudaSpace, Unmanaged> out(to, rows);
    KokkosSparse::spmv(space, "N", one, matrix, in, zero, out);
  } else {
    const auto columns = static_cast<std::size_t>(width);
    const Kokkos::View<const Scalar**, Kokkos::LayoutRight, Kokkos::CudaSpace, Unmanaged> in(from, rows, columns);
    const Kokkos::View<Scalar**, Kokkos::LayoutRight, Kokkos::CudaSpace, Unmanaged> out(to, rows, columns);
    KokkosSparse::spmv(space, "N", one, matrix, in, zero, out);
  }
}

template void kokkos_kernels_spmmv(const DeviceRows<double>&, const double*, double*, std::int64_t);
template void kokkos_kernels_spmmv(const DeviceRows<std::complex<double>>&, const std::complex<double>*,
                                   std::complex<double>*, std::int64_t);

}  // namespace bench

#pragma once

#include <cstdint>

/// Kokkos Kernels' product of a sparse matrix and a row-major block, as a peer: in a file of its own, which is compiled
/// as Kokkos asks for it.
namespace bench {

/// Kokkos, for as long as it lives.
class KokkosScope {
 public:
  KokkosScope();
  ~KokkosScope();
};

/// Compressed rows in device memory. T is double or std::complex<double>.
template <class T>
struct DeviceRows {
  std::int64_t rows, entries;
  const std::int32_t *row_begin, *column;
  const T* value;
};

/// Y = A X, X and Y rows x width without gaps, in the order of the legacy default stream.
template <class T>
void kokkos_kernels_spmmv(const DeviceRows<T>& a, const T* x, T* y, std::int64_t width);

}  // namespace bench

#pragma once

#include <blockvec/kernels/cuda.hpp>
#include <blockvec/kernels/error.hpp>
#include <blockvec/kernels/matrix.hpp>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

/// @file
/// Packed storage of a Hermitian matrix: half the memory of a full one. T is float, double, std::complex<float> or
/// std::complex<double>.
///
/// The lower triangle stands in panels of P columns, one after the other. Panel p holds columns p P to (p + 1) P of
/// rows p P to n, row-major with leading dimension P; n is rounded up to a multiple of 16. P is 512, or 256 for complex
/// types, so that 16 rows of a panel are 64 KiB (float: 32 KiB) in a row: what a device loads at a time. It takes
/// P / n more memory than n (n + 1) / 2 entries. What stands above the diagonal, or behind row or column n, is not
/// read. LAPACK's packed columns begin at odd addresses, and rectangular full packed storage has an odd leading
/// dimension for every even n: neither can be read by bulk copies. Source: Andersen, Gustavson et al. 2005, "A fully
/// portable high performance minimal storage hybrid format Cholesky algorithm" (lower blocked packed format).
namespace blockvec::kernels {

/// Columns of a panel.
template <class T>
inline constexpr std::int64_t packed_panel = std::is_floating_point_v<std::remove_const_t<T>> ? 512 : 256;
/// Panels have a multiple of so many rows.
inline constexpr std::int64_t packed_rows = 16;

/// A packed Hermitian matrix, n x n, in memory that somebody else owns. Devices read it at the memory's speed where
/// data is a multiple of 16 bytes.
template <class T>
struct PackedHermitian {
  T* data = nullptr;   ///< packed_entries<T>(n) entries; may be null if n is 0
  std::int64_t n = 0;  ///< rows and columns

  /// A matrix of mutable entries is accepted wherever one of const entries is asked for.
  operator PackedHermitian<const T>() const  // NOLINT(google-explicit-constructor)
      requires(!std::is_const_v<T>) {
    return {data, n};
  }
};

/// Rows of all panels before panel `panel`.
template <class T>
constexpr std::int64_t packed_rows_before(std::int64_t n, std::int64_t panel) {
  const std::int64_t rows = (n + packed_rows - 1) / packed_rows * packed_rows;
  return panel * rows - packed_panel<T> * (panel * (panel - 1) / 2);
}
/// Entries in memory.
template <class T>
constexpr std::int64_t packed_entries(std::int64_t n) {
  return packed_rows_before<T>(n, (n + packed_panel<T> - 1) / packed_panel<T>) * packed_panel<T>;
}
/// Where entry (i, j) of the lower triangle stands, j <= i.
template <class T>
constexpr std::int64_t packed_place(std::int64_t n, std::int64_t i, std::int64_t j) {
  const std::int64_t panel = j / packed_panel<T>, first = panel * packed_panel<T>;
  return (packed_rows_before<T>(n, panel) + i - first) * packed_panel<T> + j - first;
}

/// Packs a triangle (upper or lower) of A, n x n in host memory, as a Hermitian matrix; imaginary parts of the diagonal
/// become zero, and what is not read too. Throws ShapeError naming the operands, also if they overlap.
template <class T>
void pack(Triangle triangle, std::type_identity_t<Matrix<const T>> a, PackedHermitian<T> packed);
/// Writes both triangles to A, n x n in host memory. Throws ShapeError naming the operands.
template <class T>
void unpack(std::type_identity_t<PackedHermitian<const T>> packed, Matrix<T> a);

/// Y = alpha A X + beta Y as hemm of kernels/dense.hpp, for a packed A. In host memory by the BLAS, panel by panel,
/// some rows at a time, so that A is read from memory once. Throws as that.
template <class T>
void hemm(T alpha, std::type_identity_t<PackedHermitian<const T>> a, std::type_identity_t<Matrix<const T>> x, T beta,
          Matrix<T> y);
/// The same in the current CUDA device's memory, with the same workspace, cuda_hemm_workspace, and the bits of hemm for
/// the lower triangle of a row-major A.
template <class T>
void hemm(T alpha, std::type_identity_t<PackedHermitian<const T>> a, std::type_identity_t<Matrix<const T>> x, T beta,
          Matrix<T> y, const CudaExecution& execution);

namespace reference {

/// The product by obvious loops, with the same contract, in host memory.
template <class T>
void hemm(T alpha, std::type_identity_t<PackedHermitian<const T>> a, std::type_identity_t<Matrix<const T>> x, T beta,
          Matrix<T> y);

}  // namespace reference
}  // namespace blockvec::kernels

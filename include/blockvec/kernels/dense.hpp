#pragma once

#include <blockvec/kernels/cuda.hpp>
#include <blockvec/kernels/error.hpp>
#include <blockvec/kernels/matrix.hpp>
#include <blockvec/kernels/tall_skinny.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

/// @file
/// Large dense matrix times block vector. T is float, double, std::complex<float> or std::complex<double>. A has a
/// layout of its own, X and Y share one; any leading dimension >= width, any extent from 0 up, Y apart from A and X.
/// alpha = 0 never reads A and X, beta = 0 never reads Y; NaN and Inf pass through otherwise.
namespace blockvec::kernels {

/// Y = alpha A X + beta Y in host memory, by the BLAS (gemm; gemv for one column) and its threads.
/// A is n x k, X is k x b, Y is n x b.
/// Cost: A, X and Y once, 2 n k b flops (8 for complex); where a complex product needs the conjugate of A, a copy of X.
/// Error: at most gamma(k + 3) |alpha| |A| |X| (+ 2 u |beta Y|) entry by entry, as for tsmm.
/// Throws ShapeError naming operands and shapes before anything is read or written, also for extents and leading
/// dimensions beyond 2^31 - 1, which no BLAS takes.
template <class T>
void gemm(T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> x, T beta,
          Matrix<T> y);
/// Y = alpha A^op X + beta Y, where A is k x n: rows of A are summed over. Cost, error and exceptions as above.
template <class T>
void gemm(Op op, T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> x, T beta,
          Matrix<T> y);

/// Y = alpha A X + beta Y for a Hermitian A, n x n, of which only `triangle` (upper or lower) is read; imaginary parts
/// of the diagonal count as zero. In host memory by the BLAS (symm, hemm). Cost: half of A; error and exceptions as
/// gemm's, and ShapeError for Triangle::general.
template <class T>
void hemm(Triangle triangle, T alpha, std::type_identity_t<Matrix<const T>> a,
          std::type_identity_t<Matrix<const T>> x, T beta, Matrix<T> y);

///@{
/// Products in the current CUDA device's memory, in libraries that were built with CUDA, as BLOCKVEC_HAVE_CUDA says.
/// alpha and beta are values; of `execution` stream and workspace count. Calls are ordered on the stream, allocate
/// nothing and do not wait, and a CUDA graph can capture them. The same call gives the same bits on the same device:
/// sums have a fixed order, without atomic operations. Products and sums are in double precision for all four types.
/// gemm reads A once for each 64 columns of X (32 complex ones), hemm reads the triangle once for each 16 (8 complex
/// ones), so that one triangle does not pay beyond these; both read it at the memory's speed where lines of A begin at
/// multiples of 16 bytes. A line is a row of a row-major A, a column of a column-major one.
/// Error: at most (gamma(k + 3) of double precision + u) |alpha| |A| |X| (+ 2 u |beta Y|) entry by entry, with a factor
/// of 2 sqrt(2) for complex types. Infinities may give NaN in complex products, and in hemm.
/// Throws ShapeError as on the host, for misaligned entries and for too small a workspace, CudaError naming shape and
/// cause. Source: Rivera et al. 2021, "TSM2X", for the shape; tensor cores and bulk copies as tsmttsm.
template <class T>
void gemm(T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> x, T beta,
          Matrix<T> y, const CudaExecution& execution);
template <class T>
void gemm(Op op, T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> x, T beta,
          Matrix<T> y, const CudaExecution& execution);
template <class T>
void hemm(Triangle triangle, T alpha, std::type_identity_t<Matrix<const T>> a,
          std::type_identity_t<Matrix<const T>> x, T beta, Matrix<T> y, const CudaExecution& execution);
///@}

///@{
/// Bytes of device memory that gemm (Y n x b, sums over k) and hemm (Y n x b) ask for on the current device, whatever
/// the layouts. Throws CudaError where there is no device.
template <class T>
std::size_t cuda_gemm_workspace(std::int64_t n, std::int64_t k, std::int64_t b);
template <class T>
std::size_t cuda_hemm_workspace(std::int64_t n, std::int64_t b);
///@}

///@{
/// Bytes of the least traffic: A (its triangle) once, X and Y once, Y twice where it is read.
template <class T>
double gemm_bytes(std::int64_t n, std::int64_t k, std::int64_t b, bool reads_output = false) {
  const double rows = static_cast<double>(n), depth = static_cast<double>(k), width = static_cast<double>(b);
  return sizeof(T) * (rows * depth + width * (depth + (reads_output ? 2 : 1) * rows));
}
template <class T>
double hemm_bytes(std::int64_t n, std::int64_t b, bool reads_output = false) {
  const double rows = static_cast<double>(n), width = static_cast<double>(b);
  return sizeof(T) * (rows * (rows + 1) / 2 + width * (reads_output ? 3 : 2) * rows);
}
///@}

namespace reference {

///@{
/// The products by obvious loops, with the same contract.
template <class T>
void gemm(T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> x, T beta,
          Matrix<T> y);
template <class T>
void gemm(Op op, T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> x, T beta,
          Matrix<T> y);
template <class T>
void hemm(Triangle triangle, T alpha, std::type_identity_t<Matrix<const T>> a,
          std::type_identity_t<Matrix<const T>> x, T beta, Matrix<T> y);
///@}

}  // namespace reference
}  // namespace blockvec::kernels

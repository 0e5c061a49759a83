#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <blockvec/kernels/matrix.hpp>

/// @file
/// The two products of tall & skinny matrices, on the host. K is the long dimension, M and N the short ones.
/// T is float, double, std::complex<float> or std::complex<double>. Tall operands of one call share one layout;
/// the small matrix has its own. Any leading dimension >= width, any element-aligned pointer, any extent from 0 up.
namespace blockvec::kernels {

/// Where and how a call runs.
struct HostExecution {
  int threads = 0;                      ///< 0: as many as OpenMP would take
  std::span<std::byte> workspace = {};  ///< at least what *_workspace says; empty: allocated inside the call
};

/// C = alpha A^op B + beta C.
/// A is K x M, B is K x N (same layout), C is M x N, apart from A and B in memory; A and B may be the same matrix.
/// beta = 0 never reads C, alpha = 0 never reads A and B; NaN and Inf pass through otherwise.
/// Cost: one pass over A and B (one over A where A is B): K (M + N) words, 2 K M N flops (8 for complex).
/// The sum over K runs over fixed chunks and a fixed tree: the same bits for any number of threads, and
/// |C_computed - C| <= gamma(summation_depth(K) + 3) |alpha| |A|^T |B| (+ 2 u |beta C|) entry by entry, gamma(n) = n u / (1 - n u),
/// with an additional factor of 2 sqrt(2) for complex types; summation_depth grows with log K.
/// Throws ShapeError naming operands and shapes before anything is read or written.
/// Source: Ernst, Hager, Thies, Wellein 2020, section 3 (tsmttsm).
template <class T>
void tsmttsm(Op op, T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> b,
             T beta, Matrix<T> c, HostExecution execution = {});

/// Bytes of workspace that tsmttsm asks for; depends on the extents and the layout only, not on threads.
/// At most 64 (l + 1) times the bytes of C, sides filled up to 16 entries (4 times as much for complex), where
/// l <= 1 + log16(K / 512): and no more than about (l + 1) / 16 of the data for long K.
template <class T>
std::size_t tsmttsm_workspace(std::int64_t k, std::int64_t m, std::int64_t n, Layout layout);

/// The largest number of additions that any one product passes through in tsmttsm's sum over k rows.
std::int64_t summation_depth(std::int64_t k);

/// high + low = A^op B to about twice the working precision; high is the product rounded, low the remainder. Both
/// are M x N. Single precision: products and sums in double precision.
/// Cost: one pass over A and B as tsmttsm; about 12 times its arithmetic, so that it keeps up with memory to widths of
/// 4 to 8 only (single precision as tsmttsm in double precision).
/// Fixed chunks: the same bits for any number of threads.
/// Error: at most u^2 |A^op B| + gamma(K + 3)^2 |A|^T |B| entry by entry, gamma(n) = n u / (1 - n u), with a factor of 2
/// for complex types; single precision u^2 |A^op B| + gamma(K) |A|^T |B|, gamma that of double precision. Entries whose
/// products underflow keep working precision. Throws ShapeError as tsmttsm does.
/// Source: Ogita, Rump, Oishi 2005, algorithm 5.3 (Dot2); for Gram matrices Yamazaki, Tomov, Dongarra 2015.
template <class T>
void tsmttsm_dd(Op op, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> b, Matrix<T> high,
                Matrix<T> low, HostExecution execution = {});

/// Bytes of workspace that tsmttsm_dd asks for, for up to `threads` threads (0: as many as OpenMP would take).
template <class T>
std::size_t tsmttsm_dd_workspace(std::int64_t k, std::int64_t m, std::int64_t n, int threads = 0);

/// B = alpha A C + beta B.
/// A is K x M, C is M x N, B is K x N, apart from A and C in memory. A triangle other than general takes the
/// opposite triangle of C as zero without reading it (whether NaN in A times such a zero counts is left open).
/// beta = 0 never reads B, alpha = 0 never reads A and C.
/// Cost: one pass over A and B: K (M + N) words (K (M + 2 N) with beta != 0), 2 K M N flops (8 for complex).
/// Error: at most gamma(M + 3) |alpha| |A| |C| (+ 2 u |beta B|) entry by entry, as above for complex.
/// Throws ShapeError as tsmttsm does. Source: Ernst et al. 2020, section 4 (tsmm).
template <class T>
void tsmm(T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> c, T beta,
          Matrix<T> b, Triangle triangle = Triangle::general, HostExecution execution = {});

/// V <- V C in place: N columns of V, from number `first` on, become V C; the others keep their values.
/// V is K x M, C is M x N with first + N <= M.
/// Cost: one pass, K (M + N) words, 2 K M N flops (8 for complex); error as tsmm.
template <class T>
void tsmm_inplace(Matrix<T> v, std::type_identity_t<Matrix<const T>> c, Triangle triangle = Triangle::general,
                  HostExecution execution = {}, std::int64_t first = 0);

/// Bytes of workspace that tsmm and tsmm_inplace ask for, for up to `threads` threads (0: as many as OpenMP would take).
template <class T>
std::size_t tsmm_workspace(std::int64_t k, std::int64_t m, std::int64_t n, Layout layout, int threads = 0);

/// One sweep of block Gram-Schmidt in one pass over tall data: W <- (W - V S) X, then P = V^H W and G = W^H W of the
/// new W. V is K x M, W is K x N, S and P are M x N, X and G are N x N; X is the inverse of a factor, and of a
/// triangular one the other triangle is not read. V comes as up to four matrices that stand side by side. Each step
/// whose small matrix has no columns is left out: without S and X, P and G are [V W]^H W of W as it is. All of V and W
/// share one layout, and W no memory with V.
/// Cost: K (M + 2 N) words, K (M + N) where W stays as it is; 2 K N flops for every row of S, X, P and G.
/// Errors as tsmm and tsmttsm, one after the other. The same bits for any number of threads. NaN and Inf pass through.
/// Throws ShapeError naming operands and shapes before anything is read or written.
template <class T>
void gram_schmidt_sweep(std::span<const std::type_identity_t<Matrix<const T>>> v,
                        std::type_identity_t<Matrix<const T>> s, Matrix<T> w, std::type_identity_t<Matrix<const T>> x,
                        Triangle triangle, std::type_identity_t<Matrix<T>> p, std::type_identity_t<Matrix<T>> g,
                        HostExecution execution = {});
/// Bytes of workspace that gram_schmidt_sweep asks for. `m`: columns of each of V's matrices.
template <class T>
std::size_t gram_schmidt_sweep_workspace(std::int64_t k, std::span<const std::int64_t> m, std::int64_t n, bool with_p,
                                         bool with_g, Layout layout, int threads = 0);

///@{
/// Words of tall data that cross the memory interface at least, in bytes, and useful floating-point operations.
template <class T>
double tsmttsm_bytes(std::int64_t k, std::int64_t m, std::int64_t n, bool same_operand = false);
template <class T>
double tsmm_bytes(std::int64_t k, std::int64_t m, std::int64_t n, bool reads_output = false);
template <class T>
double product_flops(std::int64_t k, std::int64_t m, std::int64_t n);
///@}

namespace reference {
///@{
/// The oracle: obvious serial loops with the same contract, summing in order (error gamma(K), not gamma(log K)).
template <class T>
void tsmttsm(Op op, T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> b,
             T beta, Matrix<T> c);
template <class T>
void tsmm(T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> c, T beta,
          Matrix<T> b, Triangle triangle = Triangle::general);
template <class T>
void tsmm_inplace(Matrix<T> v, std::type_identity_t<Matrix<const T>> c, Triangle triangle = Triangle::general,
                  std::int64_t first = 0);
///@}
}  // namespace reference

}  // namespace blockvec::kernels

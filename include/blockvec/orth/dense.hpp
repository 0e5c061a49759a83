#pragma once

#include <blockvec/kernels/matrix.hpp>
#include <blockvec/small_matrix.hpp>
#include <cstdint>

/// @file
/// What solvers do with replicated small matrices (Gram, Ritz and coefficient matrices), in the order of their
/// context's instance. On a device, products and what is done entry by entry are kernels there; factorisations, solves
/// and norms run on the host, by way of staging memory (blockvec::on_host), and wait for it. Matrices are column-major
/// blocks of any leading dimension; outputs may not overlap inputs unless said so. All throw ShapeError on shapes that
/// do not fit. Equal inputs give equal bits on every rank of a program, whatever the ranks' processors, BLAS and
/// threads: loops are the library's own, and what LAPACK computes comes from the first rank (decompositions of more
/// than 32 columns). Nothing else communicates. On devices this asks for one model of them. Errors are the same on
/// every rank, too. Work arrays are kept between calls; nothing allocates once they are warm.
namespace blockvec::orth::dense {

/// B = A.
template <class Scalar, class Space>
void copy(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<Scalar, Space>& b);
/// Every entry becomes value.
template <class Scalar, class Space>
void fill(const SmallMatrix<Scalar, Space>& a, Scalar value);
/// Ones on the diagonal, zeros elsewhere.
template <class Scalar, class Space>
void set_identity(const SmallMatrix<Scalar, Space>& a);
/// B = alpha A + beta B; beta = 0 never reads B.
template <class Scalar, class Space>
void axpby(Scalar alpha, const SmallMatrix<Scalar, Space>& a, Scalar beta, const SmallMatrix<Scalar, Space>& b);
/// B = A diag(factors); factors is real, 1 x n. B may be A.
template <class Scalar, class Space>
void scale_columns(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<RealOf<Scalar>, Space>& factors,
                   const SmallMatrix<Scalar, Space>& b);
/// squares(0, j) = the sum of |a(i, j)|^2 over i; squares is 1 x n.
template <class Scalar, class Space>
void column_squares(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<RealOf<Scalar>, Space>& squares);
/// The Frobenius norm; NaN if an entry is.
template <class Scalar, class Space>
RealOf<Scalar> frobenius_norm(const SmallMatrix<Scalar, Space>& a);
/// The largest entry in absolute value; NaN if an entry is.
template <class Scalar, class Space>
RealOf<Scalar> max_norm(const SmallMatrix<Scalar, Space>& a);

/// C = alpha op(A) op(B) + beta C; conjugate_a, conjugate_b: the conjugate transpose. beta = 0 never reads C.
template <class Scalar, class Space>
void multiply(Scalar alpha, const SmallMatrix<Scalar, Space>& a, bool conjugate_a, const SmallMatrix<Scalar, Space>& b,
              bool conjugate_b, Scalar beta, const SmallMatrix<Scalar, Space>& c);

/// What a factorisation tells the host.
template <class Scalar>
struct [[nodiscard]] CholeskyResult {
  bool finite = true;     ///< false: G holds NaN or Inf, nothing was computed
  std::int64_t rank = 0;  ///< columns factorised before a pivot fell to its threshold; n if none did
  /// Of R with unit columns: largest over smallest diagonal entry, a lower bound of its condition number.
  RealOf<Scalar> condition_estimate = 1;
};

/// R upper triangular with R^H R = G, from the upper triangle of the Hermitian G (n x n); R may be G. The strict lower
/// triangle of R becomes zero. The pivot of column j counts as zero at tolerance * reference(0, j) or below, where the
/// reference (1 x n; squared lengths) is G's own diagonal if none is given: so badly scaled columns do not count as
/// dependent. A column with reference 0, under skip_zeros, gets a zero row in R and a unit diagonal entry.
/// At rank < n, only the leading rank x rank block of R is defined.
template <class Scalar, class Space>
CholeskyResult<Scalar> cholesky(const SmallMatrix<Scalar, Space>& g, RealOf<Scalar> tolerance,
                                const SmallMatrix<Scalar, Space>& r,
                                const SmallMatrix<RealOf<Scalar>, Space>* reference = nullptr, bool skip_zeros = false);

/// X = R^-1 for an upper triangular R with a nonzero diagonal; X may be R. The strict lower triangle of X becomes zero.
/// Throws Error naming a zero pivot.
template <class Scalar, class Space>
void triangular_inverse(const SmallMatrix<Scalar, Space>& r, const SmallMatrix<Scalar, Space>& x);

/// On which side of the unknown a matrix stands.
enum class Side : std::uint8_t { left, right };

/// B <- op(T)^-1 B for Side::left (B n x any), B <- B op(T)^-1 for Side::right (B any x n), by substitution: backward
/// stable whatever T's condition. T is n x n, and upper or lower triangular; its other triangle is not read.
/// conjugate_t: op is the conjugate transpose. n^2 / 2 products a column or row of B. Throws Error naming a zero
/// pivot before B changes. Source: Higham 2002, chapter 8.
template <class Scalar, class Space>
void triangular_solve(Side side, kernels::Triangle triangle, const SmallMatrix<Scalar, Space>& t, bool conjugate_t,
                      const SmallMatrix<Scalar, Space>& b);

/// A = Z diag(values) Z^H for a Hermitian A (upper triangle read); values (1 x n, real) ascending, Z (n x n) may be A.
/// Up to 32 columns by Jacobi rotations, about 7 sweeps of 6 n^3 products; wider ones by LAPACK's heevd on the first
/// rank, in one reduction of n^2 + n numbers, collective. Throws NotFiniteError for NaN or Inf, and Error if there is
/// no convergence, on every rank.
template <class Scalar, class Space>
void eigendecomposition(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<RealOf<Scalar>, Space>& values,
                        const SmallMatrix<Scalar, Space>& z);

/// A X = B X diag(values) and X^H B X = I for a Hermitian A and a Hermitian, positive definite B (upper triangles
/// read); values (1 x n, real) ascending, X (n x n) may be A or B. By the eigendecomposition of R^-H A R^-1 with
/// R^H R = B: cost is that of eigendecomposition() and 5 n^3 / 3 products more. Beyond 32 columns LAPACK does all of it
/// on the first rank, in one reduction of n^2 + n + 1 numbers, collective. Values are right to about
/// n eps ||A|| ||B^-1||, and X^H B X - I grows with B's condition. Returns a lower bound of the condition number of
/// D^-1 B D^-1, D = diag(B)^(1/2): how B's columns are scaled does not count.
/// Throws Error naming B where a pivot is n eps times its diagonal entry or less, so that B is not positive definite to
/// rounding; NotFiniteError naming A or B; else as eigendecomposition(). Source: Golub, Van Loan 2013, section 8.7.
template <class Scalar, class Space>
RealOf<Scalar> generalized_eigendecomposition(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<Scalar, Space>& b,
                                              const SmallMatrix<RealOf<Scalar>, Space>& values,
                                              const SmallMatrix<Scalar, Space>& x);

/// A = U diag(values) V^H, thin, for an A of m x n and any rank: with k = min(m, n), U is m x k and V n x k with
/// orthonormal columns, values (1 x k, real) descend and are not negative. U may be A if it has A's shape. Up to k = 32
/// by one-sided Jacobi rotations, about 7 sweeps of k^2 (7 max(m, n) + 4 k) / 2 products; where columns (or rows, if
/// m < n) differ in length, small values are then as right as large ones. Wider ones by LAPACK's gesdd on the first
/// rank, in one reduction of (m + n + 1) k numbers, collective. Throws NotFiniteError for NaN or Inf, and Error if
/// there is no convergence, on every rank. Source: Demmel, Veselic 1992, SIAM J. Matrix Anal. Appl. 13(4).
template <class Scalar, class Space>
void svd(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<Scalar, Space>& u,
         const SmallMatrix<RealOf<Scalar>, Space>& values, const SmallMatrix<Scalar, Space>& v);

}  // namespace blockvec::orth::dense

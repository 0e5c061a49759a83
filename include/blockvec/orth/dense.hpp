#pragma once

#include <blockvec/small_matrix.hpp>

/// Dense operations on replicated small matrices, all in the matrices' own memory space: the only way in which a method touches small data.
/// Here for the host, on LAPACK; a device space joins by another implementation of the same functions.
/// Matrices are column-major blocks of any leading dimension; outputs may not overlap inputs unless said so. All throw ShapeError on
/// shapes that do not fit and never communicate: equal inputs give equal bits on every rank.
namespace blockvec::orth::dense {

template <class Scalar, class Space>
void copy(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<Scalar, Space>& b);  ///< b = a
template <class Scalar, class Space>
void fill(const SmallMatrix<Scalar, Space>& a, Scalar value);
template <class Scalar, class Space>
void set_identity(const SmallMatrix<Scalar, Space>& a);

/// C = alpha op(A) op(B) + beta C; conjugate_a, conjugate_b: the conjugate transpose.
template <class Scalar, class Space>
void multiply(Scalar alpha, const SmallMatrix<Scalar, Space>& a, bool conjugate_a, const SmallMatrix<Scalar, Space>& b,
              bool conjugate_b, Scalar beta, const SmallMatrix<Scalar, Space>& c);

/// B <- U B for an upper triangular U.
template <class Scalar, class Space>
void multiply_upper(const SmallMatrix<Scalar, Space>& u, const SmallMatrix<Scalar, Space>& b);

/// What a factorisation tells the host: an explicit read of a few numbers.
template <class Scalar>
struct CholeskyResult {
  bool finite = true;               ///< false: G holds NaN or Inf, nothing was computed
  std::int64_t rank = 0;            ///< columns factorised before a pivot fell to `tolerance` times its diagonal entry or below; n if none did
  RealOf<Scalar> condition_estimate = 1;  ///< of the scaled R: largest over smallest diagonal entry, a lower bound of cond(R)
};

/// R upper triangular with R^H R = G, from the upper triangle of the Hermitian G (n x n); R may be G. The strict lower triangle of R is zero.
/// G is scaled to unit diagonal first (column scaling does not harm an R), so that badly scaled columns do not count as dependent.
template <class Scalar, class Space>
CholeskyResult<Scalar> cholesky(const SmallMatrix<Scalar, Space>& g, RealOf<Scalar> tolerance, const SmallMatrix<Scalar, Space>& r);

/// X = R^-1 for an upper triangular R with a nonzero diagonal; X may be R. Throws Error on a zero pivot.
template <class Scalar, class Space>
void triangular_inverse(const SmallMatrix<Scalar, Space>& r, const SmallMatrix<Scalar, Space>& x);

/// A = Z diag(values) Z^H for a Hermitian A (upper triangle read); values (1 x n, real) ascending, Z (n x n) may be A.
/// Throws NotFiniteError for NaN or Inf, Error if LAPACK does not converge.
template <class Scalar, class Space>
void eigendecomposition(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<RealOf<Scalar>, Space>& values,
                        const SmallMatrix<Scalar, Space>& z);

/// Norms, read on the host. Frobenius; the largest entry in absolute value; both NaN if an entry is.
template <class Scalar, class Space>
RealOf<Scalar> frobenius_norm(const SmallMatrix<Scalar, Space>& a);
template <class Scalar, class Space>
RealOf<Scalar> max_norm(const SmallMatrix<Scalar, Space>& a);
/// The first column that holds NaN or Inf, or -1.
template <class Scalar, class Space>
std::int64_t first_non_finite_column(const SmallMatrix<Scalar, Space>& a);

}  // namespace blockvec::orth::dense

#pragma once

#include <blockvec/double_double_matrix.hpp>
#include <blockvec/small_matrix.hpp>
#include <cstdint>
#include <type_traits>

/// Dense operations on replicated small matrices, in the order of their context's instance: the only way in which a
/// method touches small data. What a function returns is an explicit read on the host, of a few numbers.
/// On a device, what is done entry by entry and products are kernels there; factorisations run on the host, by way
/// of staging memory (blockvec::on_host), and wait for it. Matrices are column-major blocks of any leading dimension;
/// outputs may not overlap inputs unless said so. All throw ShapeError on shapes that do not fit.
/// Equal inputs give equal bits on every rank of a program, whatever the ranks' processors, BLAS and threads: loops are
/// the library's own, and what LAPACK computes comes from the first rank (eigendecomposition, svqb). Nothing else
/// communicates. On devices this asks for one model of them. Work arrays are kept between calls; nothing allocates once
/// they are warm.
namespace blockvec::orth::dense {

template <class Scalar, class Space>
void copy(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<Scalar, Space>& b);  ///< B = A
template <class Scalar, class Space>
void fill(const SmallMatrix<Scalar, Space>& a, Scalar value);
template <class Scalar, class Space>
void set_identity(const SmallMatrix<Scalar, Space>& a);
/// B = alpha A + beta B; beta = 0 never reads B.
template <class Scalar, class Space>
void axpby(Scalar alpha, const SmallMatrix<Scalar, Space>& a, Scalar beta, const SmallMatrix<Scalar, Space>& b);
/// B = A diag(factors); factors is real, 1 x n. B may be A.
template <class Scalar, class Space>
void scale_columns(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<RealOf<Scalar>, Space>& factors,
                   const SmallMatrix<Scalar, Space>& b);
/// One entry, read on the host.
template <class Scalar, class Space>
Scalar entry(const SmallMatrix<Scalar, Space>& a, std::int64_t row, std::int64_t column);
/// Its real part.
template <class Scalar, class Space>
RealOf<Scalar> real_entry(const SmallMatrix<Scalar, Space>& a, std::int64_t row, std::int64_t column);

/// C = alpha op(A) op(B) + beta C; conjugate_a, conjugate_b: the conjugate transpose. beta = 0 never reads C.
template <class Scalar, class Space>
void multiply(Scalar alpha, const SmallMatrix<Scalar, Space>& a, bool conjugate_a, const SmallMatrix<Scalar, Space>& b,
              bool conjugate_b, Scalar beta, const SmallMatrix<Scalar, Space>& c);

/// B <- U B for an upper triangular U; its strict lower triangle is not read.
template <class Scalar, class Space>
void multiply_upper(const SmallMatrix<Scalar, Space>& u, const SmallMatrix<Scalar, Space>& b);

/// squares(0, j) = the real part of a(j, j).
template <class Scalar, class Space>
void diagonal(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<RealOf<Scalar>, Space>& squares);
/// squares(0, j) = the sum of |a(i, j)|^2 over i.
template <class Scalar, class Space>
void column_squares(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<RealOf<Scalar>, Space>& squares);

/// True if low <= squares(0, j) <= high for every j; false for NaN.
template <class Real, class Space>
bool within(const SmallMatrix<Real, Space>& squares, Real low, Real high);
/// The smallest share(j) = 1 - part(0, j) / whole(0, j), both 1 x n and squared lengths; 1 where whole is zero, and for
/// n = 0.
template <class Real, class Space>
Real smallest_share(const SmallMatrix<Real, Space>& whole, const SmallMatrix<Real, Space>& part);
/// The smallest part(0, j) / whole(0, j), both 1 x n, over j with whole > 0; NaN if one is, infinite for none.
template <class Real, class Space>
Real smallest_quotient(const SmallMatrix<Real, Space>& part, const SmallMatrix<Real, Space>& whole);
/// The sum of part(0, j) / whole(0, j) over j with whole > 0; for V^H W and W's columns ||V^H W D^-1||_F^2.
template <class Real, class Space>
Real sum_of_shares(const SmallMatrix<Real, Space>& whole, const SmallMatrix<Real, Space>& part);
/// quotients(0, j) = the smallest squares(0, i) / |r(j, i)|^2 over those i for which neither is zero; 0 if there is
/// none. R is n x n.
template <class Scalar, class Space>
void divide_by_rows(const SmallMatrix<RealOf<Scalar>, Space>& squares, const SmallMatrix<Scalar, Space>& r,
                    const SmallMatrix<RealOf<Scalar>, Space>& quotients);

/// What a factorisation tells the host.
template <class Scalar>
struct CholeskyResult {
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

/// The same with G and all arithmetic in double-double, R being rounded at the end: a pivot is right to eps^2 times the
/// square of the condition of the columns before it, instead of eps. Rows of R from `rank` on are zero.
/// With `order` (n numbers), columns are taken by decreasing pivots, as shares of their reference; those that are left
/// have pivots at or below the tolerance. order[k] is then the column that stands k-th: G(order, order) = R^H R to the
/// tolerance, R rank x n. Source: Yamazaki, Tomov, Dongarra 2015; for pivoting Higham 2002, section 10.3.
template <class Scalar, class Space>
CholeskyResult<Scalar> cholesky_dd(const DoubleDoubleMatrix<Scalar, Space>& g, RealOf<Scalar> tolerance,
                                   const SmallMatrix<Scalar, Space>& r,
                                   const SmallMatrix<RealOf<Scalar>, Space>* reference = nullptr,
                                   std::int64_t* order = nullptr);

/// G <- G + shift diag(squares), shift = factor ||D^-1 G D^-1||_F with D = diag(squares)^(1/2). Returns shift.
template <class Scalar, class Space>
RealOf<Scalar> shift_diagonal(const SmallMatrix<Scalar, Space>& g, const SmallMatrix<RealOf<Scalar>, Space>& squares,
                              RealOf<Scalar> factor);

/// What CholeskyResult says, for an upper triangular R (n x n) that came about in another way: rank counts diagonal
/// entries above tolerance * reference(0, j)^(1/2), wherever they stand.
template <class Scalar, class Space>
CholeskyResult<Scalar> inspect_factor(const SmallMatrix<Scalar, Space>& r, RealOf<Scalar> tolerance,
                                      const SmallMatrix<RealOf<Scalar>, Space>& reference);

/// R (n x n, its diagonal real and not negative) of Y = Q R by Householder reflections; Y is d x n with d >= n.
template <class Scalar, class Space>
void qr_factor(const SmallMatrix<Scalar, Space>& y, const SmallMatrix<Scalar, Space>& r);

/// C = alpha op(A) B + beta C in double-double; conjugate_a: the conjugate transpose. beta = 0 never reads C. On the
/// host.
template <class Scalar, class Space>
void multiply_dd(RealOf<Scalar> alpha, const DoubleDoubleMatrix<Scalar, Space>& a, bool conjugate_a,
                 const DoubleDoubleMatrix<Scalar, Space>& b, RealOf<Scalar> beta,
                 const DoubleDoubleMatrix<Scalar, Space>& c);

/// D(i, j) = T(i, j - first) - (i == j) for i <= j, j >= first, rounded once, and D(j, i) its conjugate: a Hermitian
/// matrix (n x n) near the identity, of which T (n x (n - first)) holds the last columns.
template <class Scalar, class Space>
void defect_from_identity(const DoubleDoubleMatrix<Scalar, Space>& t, const SmallMatrix<Scalar, Space>& d,
                          std::int64_t first);
/// B <- B - A.
template <class Scalar, class Space>
void subtract(const SmallMatrix<Scalar, Space>& a, const DoubleDoubleMatrix<Scalar, Space>& b);

/// X = R^-1 for an upper triangular R with a nonzero diagonal; X may be R. The strict lower triangle of X becomes zero.
/// Throws Error naming a zero pivot.
template <class Scalar, class Space>
void triangular_inverse(const SmallMatrix<Scalar, Space>& r, const SmallMatrix<Scalar, Space>& x);

/// An upper bound of ||D X||_2^2, where X = R^-1 and D = diag(squares)^(1/2), squares (1 x n) being squared lengths of
/// the columns of which R is a factor: so R D^-1 has columns of at most unit length. 1 for orthogonal columns.
/// From f^2 = ||D X||_F^2, the sum of n eigenvalues: the n - 1 others take at least (n-1)^2 / n of it.
template <class Scalar, class Space>
RealOf<Scalar> amplification(const SmallMatrix<RealOf<Scalar>, Space>& squares, const SmallMatrix<Scalar, Space>& x);

/// A = Z diag(values) Z^H for a Hermitian A (upper triangle read); values (1 x n, real) ascending, Z (n x n) may be A.
/// Up to 32 columns by Jacobi rotations; wider ones by LAPACK on the first rank, in one reduction of n^2 + n numbers,
/// collective. Throws NotFiniteError for NaN or Inf, and Error if there is no convergence, on every rank.
template <class Scalar, class Space>
void eigendecomposition(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<RealOf<Scalar>, Space>& values,
                        const SmallMatrix<Scalar, Space>& z);

template <class Scalar>
struct SvqbResult {
  std::int64_t rank = 0;                  ///< eigenvalues above tolerance times the largest
  RealOf<Scalar> amplification = 1;       ///< 1 / the smallest eigenvalue (lifted ones included)
  RealOf<Scalar> condition_estimate = 1;  ///< the root of largest over smallest
};

/// One sweep of SVQB. With D = diag(reference)^(1/2) and D^-1 C D^-1 = Z diag(l) Z^H, eigenvalues below tolerance *
/// max(l) lifted to that: B = D^-1 Z diag(l)^(-1/2) and R = diag(l)^(1/2) Z^H D, so that B R = I. C is n x n Hermitian
/// (upper triangle read), reference 1 x n; zeros in it, of columns of zeros, count as 1, and those columns of R are
/// zero. C is overwritten. Communicates as eigendecomposition() does. Source: Stathopoulos, Wu 2002, SIAM J. Sci.
/// Comput. 23(6).
template <class Scalar, class Space>
SvqbResult<Scalar> svqb(const SmallMatrix<Scalar, Space>& c, const SmallMatrix<RealOf<Scalar>, Space>& reference,
                        RealOf<Scalar> tolerance, const SmallMatrix<Scalar, Space>& b,
                        const SmallMatrix<Scalar, Space>& r);

/// Exponents by which a copy of a block is scaled so that the squares of large, or of small, entries stay in range.
template <class Real>
struct SafeNorms {
  static constexpr bool single = std::is_same_v<Real, float>;
  static constexpr int down = single ? -80 : -600;  ///< the copy for lengths of 2^limit or more
  static constexpr int up = single ? 100 : 600;     ///< the copy for lengths below 2^-limit
  static constexpr int limit = single ? 40 : 300;
};

/// factors(0, j) = the power of two that brings column j's length into [1, 2), as near as the type's range allows; 1
/// for a zero column. norms is 3 x n: lengths in a copy scaled by 2^down, in the block itself, in a copy scaled by
/// 2^up.
template <class Real, class Space>
void power_of_two_scales(const SmallMatrix<Real, Space>& norms, const SmallMatrix<Real, Space>& factors);

/// Every entry becomes 1 / itself.
template <class Real, class Space>
void reciprocals(const SmallMatrix<Real, Space>& a);

/// Norms. Frobenius; the largest entry in absolute value; both NaN if an entry is.
template <class Scalar, class Space>
RealOf<Scalar> frobenius_norm(const SmallMatrix<Scalar, Space>& a);
template <class Scalar, class Space>
RealOf<Scalar> max_norm(const SmallMatrix<Scalar, Space>& a);
/// The first column that holds NaN or Inf, or -1.
template <class Scalar, class Space>
std::int64_t first_non_finite_column(const SmallMatrix<Scalar, Space>& a);

}  // namespace blockvec::orth::dense

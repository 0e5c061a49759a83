#pragma once

#include <blockvec/double_double_matrix.hpp>
#include <blockvec/orth/dense.hpp>
#include <cstdint>
#include <type_traits>

/// What only the methods do with their small matrices, beside what blockvec/orth/dense.hpp offers to everybody. These
/// matrices lie on the host. Errors, overlaps and bits on ranks are as there; svqb alone communicates.
namespace blockvec::orth::dense {

// internal_numbers.cpp: the numbers that decisions are made of.

/// One entry.
template <class Scalar>
Scalar entry(const SmallMatrix<Scalar>& a, std::int64_t row, std::int64_t column);
/// Its real part.
template <class Scalar>
RealOf<Scalar> real_entry(const SmallMatrix<Scalar>& a, std::int64_t row, std::int64_t column);

/// The first column that holds NaN or Inf, or -1.
template <class Scalar>
std::int64_t first_non_finite_column(const SmallMatrix<Scalar>& a);

/// squares(0, j) = the real part of a(j, j).
template <class Scalar>
void diagonal(const SmallMatrix<Scalar>& a, const SmallMatrix<RealOf<Scalar>>& squares);

/// True if low <= squares(0, j) <= high for every j; false for NaN.
template <class Real>
bool within(const SmallMatrix<Real>& squares, Real low, Real high);
/// The smallest share(j) = 1 - part(0, j) / whole(0, j), both 1 x n and squared lengths; 1 where whole is zero, and for
/// n = 0.
template <class Real>
Real smallest_share(const SmallMatrix<Real>& whole, const SmallMatrix<Real>& part);
/// The smallest part(0, j) / whole(0, j), both 1 x n, over j with whole > 0; NaN if one is, infinite for none.
template <class Real>
Real smallest_quotient(const SmallMatrix<Real>& part, const SmallMatrix<Real>& whole);
/// The sum of part(0, j) / whole(0, j) over j with whole > 0; for V^H W and W's columns ||V^H W D^-1||_F^2.
template <class Real>
Real sum_of_shares(const SmallMatrix<Real>& whole, const SmallMatrix<Real>& part);
/// quotients(0, j) = the smallest squares(0, i) / |r(j, i)|^2 over those i for which neither is zero; 0 if there is
/// none. R is n x n.
template <class Scalar>
void divide_by_rows(const SmallMatrix<RealOf<Scalar>>& squares, const SmallMatrix<Scalar>& r,
                    const SmallMatrix<RealOf<Scalar>>& quotients);

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
template <class Real>
void power_of_two_scales(const SmallMatrix<Real>& norms, const SmallMatrix<Real>& factors);

/// Every entry becomes 1 / itself.
template <class Real>
void reciprocals(const SmallMatrix<Real>& a);

// internal_factors.cpp: factors of the methods, and what is to be known of a factor.

/// B <- U B for an upper triangular U; its strict lower triangle is not read.
template <class Scalar>
void multiply_upper(const SmallMatrix<Scalar>& u, const SmallMatrix<Scalar>& b);

/// G <- G + shift diag(squares), shift = factor ||D^-1 G D^-1||_F with D = diag(squares)^(1/2). Returns shift.
template <class Scalar>
RealOf<Scalar> shift_diagonal(const SmallMatrix<Scalar>& g, const SmallMatrix<RealOf<Scalar>>& squares,
                              RealOf<Scalar> factor);

/// What CholeskyResult says, for an upper triangular R (n x n) that came about in another way: rank counts diagonal
/// entries above tolerance * reference(0, j)^(1/2), wherever they stand.
template <class Scalar>
CholeskyResult<Scalar> inspect_factor(const SmallMatrix<Scalar>& r, RealOf<Scalar> tolerance,
                                      const SmallMatrix<RealOf<Scalar>>& reference);

/// An upper bound of ||D X||_2^2, where X = R^-1 and D = diag(squares)^(1/2), squares (1 x n) being squared lengths of
/// the columns of which R is a factor: so R D^-1 has columns of at most unit length. 1 for orthogonal columns.
/// From f^2 = ||D X||_F^2, the sum of n eigenvalues: the n - 1 others take at least (n-1)^2 / n of it.
template <class Scalar>
RealOf<Scalar> amplification(const SmallMatrix<RealOf<Scalar>>& squares, const SmallMatrix<Scalar>& x);

/// R (n x n, its diagonal real and not negative) of Y = Q R by Householder reflections; Y is d x n with d >= n.
template <class Scalar>
void qr_factor(const SmallMatrix<Scalar>& y, const SmallMatrix<Scalar>& r);

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
template <class Scalar>
SvqbResult<Scalar> svqb(const SmallMatrix<Scalar>& c, const SmallMatrix<RealOf<Scalar>>& reference,
                        RealOf<Scalar> tolerance, const SmallMatrix<Scalar>& b, const SmallMatrix<Scalar>& r);

// internal_dd.cpp: matrices in double-double.

/// C = alpha op(A) B + beta C in double-double; conjugate_a: the conjugate transpose. beta = 0 never reads C.
template <class Scalar>
void multiply_dd(RealOf<Scalar> alpha, const DoubleDoubleMatrix<Scalar>& a, bool conjugate_a,
                 const DoubleDoubleMatrix<Scalar>& b, RealOf<Scalar> beta, const DoubleDoubleMatrix<Scalar>& c);

/// D(i, j) = T(i, j - first) - (i == j) for i <= j, j >= first, rounded once, and D(j, i) its conjugate: a Hermitian
/// matrix (n x n) near the identity, of which T (n x (n - first)) holds the last columns.
template <class Scalar>
void defect_from_identity(const DoubleDoubleMatrix<Scalar>& t, const SmallMatrix<Scalar>& d, std::int64_t first);
/// B <- B - A.
template <class Scalar>
void subtract(const SmallMatrix<Scalar>& a, const DoubleDoubleMatrix<Scalar>& b);

/// cholesky() with G and all arithmetic in double-double, R being rounded at the end: a pivot is right to eps^2 times
/// the square of the condition of the columns before it, instead of eps. Rows of R from `rank` on are zero. With
/// `order` (n numbers), columns are taken by decreasing pivots, as shares of their reference; those that are left have
/// pivots at or below the tolerance. order[k] is then the column that stands k-th: G(order, order) = R^H R to the
/// tolerance, R rank x n. Source: Yamazaki, Tomov, Dongarra 2015; for pivoting Higham 2002, section 10.3.
template <class Scalar>
CholeskyResult<Scalar> cholesky_dd(const DoubleDoubleMatrix<Scalar>& g, RealOf<Scalar> tolerance,
                                   const SmallMatrix<Scalar>& r, const SmallMatrix<RealOf<Scalar>>* reference = nullptr,
                                   std::int64_t* order = nullptr);

}  // namespace blockvec::orth::dense

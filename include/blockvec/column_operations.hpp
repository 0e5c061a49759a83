#pragma once

#include <blockvec/block_vector.hpp>
#include <blockvec/small_matrix.hpp>
#include <cstdint>
#include <span>
#include <type_traits>

/// @file
/// Operations whose coefficients or places differ from column to column: what solvers do with Ritz values and with the
/// columns that have converged. As in operations.hpp, which says how they throw and wait, and for which types they are.
namespace blockvec {

/// w_j = alpha(0, j) v_j + beta w_j; alpha is 1 x m, widths agree. V and W do not overlap, or are the same.
/// One pass, 3 K m words (2 with beta = 0, which never reads W).
template <class Scalar, class Layout, class Space>
void axpby_columns(const SmallMatrix<Scalar, Space>& alpha, const BlockVector<Scalar, Layout, Space>& v,
                   std::type_identity_t<Scalar> beta, const BlockVector<Scalar, Layout, Space>& w);

/// w_j = sum over k of alpha(k, j) v^k_j, + beta w_j, for one to three block vectors V^k; alpha has a row for each of
/// them, widths agree. Each V^k does not overlap W, or is W. One pass: K m words for each V^k, and K m for W (2 K m
/// unless beta = 0, which never reads W as such).
template <class Scalar, class Layout, class Space>
void axpby_columns(const SmallMatrix<Scalar, Space>& alpha,
                   std::span<const std::type_identity_t<BlockVector<Scalar, Layout, Space>>> v,
                   std::type_identity_t<Scalar> beta, const BlockVector<Scalar, Layout, Space>& w);

/// R = A X - X diag(theta) in the place of A X, and norms(0, j) = ||r_j||_2 summed over all ranks. theta and norms are
/// 1 x m of the real type. Two passes, 4 K m words; one reduction of m words.
template <class Scalar, class Layout, class Space>
void residual(const BlockVector<Scalar, Layout, Space>& x, const SmallMatrix<RealOf<Scalar>, Space>& theta,
              const BlockVector<Scalar, Layout, Space>& ax, const SmallMatrix<RealOf<Scalar>, Space>& norms);

/// R = A X - X diag(theta) beside A X, which stays; of a pair with B X in the place of X. R overlaps neither. One pass,
/// 3 K m words, no reduction.
template <class Scalar, class Layout, class Space>
void residual(const BlockVector<Scalar, Layout, Space>& x, const SmallMatrix<RealOf<Scalar>, Space>& theta,
              const BlockVector<Scalar, Layout, Space>& ax, const BlockVector<Scalar, Layout, Space>& r);

/// w_j = v_columns[j] for any list of V's columns, as long as W is wide; V and W do not overlap. One pass, 2 K m words.
template <class Scalar, class Layout, class Space>
void gather_columns(const BlockVector<Scalar, Layout, Space>& v, std::span<const std::int64_t> columns,
                    const BlockVector<Scalar, Layout, Space>& w);

/// w(i, j) = v(i, j) / max(|d(i) - theta(0, j) e(i)|, share |d(i)|), or v(i, j) where that is zero: what a diagonal
/// preconditioner does. D and E are one column each, of which real parts count; an E without columns counts as ones.
/// theta is 1 x m of the real type, share >= 0. V and W do not overlap, or are the same. One pass, K (2 m + 2) words.
template <class Scalar, class Layout, class Space>
void divide_by_diagonal(const BlockVector<Scalar, Layout, Space>& d, const BlockVector<Scalar, Layout, Space>& e,
                        const SmallMatrix<RealOf<Scalar>, Space>& theta, RealOf<Scalar> share,
                        const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w);

}  // namespace blockvec

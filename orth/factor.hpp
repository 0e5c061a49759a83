#pragma once

#include <blockvec/kernels/tall_skinny.hpp>
#include <cmath>
#include <optional>

#include "orth/dense/internal.hpp"
#include "orth/findings.hpp"
#include "orth/products.hpp"
#include "orth/trust.hpp"

/// Factors of a block from its products: small matrices alone, no tall data.
namespace blockvec::orth {

/// W - V S = Q R, or W = Q R.
template <class Scalar>
struct Factor {
  using Small = SmallMatrix<Scalar>;
  using Real = RealOf<Scalar>;

  static Factor scratch(WorkspaceScope<>& scope, std::int64_t b) {
    return {Small::scratch(scope, b, b), Small::scratch(scope, b, b)};
  }
  /// A factor that has been computed in this one's memory.
  Factor with(Real amplification, Real inner_bound) const { return {r, inverse, amplification, inner_bound}; }
  bool is_upper() const { return triangle == kernels::Triangle::upper; }
  Trust<Real> trust() const { return {true, inner, a, passed_on}; }

  Small r, inverse;
  Real a = 1;          ///< dense::amplification of the inverse: bounds what rounding does to V^H Q
  Real inner = 1;      ///< as in Trust
  Real passed_on = 0;  ///< as in Trust
  kernels::Triangle triangle = kernels::Triangle::upper;
};

/// Cholesky of the matrix in `gram`, for columns of squared lengths `before`. None if there is no factor to be trusted.
/// `skip_zeros`: columns of zeros stay.
template <class Scalar, class Block>
std::optional<Factor<Scalar>> by_cholesky(const Block& block, const SmallMatrix<Scalar>& gram,
                                          const SmallMatrix<RealOf<Scalar>>& before, bool skip_zeros,
                                          const Factor<Scalar>& room, Findings& findings) {
  const auto found = dense::cholesky(gram, epsilon<Scalar>, room.r, &before, skip_zeros);
  if (!found.finite || found.rank < block.b) {
    findings.note(Reason::breakdown);
    findings.note_rank(found.rank);
    return std::nullopt;
  }
  dense::triangular_inverse(room.r, room.inverse);
  const auto a = dense::amplification(before, room.inverse);
  if (block.options.escalate && !block.trusts(a)) {
    findings.note(Reason::ill_conditioned);
    return std::nullopt;
  }
  findings.note_condition(found.condition_estimate);
  return room.with(a, a);
}

/// The same by one sweep of SVQB: R is full. `gram` is overwritten.
template <class Scalar, class Block>
std::optional<Factor<Scalar>> by_svqb(const Block& block, const SmallMatrix<Scalar>& gram,
                                      const SmallMatrix<RealOf<Scalar>>& before, const Factor<Scalar>& room,
                                      Findings& findings) {
  using Real = RealOf<Scalar>;
  if (dense::first_non_finite_column(gram) >= 0) {  // of a V that is far from orthonormal
    findings.note(Reason::breakdown);
    findings.note_rank(0);
    return std::nullopt;
  }
  const auto found = dense::svqb(gram, before, static_cast<Real>(block.b) * epsilon<Scalar>, room.inverse, room.r);
  findings.note_rank(found.rank);
  if (block.options.escalate && (found.rank < block.b || !block.trusts(found.amplification))) {
    findings.note(Reason::ill_conditioned);
    return std::nullopt;
  }
  findings.note_condition(found.condition_estimate);
  Factor<Scalar> factor = room.with(found.amplification, found.amplification);
  factor.triangle = kernels::Triangle::general;
  return factor;
}

/// Either of them, by the method within.
template <class Scalar, class Block>
std::optional<Factor<Scalar>> by_gram(const Block& block, bool svqb, const SmallMatrix<Scalar>& gram,
                                      const SmallMatrix<RealOf<Scalar>>& before, bool skip_zeros,
                                      const Factor<Scalar>& room, Findings& findings) {
  return svqb ? by_svqb(block, gram, before, room, findings)
              : by_cholesky(block, gram, before, skip_zeros, room, findings);
}

/// The factor of what projection leaves of W, W - V s = Q R, from its products: that of g - s^H s, by Pythagoras.
/// `work` (b x b) and `parts` (1 x b) are scratch.
template <class Scalar, class Block>
std::optional<Factor<Scalar>> by_pythagoras(const Block& block, const Products<Scalar>& products, bool svqb,
                                            bool skip_zeros, const SmallMatrix<Scalar>& work,
                                            const SmallMatrix<RealOf<Scalar>>& parts, const Factor<Scalar>& room,
                                            Findings& findings) {
  dense::copy(products.g, work);
  if (block.m > 0) dense::multiply(Scalar(-1), products.s, true, products.s, false, Scalar(1), work);
  auto found = by_gram(block, svqb, work, products.squares, skip_zeros, room, findings);
  if (!found) return found;
  dense::column_squares(products.s, parts);
  found->passed_on = dense::sum_of_shares(products.squares, parts) * found->a;
  return found;
}

/// Cholesky in double-double, R and its inverse being rounded. Columns with pivots of at most `tolerance` times their
/// reference end it. None where they do.
template <class Scalar, class Block>
std::optional<Factor<Scalar>> by_wide_cholesky(const Block& block, const DoubleDoubleMatrix<Scalar>& gram,
                                               RealOf<Scalar> tolerance, const SmallMatrix<RealOf<Scalar>>& reference,
                                               const SmallMatrix<RealOf<Scalar>>& squares, const Factor<Scalar>& room,
                                               Findings& findings) {
  const auto found = dense::cholesky_dd(gram, tolerance, room.r, &reference);
  if (!found.finite || found.rank < block.b) {
    findings.note(Reason::breakdown);
    findings.note_rank(found.rank);
    return std::nullopt;
  }
  findings.note_condition(found.condition_estimate);
  dense::triangular_inverse(room.r, room.inverse);
  const auto a = dense::amplification(squares, room.inverse);
  return room.with(a, a);
}

}  // namespace blockvec::orth

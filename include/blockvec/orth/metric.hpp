#pragma once

#include <blockvec/orth/basis.hpp>
#include <functional>

namespace blockvec::orth {

/// The inner product x^H B y of a Hermitian positive definite B, and with it lengths, angles and orthonormality
/// V^H B V = I. Where a verb is given one, B is applied to a whole block at a time, as seldom as rounding allows:
/// about once a sweep, and less where the caller has B V. Result counts the columns it was applied to.
/// Where B V is given and B Q asked for, one reduction and b words more show that B Q is finite.
/// A block met along the way that shows B to be semi-definite (to rounding) or indefinite gives an Error that says so,
/// with W as far as it had come.
template <class Scalar, class Layout, class Space>
struct Metric {
  using Tall = BlockVector<Scalar, Layout, Space>;  ///< the type of block vectors
  /// Y = B X, for blocks of any width that share the rows of W and do not overlap. Collective, the same on every rank.
  std::function<void(const Tall& x, const Tall& y)> apply;
  /// B V in pieces as wide as those of V, where the caller has it: spares applications of B. May be empty.
  Basis<Scalar, Layout, Space> image_of_basis = {};
  /// As wide as W: becomes B Q, to be kept as the next part of B V. May be empty.
  Tall image_of_block = {};
};

}  // namespace blockvec::orth

#pragma once

#include <blockvec/orth/orthogonalizer.hpp>

/// What a sweep consists of, and what it says of itself.
namespace blockvec::orth {

/// How far one sweep can be trusted: bounds of a = ||D R^-1||_2^2, see Orthogonalizer.
template <class Real>
struct Sweep {
  bool done = false;   ///< false: the factorisation failed, W is as it was before it
  Real inner = 0;      ///< what rounding does to I - Q^H Q grows with this
  Real outer = 0;      ///< what rounding does to V^H Q grows with its root
  Real passed_on = 0;  ///< bound of ||S R^-1||_2^2: V^H Q gets (I - V^H V) S R^-1 from what V lacks

  static constexpr Real inner_limit = 8;
  static constexpr Real outer_limit = inner_limit * inner_limit;
  /// A basis of n blocks that were each projected once can have (1 + 2 passed_on)^(n/2) times the loss of one block:
  /// 5 at 100 blocks with this limit.
  static constexpr Real passed_on_limit = Real(1) / 64;
  /// Orthogonal to V to rounding, and orthonormal as well.
  bool projected() const { return done && outer <= outer_limit && passed_on <= passed_on_limit; }
  bool certified() const { return projected() && inner <= inner_limit; }
};

/// Inner products of a block: its Gram matrix g (and squares), or those with the basis, s, as well.
enum class Products { none, gram, all };

/// A change of W, and what is to be known of the new W where that costs no other pass.
struct Step {
  bool subtract = false;  ///< W <- W - V s
  bool apply = false;     ///< then W <- W inverse
  Products next = Products::none;
  bool keeps_image = true;  ///< B W may change along: it would not be much more accurate from W anew
};

}  // namespace blockvec::orth

#pragma once

#include <Kokkos_Macros.hpp>

/// How far a sweep can be trusted, and what follows from that.
namespace blockvec::orth {

/// Bounds of a = ||D R^-1||_2^2 for one sweep, see Orthogonalizer.
template <class Real>
struct Trust {
  bool done = false;   ///< false: the factorisation failed, W is as it was before it
  Real inner = 0;      ///< what rounding does to I - Q^H Q grows with this
  Real outer = 0;      ///< what rounding does to V^H Q grows with its root
  Real passed_on = 0;  ///< bound of ||S R^-1||_2^2: V^H Q gets (I - V^H V) S R^-1 from what V lacks

  static constexpr Real inner_limit = 8;
  static constexpr Real outer_limit = inner_limit * inner_limit;
  /// A basis of n blocks that were each projected once can have (1 + 2 passed_on)^(n/2) times the loss of one block:
  /// 5 at 100 blocks with this limit.
  static constexpr Real passed_on_limit = Real(1) / 64;
  static constexpr Real direct_limit = 1024;  ///< of a, for division by the inverse of R
  /// ||V^H w||^2 beyond this times ||w||^2 shows that V is far from orthonormal: projections would let w grow.
  static constexpr Real basis_limit = 4;
  /// `least_share`: the least 1 - ||V^H w||^2 / ||w||^2 of W's columns.
  static bool contradicts_basis(Real least_share) { return !(least_share >= 1 - basis_limit); }
  /// Orthonormal to rounding, whatever V.
  bool orthonormal() const { return done && inner <= inner_limit; }
  /// Orthogonal to V to rounding.
  bool projected() const { return done && outer <= outer_limit && passed_on <= passed_on_limit; }
  /// Both.
  bool certified() const { return projected() && orthonormal(); }
};

/// What comes after a sweep.
enum class Verdict {
  done,     ///< nothing: W is as it shall be
  tidy,     ///< V has been dealt with, and W's own Gram matrix is all there is to do
  again,    ///< another sweep with V
  escalate  ///< the factorisation failed
};
template <class Real>
Verdict verdict_on(const Trust<Real>& trust) {
  if (!trust.done) return Verdict::escalate;
  if (trust.certified()) return Verdict::done;
  return trust.projected() ? Verdict::tidy : Verdict::again;
}

/// Whether a sweep is followed by another one: never, where it was not enough, or where it was asked for.
enum class Another { none, may, must };
KOKKOS_INLINE_FUNCTION bool goes_on(Another another, bool enough) {
  return another == Another::must || (another == Another::may && !enough);
}

}  // namespace blockvec::orth

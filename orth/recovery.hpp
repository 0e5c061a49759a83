#pragma once

#include "orth/columnwise.hpp"
#include "orth/sweeps.hpp"

/// What happens when a method has not reached rounding level.
namespace blockvec::orth {

/// The strong method: block projection, Gram-Schmidt by columns until nothing cancels, with rank detection, then PIP,
/// which is safe on what that leaves; again if cancellation in the first projection asks for it. Orthonormal to
/// rounding for any W. Reductions: about 2b + 2 a round.
template <class Scalar, class Layout, class Space>
Sweep<RealOf<Scalar>> recover(Call<Scalar, Layout, Space>& call) {
  constexpr int most_rounds = 4;
  call.result.method = {Inter::bcgs2, Intra::cgs2, call.m > 0, true};
  Sweep<RealOf<Scalar>> sweep;
  for (int round = 0; round < most_rounds && !sweep.certified(); ++round) {
    call.reduce();
    ++call.result.sweeps;
    dense::copy(call.squares, call.lengths);
    call.subtract_projection();
    orthogonalize_columns(call, repeated(1));
    sweep = pip_sweep(call, Another::may, true);
    if (sweep.done && !sweep.certified()) sweep = pip_sweep(call, Another::may, true);
  }
  return sweep;
}

/// From a sweep that is not at rounding level to one that is: PIP again where the last factor could be trusted, else
/// the strong method.
template <class Scalar, class Layout, class Space>
Sweep<RealOf<Scalar>> escalate(Call<Scalar, Layout, Space>& call, Sweep<RealOf<Scalar>> sweep) {
  call.note(Reason::ill_conditioned);
  constexpr int most_polishing = 2;
  call.result.method = {Inter::pipi_plus, Intra::cholqr2, call.m > 0, true};
  for (int i = 0; i < most_polishing && sweep.done && !sweep.certified(); ++i) {
    sweep = sweep.projected() ? tidy_sweep(call, sweep) : pip_sweep(call, Another::may, true);
  }
  return sweep.certified() ? sweep : recover(call);
}

}  // namespace blockvec::orth

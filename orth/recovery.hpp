#pragma once

#include "orth/columnwise.hpp"
#include "orth/sweeps.hpp"

/// What happens when a method has not reached rounding level.
namespace blockvec::orth {

/// W <- Q by CholQR in double-double, if that shows every column to be more than noise.
template <class Scalar, class Layout, class Space>
bool normalize_wide(Call<Scalar, Layout, Space>& call) {
  if (call.block.metric != nullptr || call.findings.has_lost()) return false;
  return wide_sweep_to_rank(call, Another::none).done;
}

/// W <- W r: what sweeps have left is the caller's block beside V again, to rounding. A column that is found
/// dependent only after it has lent its direction to others would take what these have of it along. 2b words.
template <class Scalar, class Layout, class Space>
void undo_changes(Call<Scalar, Layout, Space>& call) {
  auto& [s, r, spare, triangular] = call.coefficients;
  dense::set_identity(call.work);
  dense::axpby(Scalar(-1), r, Scalar(1), call.work);
  if (!(dense::max_norm(call.work) > 0)) return;
  multiply_in_place(call.block.w, r, triangular ? kernels::Triangle::upper : kernels::Triangle::general);
  call.findings.words += 2 * call.block.b;
  dense::set_identity(r);
  triangular = true;
  call.image.forget();
  call.products.forget();
  std::fill_n(call.findings.lost, call.block.b, false);
}

/// The strong method: block projection, orthonormalisation with rank detection, then PIP, which is safe on what that
/// leaves; again if cancellation in the first projection asks for it. At first CholQR in double-double: where all of
/// its pivots are beyond the rank tolerance, that is all it takes, and 2 reductions. Else Gram-Schmidt by columns until
/// nothing cancels, about 2b + 2 reductions a round. Orthonormal to rounding for any W.
template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> recover(Call<Scalar, Layout, Space>& call) {
  constexpr int most_rounds = 4;
  Trust<RealOf<Scalar>> sweep;
  for (int round = 0; round < most_rounds && !sweep.certified(); ++round) {
    undo_changes(call);
    reduce(call);
    ++call.findings.result.sweeps;
    dense::copy(call.products.squares, call.lengths.before);
    if (call.block.m > 0) {
      dense::column_squares(call.products.s, call.lengths.parts);
      const auto share = dense::smallest_share(call.lengths.before, call.lengths.parts);
      if (Trust<RealOf<Scalar>>::contradicts_basis(share)) break;  // projections would let W grow
    }
    subtract_projection(call);
    call.findings.result.method = {Between::bcgs2, Within::dd_cholqr2, call.block.m > 0, true};
    if (round > 0 || !normalize_wide(call)) {
      call.findings.result.method.within = Within::cgs2;
      orthogonalize_columns(call, repeated(1, true));
    }
    sweep = pip_sweep(call, Another::may, true);
    if (sweep.done && !sweep.certified()) sweep = pip_sweep(call, Another::may, true);
  }
  return sweep;
}

/// From a sweep that is not at rounding level to one that is: PIP again where the last factor could be trusted, else
/// the strong method.
template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> escalate(Call<Scalar, Layout, Space>& call, Trust<RealOf<Scalar>> sweep) {
  call.findings.note(Reason::ill_conditioned);
  constexpr int most_polishing = 2;
  call.findings.result.method = {Between::pipi_plus, Within::cholqr2, call.block.m > 0, true};
  for (int i = 0; i < most_polishing && sweep.done && !sweep.certified(); ++i) {
    const bool tidies = verdict_on(sweep) == Verdict::tidy;
    sweep = tidies ? tidy_sweep(call, sweep) : pip_sweep(call, Another::may, true);
  }
  return sweep.certified() ? sweep : recover(call);
}

}  // namespace blockvec::orth

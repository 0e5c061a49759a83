#pragma once

#include "orth/columnwise.hpp"
#include "orth/steps.hpp"
#include "orth/tsqr.hpp"

/// The methods within a block. Each sweep leaves X = V s_total + W r_total true; one that is not done leaves W alone.
/// What they return: inner and outer as in Sweep, without regard to V.
namespace blockvec::orth {

/// Whether a sweep is followed by another one: never, where it was not enough, or where it was asked for.
enum class Another { none, may, must };
template <class Real>
Products products_for(Another another, Real inner) {
  const bool enough = inner <= Sweep<Real>::inner_limit;
  return another == Another::must || (another == Another::may && !enough) ? Products::gram : Products::none;
}

/// One factorisation of W's Gram matrix: CholQR, or a sweep of SVQB. One reduction and b words unless the Gram matrix
/// is at hand; 2b words, which leave the next Gram matrix behind if there is to be another sweep.
template <class Scalar, class Layout, class Space>
Sweep<RealOf<Scalar>> gram_sweep(Call<Scalar, Layout, Space>& call, Intra intra, Another another) {
  call.reduce_gram();
  if (call.watches_noise && call.options.escalate && call.is_mostly_noise()) return {};
  dense::copy(call.g, call.work);
  const bool svqb = intra == Intra::svqb;
  const auto a = svqb ? call.factorize_svqb(call.squares) : call.factorize(call.squares, call.has_lost());
  if (!(a > 0)) return {};
  call.apply_step(!svqb, a, products_for(another, a));
  return {true, a, a, 0};
}

/// The first sweep of shifted CholQR3: CholQR of a Gram matrix to which more is added than rounding can have taken, so
/// that Cholesky goes through, and leaves a block that CholQR2 can deal with. Cost as gram_sweep.
template <class Scalar, class Layout, class Space>
Sweep<RealOf<Scalar>> shifted_sweep(Call<Scalar, Layout, Space>& call, Another another) {
  using Real = RealOf<Scalar>;
  call.reduce_gram();
  dense::copy(call.g, call.work);
  const auto b = static_cast<Real>(call.b), rows = static_cast<Real>(call.w.global_rows());
  const Real factor = 11 * (rows * b + b * (b + 1)) * epsilon<Scalar> / 2;
  const Real shift = dense::shift_diagonal(call.work, call.squares, factor);
  const Real a = call.factorize(call.squares, call.has_lost());
  if (!(a > 0)) return {};
  const Real inner = a * (1 + shift / epsilon<Scalar>);  // Q^H Q = I - shift R^-H D^2 R^-1
  call.apply_step(true, a, products_for(another, inner));
  return {true, inner, a, 0};
}

/// CholQR with Gram matrix and factor in double-double: rounding in W R^-1 is what remains, and grows with the
/// condition itself. Columns with pivots of at most `tolerance` times their reference end it. Cost as gram_sweep.
template <class Scalar, class Layout, class Space>
Sweep<RealOf<Scalar>> wide_sweep(Call<Scalar, Layout, Space>& call, RealOf<Scalar> tolerance,
                                 const SmallMatrix<RealOf<Scalar>>& reference, Another another) {
  using Real = RealOf<Scalar>;
  call.reduce_wide_gram();
  const auto found = dense::cholesky_dd(DoubleDoubleMatrix<Scalar>{call.g, call.low}, tolerance, call.step, &reference);
  if (!found.finite || found.rank < call.b) {
    call.note(Reason::breakdown);
    call.visible_rank = std::min(call.visible_rank, found.rank);
    return {};
  }
  dense::triangular_inverse(call.step, call.inverse);
  const Real a = dense::amplification(call.squares, call.inverse);
  call.note_condition(found.condition_estimate);
  call.apply_step(true, a, products_for(another, std::sqrt(a)));
  return {true, std::sqrt(a), a, 0};
}

/// The same with columns taken by decreasing pivots: those that are left at the rank tolerance are lost. Where columns
/// change places, 4b words more.
template <class Scalar, class Layout, class Space>
Sweep<RealOf<Scalar>> pivoted_sweep(Call<Scalar, Layout, Space>& call) {
  using Real = RealOf<Scalar>;
  using Small = SmallMatrix<Scalar>;
  const std::int64_t b = call.b;
  call.reduce_wide_gram();
  call.set_reference();
  WorkspaceScope<> scope(call.context);
  auto* const order = scope.take<std::int64_t>(static_cast<std::size_t>(b));
  const Small factor = Small::scratch(scope, b, b), swaps = Small::scratch(scope, b, b);
  const auto found = dense::cholesky_dd(DoubleDoubleMatrix<Scalar>{call.g, call.low}, call.tolerance * call.tolerance,
                                        factor, &call.reference, order);
  if (!found.finite) {
    call.note(Reason::breakdown);
    return {};
  }
  call.note_condition(found.condition_estimate);
  const std::int64_t rank = found.rank;
  bool in_place = true;
  dense::fill(swaps, Scalar(0));  // W swaps has the columns in their new order
  for (std::int64_t k = 0; k < b; ++k) {
    in_place = in_place && order[k] == k;
    dense::fill(swaps.block(order[k], order[k] + 1, k, k + 1), Scalar(1));
    if (k < rank) continue;
    call.lost[order[k]] = true;
    call.note(Reason::rank_deficient);
  }
  const auto move = [&](const Small& permutation) {
    if (in_place) return;
    multiply_in_place(call.w, permutation);
    call.words += 2 * b;
  };
  move(swaps);
  const auto kept = call.w.columns(0, rank);
  const Small leading = factor.block(0, rank, 0, rank);
  if (rank > 0) call.divide(kept, leading);
  if (rank < b) fill(call.w.columns(rank, b), Scalar(0));
  call.words += b - rank;
  dense::copy(leading, call.step.block(0, rank, 0, rank));
  // The inverse of what was applied, for the bound: lost columns count as if they had been orthogonal.
  const Small x = call.inverse.block(0, rank, 0, rank);
  if (rank > 0) dense::triangular_inverse(leading, x);
  const auto lengths = call.parts.block(0, 1, 0, rank);
  dense::column_squares(leading, lengths);
  const Real a = dense::amplification(lengths, x);
  // Back to the old places: P R P^T takes the place of R.
  dense::multiply(Scalar(1), swaps, false, factor, false, Scalar(0), call.work);
  dense::multiply(Scalar(1), call.work, false, swaps, true, Scalar(0), call.step);
  dense::copy(swaps, factor);
  dense::set_identity(call.work);
  dense::multiply(Scalar(1), call.work, false, factor, true, Scalar(0), swaps);
  move(swaps);
  dense::multiply(Scalar(1), call.step, false, call.r_total, false, Scalar(0), call.work);
  std::swap(call.work, call.r_total);
  call.triangular = call.triangular && in_place;
  call.known = Products::none;
  return {true, std::sqrt(a), a, 0};
}

/// W <- W R^-1 with R from the QR factorisation of a sketch Omega W: well-conditioned with high probability, whatever
/// W. One reduction unless the sketch is at hand; 2b words and those of the sketch.
template <class Scalar, class Layout, class Space>
Sweep<RealOf<Scalar>> sketched_sweep(Call<Scalar, Layout, Space>& call) {
  using Real = RealOf<Scalar>;
  call.reduce_sketch();
  call.set_reference();
  dense::qr_factor(call.sketch, call.step);
  if (call.intra() == Intra::rand_cholqr_gauss) {  // normal numbers have not been scaled yet
    const Real variance = static_cast<Real>(call.sketch.rows()) * (ScalarTraits<Scalar>::is_complex ? 2 : 1);
    dense::axpby(Scalar(0), call.step, Scalar(1 / std::sqrt(variance)), call.step);
  }
  // A sketch may change what a column keeps by half; the strong method, if allowed, takes what may be noise.
  const Real tolerance = call.options.escalate ? 2 * call.tolerance : call.tolerance / 2;
  const auto found = dense::inspect_factor(call.step, tolerance, call.reference);
  if (!found.finite || found.rank < call.b) {
    call.note(Reason::breakdown);
    call.visible_rank = std::min(call.visible_rank, found.rank);
    return {};
  }
  call.note_condition(found.condition_estimate);
  dense::triangular_inverse(call.step, call.inverse);
  dense::column_squares(call.step, call.parts);
  const Real a = dense::amplification(call.parts, call.inverse);
  call.apply_step(true, a, Products::gram);
  return {true, std::numeric_limits<Real>::infinity(), a, 0};  // only the next sweep sees how near to orthonormal
}

/// What comes first, and how many sweeps of CholQR (or SVQB) at most after it.
template <class Scalar, class Layout, class Space>
Sweep<RealOf<Scalar>> first_sweep(Call<Scalar, Layout, Space>& call, Intra intra, Another another) {
  switch (intra) {
    case Intra::shifted_cholqr3:
      return shifted_sweep(call, another);
    case Intra::dd_cholqr:
    case Intra::dd_cholqr2:
      if (call.options.escalate) {  // the strong method takes what is at the rank tolerance
        call.set_reference();
        return wide_sweep(call, call.tolerance * call.tolerance, call.reference, another);
      }
      return wide_sweep(call, static_cast<RealOf<Scalar>>(call.b) * epsilon<Scalar> * epsilon<Scalar>, call.squares,
                        another);
    case Intra::tsqr:
      return tsqr_sweep(call);
    case Intra::rand_cholqr:
    case Intra::rand_cholqr_gauss:
      return sketched_sweep(call);
    case Intra::pivoted_cholqr:
      return pivoted_sweep(call);
    case Intra::cgs:
    case Intra::cgs2:
    case Intra::cholqr:
    case Intra::cholqr2:
    case Intra::svqb:
      break;
  }
  return gram_sweep(call, intra, another);
}
inline int sweeps_after_first(Intra intra) {
  switch (intra) {
    case Intra::cgs:
    case Intra::cgs2:
    case Intra::cholqr:
    case Intra::dd_cholqr:
    case Intra::tsqr:
      return 0;
    case Intra::cholqr2:
    case Intra::dd_cholqr2:
    case Intra::rand_cholqr:
    case Intra::rand_cholqr_gauss:
    case Intra::pivoted_cholqr:
      return 1;
    case Intra::shifted_cholqr3:
      return 2;
    case Intra::svqb:
      return 5;
  }
  return 0;
}

/// How many columns of the caller's block the factor shows to be more than noise.
template <class Scalar, class Layout, class Space>
std::int64_t count_rank(const Call<Scalar, Layout, Space>& call) {
  return dense::inspect_factor(call.r_total, call.tolerance, call.original).rank;
}

/// The first sweep, and as many of CholQR (or SVQB) as are asked for or needed.
template <class Scalar, class Layout, class Space>
Sweep<RealOf<Scalar>> sweeps_within(Call<Scalar, Layout, Space>& call, Intra intra) {
  using Real = RealOf<Scalar>;
  const bool may_stop = call.options.adaptive || intra == Intra::svqb;
  const int others = sweeps_after_first(intra);
  const auto after = [&](int i) { return i == others ? Another::none : may_stop ? Another::may : Another::must; };
  auto sweep = first_sweep(call, intra, after(0));
  for (int i = 1; i <= others && sweep.done; ++i) {
    if (may_stop && sweep.inner <= Sweep<Real>::inner_limit) break;
    const auto next = gram_sweep(call, intra == Intra::svqb ? Intra::svqb : Intra::cholqr, after(i));
    if (!next.done) return next;
    // What the shift kept is lifted by later sweeps.
    const Real outer = intra == Intra::shifted_cholqr3 ? sweep.outer * next.outer : sweep.outer;
    sweep = {true, next.inner, outer, 0};
  }
  return sweep;
}

/// The whole method within a block. `outer` of what it returns tells how much rounding in W grew.
template <class Scalar, class Layout, class Space>
Sweep<RealOf<Scalar>> normalize_block(Call<Scalar, Layout, Space>& call) {
  const Intra intra = call.intra();
  if (is_by_columns(intra)) {
    const int least = intra == Intra::cgs ? 1 : 2;
    return orthogonalize_columns(call, call.options.escalate ? repeated(least) : Repetition{least, least});
  }
  const auto sweep = sweeps_within(call, intra);
  if (sweep.done && call.watches_noise && call.options.escalate && call.holds_noise()) return {};
  // These make a column even of the noise of a dependent one. Their factor shows that in the end.
  const bool shifted = intra == Intra::shifted_cholqr3;
  const bool reaches_noise = shifted || begins_with_wide_gram(intra) || is_randomised(intra);
  if (!reaches_noise || !call.triangular || !sweep.done) return sweep;
  const std::int64_t rank = count_rank(call);
  call.visible_rank = std::min(call.visible_rank, rank);
  if (!shifted || rank == call.b || !call.options.escalate) return sweep;
  call.note(Reason::ill_conditioned);
  return {};
}

}  // namespace blockvec::orth

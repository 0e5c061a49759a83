#pragma once

#include "orth/columnwise.hpp"
#include "orth/reduce.hpp"
#include "orth/tsqr.hpp"

/// The methods within a block. Each sweep leaves X = V s_total + W r_total true; one that is not done leaves W alone.
/// What they return: inner and outer as in Trust, without regard to V.
namespace blockvec::orth {

/// From a factor to the changed W, and how far that can be trusted. `projects`: V is taken off in the same change.
/// `tidies`: where that has dealt with V, what follows asks for W's Gram matrix alone.
template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> conclude(Call<Scalar, Layout, Space>& call, const std::optional<Factor<Scalar>>& found,
                               bool projects, Another another, bool tidies = false) {
  if (!found) return {};
  call.factor = *found;
  const auto trust = found->trust();
  const bool enough = projects ? trust.certified() : trust.orthonormal();
  const bool gram_is_enough = !projects || (tidies && another == Another::may && trust.projected());
  const Known next = gram_is_enough ? Known::gram : Known::all;
  apply_factor(call, projects, goes_on(another, enough) ? next : Known::none);
  return trust;
}

/// Whether some column of W, whose squares are at hand, is hardly more than what rounding leaves of a dependent one.
template <class Scalar, class Layout, class Space>
bool is_mostly_noise(Call<Scalar, Layout, Space>& call) {
  constexpr RealOf<Scalar> margin = 8;
  const auto limit = margin * call.block.tolerance;
  call.set_reference();
  if (dense::smallest_quotient(call.products.squares, call.lengths.reference) > limit * limit) return false;
  call.findings.note(Reason::ill_conditioned);
  return true;
}

/// The same for a W of unit columns, where the method within the block has made some of them. With a triangular R
/// each has come from the caller's column in its place: what later columns have of its direction proves nothing.
template <class Scalar, class Layout, class Space>
bool holds_noise(Call<Scalar, Layout, Space>& call) {
  using Real = RealOf<Scalar>;
  const Real tolerance = call.block.tolerance;
  call.set_reference();
  const bool clean = call.coefficients.triangular
                         ? dense::inspect_factor(call.coefficients.r, tolerance, call.lengths.original).rank +
                                   call.findings.lost_columns() >=
                               call.block.b
                         : dense::within(call.lengths.reference, Real(0), 1 / (tolerance * tolerance));
  if (clean) return false;
  call.findings.note(Reason::ill_conditioned);
  return true;
}

/// One factorisation of W's Gram matrix: CholQR, or a sweep of SVQB. One reduction and b words unless the Gram matrix
/// is at hand; 2b words, which leave the next Gram matrix behind if there is to be another sweep. `watches_noise`: a W
/// that is hardly more than noise is left alone.
template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> gram_sweep(Call<Scalar, Layout, Space>& call, Within within, Another another,
                                 bool watches_noise = false) {
  reduce_gram(call);
  if (watches_noise && is_mostly_noise(call)) return {};
  dense::copy(call.products.g, call.work);
  const auto found = by_gram(call.block, within == Within::svqb, call.work, call.products.squares,
                             call.findings.has_lost(), call.factor, call.findings);
  return conclude(call, found, false, another);
}

/// The first sweep of shifted CholQR3: CholQR of a Gram matrix to which more is added than rounding can have taken, so
/// that Cholesky goes through, and leaves a block that CholQR2 can deal with. Cost as gram_sweep.
template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> shifted_sweep(Call<Scalar, Layout, Space>& call, Another another) {
  using Real = RealOf<Scalar>;
  reduce_gram(call);
  const auto& squares = call.products.squares;
  dense::copy(call.products.g, call.work);
  const auto b = static_cast<Real>(call.block.b), rows = static_cast<Real>(call.block.w.global_rows());
  const Real factor = 11 * (rows * b + b * (b + 1)) * epsilon<Scalar> / 2;
  const Real shift = dense::shift_diagonal(call.work, squares, factor);
  auto found = by_cholesky(call.block, call.work, squares, call.findings.has_lost(), call.factor, call.findings);
  if (found) found->inner *= 1 + shift / epsilon<Scalar>;  // Q^H Q = I - shift R^-H D^2 R^-1
  return conclude(call, found, false, another);
}

/// CholQR with Gram matrix and factor in double-double: rounding in W R^-1 is what remains, and grows with the
/// condition itself. Columns with pivots of at most `tolerance` times their reference end it. Cost as gram_sweep.
template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> wide_sweep(Call<Scalar, Layout, Space>& call, RealOf<Scalar> tolerance,
                                 const SmallMatrix<RealOf<Scalar>>& reference, Another another) {
  reduce_wide_gram(call);
  const auto& products = call.products;
  auto found = by_wide_cholesky(call.block, DoubleDoubleMatrix<Scalar>{products.g, products.low}, tolerance, reference,
                                products.squares, call.factor, call.findings);
  if (found) found->inner = std::sqrt(found->a);
  return conclude(call, found, false, another);
}
/// The same down to the rank tolerance.
template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> wide_sweep_to_rank(Call<Scalar, Layout, Space>& call, Another another) {
  call.set_reference();
  return wide_sweep(call, call.block.tolerance * call.block.tolerance, call.lengths.reference, another);
}

/// The same with columns taken by decreasing pivots: those that are left at the rank tolerance are lost. Where columns
/// change places, 4b words more.
template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> pivoted_sweep(Call<Scalar, Layout, Space>& call) {
  const auto& block = call.block;
  using Real = RealOf<Scalar>;
  using Small = SmallMatrix<Scalar>;
  const std::int64_t b = block.b;
  reduce_wide_gram(call);
  call.set_reference();
  WorkspaceScope<> scope(block.context);
  auto* const order = scope.take<std::int64_t>(static_cast<std::size_t>(b));
  const Small factor = Small::scratch(scope, b, b), swaps = Small::scratch(scope, b, b);
  const DoubleDoubleMatrix<Scalar> gram{call.products.g, call.products.low};
  const Real tolerance = block.tolerance * block.tolerance;
  const auto found = dense::cholesky_dd(gram, tolerance, factor, &call.lengths.reference, order);
  if (!found.finite) {
    call.findings.note(Reason::breakdown);
    return {};
  }
  call.findings.note_condition(found.condition_estimate);
  const std::int64_t rank = found.rank;
  bool in_place = true;
  dense::fill(swaps, Scalar(0));  // W swaps has the columns in their new order
  for (std::int64_t k = 0; k < b; ++k) {
    in_place = in_place && order[k] == k;
    dense::fill(swaps.block(order[k], order[k] + 1, k, k + 1), Scalar(1));
    if (k >= rank) call.findings.note_lost(order[k]);
  }
  const auto move = [&](const Small& permutation) {
    if (in_place) return;
    multiply_in_place(block.w, permutation);
    call.findings.words += 2 * b;
  };
  move(swaps);
  const auto kept = block.w.columns(0, rank);
  const Small leading = factor.block(0, rank, 0, rank);
  if (rank > 0) divide(call, kept, leading);
  if (rank < b) fill(block.w.columns(rank, b), Scalar(0));
  call.findings.words += b - rank;
  dense::copy(leading, call.factor.r.block(0, rank, 0, rank));
  // The inverse of what was applied, for the bound: lost columns count as if they had been orthogonal.
  const Small x = call.factor.inverse.block(0, rank, 0, rank);
  if (rank > 0) dense::triangular_inverse(leading, x);
  const auto lengths = call.lengths.parts.block(0, 1, 0, rank);
  dense::column_squares(leading, lengths);
  const Real a = dense::amplification(lengths, x);
  // Back to the old places: P R P^T takes the place of R.
  dense::multiply(Scalar(1), swaps, false, factor, false, Scalar(0), call.work);
  dense::multiply(Scalar(1), call.work, false, swaps, true, Scalar(0), call.factor.r);
  dense::copy(swaps, factor);
  dense::set_identity(call.work);
  dense::multiply(Scalar(1), call.work, false, factor, true, Scalar(0), swaps);
  move(swaps);
  call.factor.triangle = in_place ? kernels::Triangle::upper : kernels::Triangle::general;
  call.coefficients.divide_by_full(call.factor.r);
  call.coefficients.triangular = call.coefficients.triangular && in_place;
  call.products.forget();
  return {true, std::sqrt(a), a, 0};
}

/// W <- W R^-1 with R from the QR factorisation of a sketch Omega W: well-conditioned with high probability, whatever
/// W. One reduction unless the sketch is at hand; 2b words and those of the sketch.
template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> sketched_sweep(Call<Scalar, Layout, Space>& call) {
  using Real = RealOf<Scalar>;
  reduce_sketch(call);
  call.set_reference();
  dense::qr_factor(call.products.sketch, call.factor.r);
  if (call.block.within() == Within::rand_cholqr_gauss) {  // normal numbers have not been scaled yet
    const Real variance = static_cast<Real>(call.products.sketch.rows()) * (ScalarTraits<Scalar>::is_complex ? 2 : 1);
    dense::axpby(Scalar(0), call.factor.r, Scalar(1 / std::sqrt(variance)), call.factor.r);
  }
  // A sketch may change what a column keeps by half; the strong method, if allowed, takes what may be noise.
  const Real tolerance = call.block.options.escalate ? 2 * call.block.tolerance : call.block.tolerance / 2;
  const auto found = dense::inspect_factor(call.factor.r, tolerance, call.lengths.reference);
  if (!found.finite || found.rank < call.block.b) {
    call.findings.note(Reason::breakdown);
    call.findings.note_rank(found.rank);
    return {};
  }
  call.findings.note_condition(found.condition_estimate);
  dense::triangular_inverse(call.factor.r, call.factor.inverse);
  dense::column_squares(call.factor.r, call.lengths.parts);
  const Real a = dense::amplification(call.lengths.parts, call.factor.inverse);
  // Only the next sweep sees how near to orthonormal.
  return conclude(call, std::optional(call.factor.with(a, std::numeric_limits<Real>::infinity())), false,
                  Another::must);
}

/// The first sweep of a method within a block.
template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> first_sweep(Call<Scalar, Layout, Space>& call, Within within, Another another,
                                  bool watches_noise) {
  switch (within) {
    case Within::shifted_cholqr3:
      return shifted_sweep(call, another);
    case Within::dd_cholqr:
    case Within::dd_cholqr2:
      if (call.block.options.escalate) return wide_sweep_to_rank(call, another);  // the strong method takes the others
      return wide_sweep(call, static_cast<RealOf<Scalar>>(call.block.b) * epsilon<Scalar> * epsilon<Scalar>,
                        call.products.squares, another);
    case Within::tsqr:
      return tsqr_sweep(call);
    case Within::rand_cholqr:
    case Within::rand_cholqr_gauss:
      return sketched_sweep(call);
    case Within::pivoted_cholqr:
      return pivoted_sweep(call);
    case Within::cgs:
    case Within::cgs2:
    case Within::cholqr:
    case Within::cholqr2:
    case Within::svqb:
      break;
  }
  return gram_sweep(call, within, another, watches_noise);
}

/// How many columns of the caller's block the factor shows to be more than noise.
template <class Scalar, class Layout, class Space>
std::int64_t count_rank(const Call<Scalar, Layout, Space>& call) {
  return dense::inspect_factor(call.coefficients.r, call.block.tolerance, call.lengths.original).rank;
}

/// The first sweep, and as many of CholQR (or SVQB) as are asked for or needed.
template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> sweeps_within(Call<Scalar, Layout, Space>& call, Within within, bool watches_noise) {
  using Real = RealOf<Scalar>;
  const bool may_stop = call.block.options.adaptive || within == Within::svqb;
  const int others = sweeps_after_first(within);
  const auto after = [&](int i) { return i == others ? Another::none : may_stop ? Another::may : Another::must; };
  auto sweep = first_sweep(call, within, after(0), watches_noise);
  for (int i = 1; i <= others && sweep.done; ++i) {
    if (may_stop && sweep.orthonormal()) break;
    const auto next = gram_sweep(call, within == Within::svqb ? Within::svqb : Within::cholqr, after(i), watches_noise);
    if (!next.done) return next;
    // What the shift kept is lifted by later sweeps.
    const Real outer = within == Within::shifted_cholqr3 ? sweep.outer * next.outer : sweep.outer;
    sweep = {true, next.inner, outer, 0};
  }
  return sweep;
}

/// The whole method within a block. `outer` of what it returns tells how much rounding in W grew. `watches_noise`: a W
/// with columns that are hardly more than noise is left to the strong method.
template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> normalize_block(Call<Scalar, Layout, Space>& call, bool watches_noise = false) {
  const Within within = call.block.within();
  if (is_by_columns(within)) {
    const int least = within == Within::cgs ? 1 : 2;
    return orthogonalize_columns(call, call.block.options.escalate ? repeated(least) : Repetition{least, least});
  }
  const auto sweep = sweeps_within(call, within, watches_noise);
  if (sweep.done && watches_noise && holds_noise(call)) return {};
  // These make a column even of the noise of a dependent one. Their factor shows that in the end.
  const bool shifted = within == Within::shifted_cholqr3;
  const bool reaches_noise = shifted || begins_with_wide_gram(within) || is_randomised(within);
  if (!reaches_noise || !call.coefficients.triangular || !sweep.done) return sweep;
  const std::int64_t rank = count_rank(call);
  call.findings.note_rank(rank);
  if (!shifted || rank == call.block.b || !call.block.options.escalate) return sweep;
  call.findings.note(Reason::ill_conditioned);
  return {};
}

}  // namespace blockvec::orth

#pragma once

#include "orth/steps.hpp"
#include "orth/within.hpp"

/// The sweeps of which methods are made. Each leaves X = V s_total + W r_total true; one that is not done leaves W
/// alone.
namespace blockvec::orth {

/// W <- W - V s, one block of V at a time, with coefficients from W as it then is. Of the first they are at hand. One
/// reduction for each other block; m + blocks b words for them, and 2b a block for W.
template <class Scalar, class Layout, class Space>
void subtract_block_by_block(Call<Scalar, Layout, Space>& call) {
  const std::int64_t width = call.options.basis_width > 0 ? call.options.basis_width : call.b;
  call.v.for_pieces([&](const auto& piece, std::int64_t first, std::int64_t last) {
    for (std::int64_t begin = first; begin < last; begin += width) {
      const std::int64_t end = std::min(last, begin + width);
      const auto block = piece.columns(begin - first, end - first);
      const auto s = call.s.block(begin, end, 0, call.b);
      if (begin > 0) {
        call.apply_metric();
        inner_product(block, call.image, s);
        call.require_finite_image(s);
        call.words += end - begin + call.b;
      }
      update(Scalar(-1), block, s, Scalar(1), call.w);
      call.image_known = false;
      call.words += end - begin + 2 * call.b;
    }
  });
  dense::multiply(Scalar(1), call.s, false, call.r_total, false, Scalar(1), call.s_total);
  call.known = Products::none;
}

/// Projection, then the method within the block: BCGS, or with no basis that method alone. One reduction and m + b
/// words, then m + 2b for the projection, with which the first Gram matrix comes. `block_by_block`: BMGS. Its first
/// reduction meets all of V: what is wrong with the operands shows before W changes.
template <class Scalar, class Layout, class Space>
Sweep<RealOf<Scalar>> bcgs_sweep(Call<Scalar, Layout, Space>& call, bool block_by_block = false) {
  using Real = RealOf<Scalar>;
  call.reduce();
  ++call.result.sweeps;
  dense::copy(call.squares, call.lengths);
  if (call.m == 0) {
    const auto sweep = normalize_block(call);
    return {sweep.done, sweep.inner, 1, 0};  // nothing to be orthogonal to
  }
  dense::column_squares(call.s, call.parts);
  const auto share = dense::smallest_share(call.lengths, call.parts);
  const auto part = dense::sum_of_shares(call.lengths, call.parts);
  const bool by_columns = is_by_columns(call.intra());
  if (call.options.escalate && !by_columns && !call.watches_noise && !(share > 0 && call.trusted(1 / share))) {
    // A column would be left with little but rounding errors, unseen by its Gram matrix.
    call.note(Reason::ill_conditioned);
    return {};
  }
  if (block_by_block) {
    subtract_block_by_block(call);
  } else {
    call.subtract_projection(begins_with_gram(call.intra()) ? Products::gram : Products::none);
  }
  call.keep_image_if(share * Sweep<Real>::outer_limit >= 1);
  auto sweep = normalize_block(call);
  // Cancellation in the projection counts for V^H Q; columnwise methods have compared with the lengths before it
  // already. A negative share contradicts an orthonormal V.
  if (!by_columns || share < -call.tolerance) sweep.outer /= std::max(share, call.tolerance * call.tolerance);
  sweep.passed_on = part * sweep.outer;
  return sweep;
}

/// BCGS-PIP: projection and Gram matrix in one reduction, the factor from G - S^H S. m + b words, and m + 2b for the
/// change, which leaves the products of the next sweep behind if there is to be one (Another::must: unless this one was
/// enough, and the second may be left out). `recovering`: by Cholesky in any case, and columns of zeros stay.
template <class Scalar, class Layout, class Space>
Sweep<RealOf<Scalar>> pip_sweep(Call<Scalar, Layout, Space>& call, Another another, bool recovering = false) {
  call.reduce();
  ++call.result.sweeps;
  dense::copy(call.g, call.work);
  if (call.m > 0) dense::multiply(Scalar(-1), call.s, true, call.s, false, Scalar(1), call.work);
  const bool svqb = call.options.intra == Intra::svqb && !recovering;
  const auto a = svqb ? call.factorize_svqb(call.squares) : call.factorize(call.squares, recovering || call.has_lost());
  if (!(a > 0)) return {};
  dense::column_squares(call.s, call.parts);
  const auto part = dense::sum_of_shares(call.squares, call.parts);
  const Sweep<RealOf<Scalar>> sweep{true, a, a, part * a};
  const bool enough = sweep.certified() && (another != Another::must || call.options.adaptive);
  const bool more = another != Another::none && !enough;
  call.subtract_and_apply(!svqb, a, more ? Products::all : Products::none);
  return sweep;
}

/// After a sweep that has dealt with V: W's own Gram matrix is all there is to do. One reduction, 3b words.
template <class Scalar, class Layout, class Space>
Sweep<RealOf<Scalar>> tidy_sweep(Call<Scalar, Layout, Space>& call, Sweep<RealOf<Scalar>> previous) {
  ++call.result.sweeps;
  const auto next = gram_sweep(call, call.options.intra == Intra::svqb ? Intra::svqb : Intra::cholqr, Another::none);
  return {next.done, next.inner, previous.outer, previous.passed_on};
}

}  // namespace blockvec::orth

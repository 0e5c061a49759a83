#pragma once

#include "orth/within.hpp"

/// The sweeps of which methods are made. Each leaves X = V S + W R true; one that is not done leaves W
/// alone.
namespace blockvec::orth {

/// W <- W - V s, one block of V at a time, with coefficients from W as it then is. Of the first they are at hand. One
/// reduction for each other block; m + blocks b words for them, and 2b a block for W.
template <class Scalar, class Layout, class Space>
void subtract_block_by_block(Call<Scalar, Layout, Space>& call) {
  const auto& block = call.block;
  const std::int64_t width = block.options.basis_width > 0 ? block.options.basis_width : block.b;
  block.v.for_pieces([&](const auto& piece, std::int64_t first, std::int64_t last) {
    for (std::int64_t begin = first; begin < last; begin += width) {
      const std::int64_t end = std::min(last, begin + width);
      const auto columns = piece.columns(begin - first, end - first);
      const auto s = call.products.s.block(begin, end, 0, block.b);
      if (begin > 0) {
        call.image.form(call.findings);
        inner_product(columns, call.image.vectors(), s);
        call.image.require_finite(s);
        call.findings.words += end - begin + block.b;
      }
      update(Scalar(-1), columns, s, Scalar(1), block.w);
      call.image.forget();
      call.findings.words += end - begin + 2 * block.b;
    }
  });
  call.coefficients.project(call.products.s);
  call.products.forget();
}

/// Projection, then the method within the block: BCGS, or with no basis that method alone. One reduction and m + b
/// words, then m + 2b for the projection, with which the first Gram matrix comes. `block_by_block`: BMGS. Its first
/// reduction meets all of V: what is wrong with the operands shows before W changes. `watches_noise`: the method within
/// is trusted as long as what is left is more than noise.
template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> bcgs_sweep(Call<Scalar, Layout, Space>& call, bool block_by_block = false,
                                 bool watches_noise = false) {
  using Real = RealOf<Scalar>;
  const auto& block = call.block;
  const auto& lengths = call.lengths;
  reduce(call);
  ++call.findings.result.sweeps;
  dense::copy(call.products.squares, lengths.before);
  if (block.m == 0) {
    const auto sweep = normalize_block(call, watches_noise);
    return {sweep.done, sweep.inner, 1, 0};  // nothing to be orthogonal to
  }
  dense::column_squares(call.products.s, lengths.parts);
  const auto share = dense::smallest_share(lengths.before, lengths.parts);
  const auto part = dense::sum_of_shares(lengths.before, lengths.parts);
  const bool by_columns = is_by_columns(block.within());
  const bool is_cancelled = !by_columns && !watches_noise && !(share > 0 && block.trusts(1 / share));
  if (block.options.escalate && (Trust<Real>::contradicts_basis(share) || is_cancelled)) {
    // W would grow, or a column would be left with little but rounding errors, unseen by its Gram matrix.
    call.findings.note(Reason::ill_conditioned);
    return {};
  }
  if (block_by_block) {
    subtract_block_by_block(call);
  } else {
    subtract_projection(call, begins_with_gram(block.within()) ? Known::gram : Known::none);
  }
  call.image.keep_if(share * Trust<Real>::outer_limit >= 1);
  auto sweep = normalize_block(call, watches_noise);
  // Cancellation in the projection counts for V^H Q; columnwise methods have compared with the lengths before it
  // already. A negative share contradicts an orthonormal V.
  if (!by_columns || !(share >= -block.tolerance)) sweep.outer /= std::max(block.tolerance * block.tolerance, share);
  sweep.passed_on = part * sweep.outer;
  return sweep;
}

/// BCGS-PIP: projection and Gram matrix in one reduction, the factor from G - S^H S. m + b words, and m + 2b for the
/// change, which leaves the products of the next sweep behind if there is to be one. `recovering`: by Cholesky in any
/// case, and columns of zeros stay.
template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> pip_sweep(Call<Scalar, Layout, Space>& call, Another another, bool recovering = false) {
  reduce(call);
  ++call.findings.result.sweeps;
  const bool svqb = call.block.options.within == Within::svqb && !recovering;
  const bool skip_zeros = recovering || call.findings.has_lost();
  const auto found = by_pythagoras(call.block, call.products, svqb, skip_zeros, call.work, call.lengths.parts,
                                   call.factor, call.findings);
  return conclude(call, found, true, another, !recovering);
}

/// After a sweep that has dealt with V: W's own Gram matrix is all there is to do. One reduction, 3b words.
template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> tidy_sweep(Call<Scalar, Layout, Space>& call, Trust<RealOf<Scalar>> previous) {
  ++call.findings.result.sweeps;
  const bool svqb = call.block.options.within == Within::svqb;
  const auto next = gram_sweep(call, svqb ? Within::svqb : Within::cholqr, Another::none);
  return {next.done, next.inner, previous.outer, previous.passed_on};
}

}  // namespace blockvec::orth

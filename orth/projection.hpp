#pragma once

#include "orth/orthonormalize.hpp"
#include "orth/range.hpp"
#include "orth/reduce.hpp"

namespace blockvec::orth {

/// W <- (I - V V^H) W. One sweep leaves V^H w at eps times the length before it, and what V lacks of being orthonormal
/// times V^H w. So a second one follows where a column lost more than 1/64 of its square, and always for methods that
/// project twice, unless the options say that one may do.
template <class Scalar, class Layout, class Space>
void project_block(Call<Scalar, Layout, Space>& call) {
  const auto& block = call.block;
  using Real = RealOf<Scalar>;
  const Between between = block.between();
  const int sweeps = plan_of(between).second == Kind::none ? 1 : 2;
  const int least = block.options.adaptive ? 1 : sweeps;
  const int most = block.m == 0 ? 0 : block.options.escalate ? 4 : sweeps;
  constexpr Real enough = 1 - Trust<Real>::passed_on_limit;
  call.findings.begin(block.method(true, false), block.options);
  if (block.m == 0 && block.metric == nullptr) reduce_gram(call);
  look_at_block(call);
  // Of the squares of columns that are not in V's range, the least that the last sweep left.
  Real share = block.m == 0 ? 1 : 0;
  dense::copy(call.products.squares, call.lengths.before);
  dense::fill(call.lengths.parts, Real(0));
  const auto limit = [&](std::int64_t j) {
    return block.tolerance * std::sqrt(dense::entry(call.lengths.original, 0, j));
  };
  for (int i = 0; i < most && (i < least || share < enough); ++i) {
    reduce(call);
    ++call.findings.result.sweeps;
    dense::column_squares(call.products.s, call.lengths.parts);
    share = dense::smallest_share(call.products.squares, call.lengths.parts);
    if (share < enough && i > 0) {  // a column that is all noise need not settle
      share = 1;
      for (std::int64_t j = 0; j < block.b; ++j) {
        const Real whole = dense::entry(call.products.squares, 0, j);
        if (std::sqrt(whole) > limit(j)) share = std::min(share, 1 - dense::entry(call.lengths.parts, 0, j) / whole);
      }
    }
    dense::copy(call.products.squares, call.lengths.before);
    subtract_projection(call);
    call.image.keep_if(share * Trust<Real>::outer_limit >= 1);
  }
  // What is left: measured before the last projection, which took `parts` of it.
  for (std::int64_t j = 0; j < block.b; ++j) {
    const Real left = dense::entry(call.lengths.before, 0, j) - dense::entry(call.lengths.parts, 0, j);
    if (!(std::sqrt(std::max(left, Real(0))) > limit(j))) call.findings.result.lost.push_back(j);
  }
  call.findings.result.rank = block.b - static_cast<std::int64_t>(call.findings.result.lost.size());
  call.findings.result.orthonormal = share >= enough;
  if (call.lengths.scaled) unscale_block(call);
}

}  // namespace blockvec::orth

#pragma once

#include "orth/orthonormalize.hpp"
#include "orth/range.hpp"
#include "orth/steps.hpp"

namespace blockvec::orth {

/// W <- (I - V V^H) W. One sweep leaves V^H w at eps times the length before it, and what V lacks of being orthonormal
/// times V^H w. So a second one follows where a column lost more than 1/64 of its square, and always for methods that
/// project twice, unless the options say that one may do.
template <class Scalar, class Layout, class Space>
void project_block(Call<Scalar, Layout, Space>& call) {
  using Real = RealOf<Scalar>;
  const Inter inter = call.inter();
  const int sweeps = plan_of(inter).second == Kind::none ? 1 : 2;
  const int least = call.options.adaptive ? 1 : sweeps;
  const int most = call.m == 0 ? 0 : call.options.escalate ? 4 : sweeps;
  constexpr Real enough = 1 - Sweep<Real>::passed_on_limit;
  call.begin_method(true, false);
  if (call.m == 0 && call.metric == nullptr) call.reduce_gram();
  look_at_block(call);
  // Of the squares of columns that are not in V's range, the least that the last sweep left.
  Real share = call.m == 0 ? 1 : 0;
  dense::copy(call.squares, call.lengths);
  dense::fill(call.parts, Real(0));
  const auto limit = [&](std::int64_t j) { return call.tolerance * std::sqrt(dense::entry(call.original, 0, j)); };
  for (int i = 0; i < most && (i < least || share < enough); ++i) {
    call.reduce();
    ++call.result.sweeps;
    dense::column_squares(call.s, call.parts);
    share = dense::smallest_share(call.squares, call.parts);
    if (share < enough && i > 0) {  // a column that is all noise need not settle
      share = 1;
      for (std::int64_t j = 0; j < call.b; ++j) {
        const Real whole = dense::entry(call.squares, 0, j);
        if (std::sqrt(whole) > limit(j)) share = std::min(share, 1 - dense::entry(call.parts, 0, j) / whole);
      }
    }
    dense::copy(call.squares, call.lengths);
    call.subtract_projection();
    call.keep_image_if(share * Sweep<Real>::outer_limit >= 1);
  }
  // What is left: measured before the last projection, which took `parts` of it.
  for (std::int64_t j = 0; j < call.b; ++j) {
    const Real left = dense::entry(call.lengths, 0, j) - dense::entry(call.parts, 0, j);
    if (!(std::sqrt(std::max(left, Real(0))) > limit(j))) call.result.lost.push_back(j);
  }
  call.result.rank = call.b - static_cast<std::int64_t>(call.result.lost.size());
  call.result.orthonormal = share >= enough;
  if (call.scaled) unscale_block(call);
}

}  // namespace blockvec::orth

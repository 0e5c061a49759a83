#pragma once

#include "orth/call.hpp"

/// What a step of a Call does to tall data, and the words that it moves.
namespace blockvec::orth {

/// Words of a step on n columns beside m others; `both`: with V^H W of the new W, `gram`: with its Gram matrix.
template <class Scalar, class Layout, class Space>
void count_words(Call<Scalar, Layout, Space>& call, std::int64_t m, std::int64_t n, const Step& step, bool both,
                 bool gram) {
  const bool changes = step.subtract || step.apply;
  if (is_host_space<Space> && !call.context.is_reproducible()) {
    call.words += (step.subtract || both ? m : 0) + (changes ? 2 * n : n);
  } else if (is_host_space<Space>) {  // one pass for W, another for all products
    call.words += (changes ? (step.subtract ? m : 0) + 2 * n : 0) + (both ? m : 0) + (gram ? n : 0);
  } else if (call.v.precedes(call.w)) {  // a pass for W, another for all products
    call.words += (step.subtract ? m + 2 * n : step.apply ? 2 * n : 0) + (both ? m + n : gram ? n : 0);
  } else {
    call.words += (step.subtract ? m + 2 * n : 0) + (step.apply ? 2 * n : 0) + (both ? m + n : 0) + (gram ? n : 0);
  }
}

/// On the host all in one pass; the products take one reduction.
template <class Scalar, class Layout, class Space>
void step_alone(Call<Scalar, Layout, Space>& call, const Step& step) {
  const auto* const projection = step.subtract ? &call.s : nullptr;
  const auto* const factor = step.apply ? &call.inverse : nullptr;
  const bool both = step.next == Products::all && call.m > 0, gram = step.next != Products::none;
  if (!gram) {
    gram_schmidt_sweep(call.v.all(), projection, call.w, factor, call.step_triangle);
  } else {
    InnerProducts<Scalar, Layout, Space> products(call.context);
    products
        .add_swept(call.v.all(), projection, call.w, factor, call.step_triangle, both ? &call.s_next : nullptr, call.g)
        .reduce();
    if (both) std::swap(call.s, call.s_next);
    dense::diagonal(call.g, call.squares);
  }
  count_words(call, call.m, call.b, step, both, gram);
}

/// W <- (W - V s) X together with what waits for the block U before it, U <- (U - V_U s_U) X_U, in one pass over V_U:
///     [U W] <- ([U W] - V_U [s_U s']) [X_U  -X_U s'' X; 0  X],  s = [s'; s''], X = I if there is nothing to apply.
template <class Scalar, class Layout, class Space>
void step_with_block_ahead(Call<Scalar, Layout, Space>& call, const Step& step) {
  using Small = SmallMatrix<Scalar>;
  auto& ahead = *call.ahead;
  const std::int64_t m = ahead.m, first = ahead.b, n = first + call.b;
  WorkspaceScope<> scope(call.context);
  const Small s = Small::scratch(scope, m, n), x = Small::scratch(scope, n, n), g = Small::scratch(scope, n, n);
  dense::copy(ahead.s, s.block(0, m, 0, first));
  dense::copy(call.s.block(0, m, 0, call.b), s.block(0, m, first, n));
  dense::fill(x, Scalar(0));
  const Small own = x.block(first, n, first, n), above = x.block(0, first, first, n);
  dense::copy(ahead.inverse, x.block(0, first, 0, first));
  step.apply ? dense::copy(call.inverse, own) : dense::set_identity(own);
  const Small product = call.s_next.block(0, first, 0, call.b);
  dense::multiply(Scalar(1), call.s.block(m, call.m, 0, call.b), false, own, false, Scalar(0), product);
  dense::multiply(Scalar(-1), ahead.inverse, false, product, false, Scalar(0), above);
  const bool upper = (!step.apply || call.step_triangle == kernels::Triangle::upper) &&
                     ahead.step_triangle == kernels::Triangle::upper;
  const auto triangle = upper ? kernels::Triangle::upper : kernels::Triangle::general;
  const auto blocks = call.whole->columns(ahead.first_column, call.first_column + call.b);
  const Small* const projection = m > 0 ? &s : nullptr;
  if (step.next == Products::none) {
    gram_schmidt_sweep(ahead.v.all(), projection, blocks, &x, triangle);
  } else {
    InnerProducts<Scalar, Layout, Space> products(call.context);
    products.add_swept(ahead.v.all(), projection, blocks, &x, triangle, nullptr, g).reduce();
    dense::copy(g.block(first, n, first, n), call.g);
    dense::diagonal(call.g, call.squares);
  }
  ahead.waits = false;
  count_words(call, m, n, {m > 0, true}, false, step.next != Products::none);
}

/// W, and with it B W where that is at hand and follows by the same step, B V being at hand as well. Products of the
/// new W would be those with a new B W, which comes from the caller.
template <class Scalar, class Layout, class Space>
void step_in_metric(Call<Scalar, Layout, Space>& call, const Step& step) {
  if (step.subtract) call.keep_image_if(call.metric->image_of_basis.width() == call.m);
  if (step.apply) call.keep_image_if(step.keeps_image);
  const auto change = [&](const Basis<Scalar, Layout, Space>& basis, const auto& block) {
    gram_schmidt_sweep(basis.all(), step.subtract ? &call.s : nullptr, block, step.apply ? &call.inverse : nullptr,
                       call.step_triangle);
    count_words(call, call.m, call.b, step, false, false);
  };
  if (call.image_known) change(step.subtract ? call.metric->image_of_basis : call.v, call.image);
  change(call.v, call.w);
}

template <class Scalar, class Layout, class Space>
void carry_out(Call<Scalar, Layout, Space>& call, const Step& step) {
  call.wide = call.sketched = false;
  if (call.metric != nullptr) {
    step_in_metric(call, step);
    call.known = Products::none;
    return;
  }
  const bool joins = step.subtract && step.next != Products::all && call.ahead != nullptr && call.ahead->waits;
  if (!joins) call.catch_up();
  joins ? step_with_block_ahead(call, step) : step_alone(call, step);
  call.known = step.next == Products::gram && call.m == 0 ? Products::all : step.next;
}

}  // namespace blockvec::orth

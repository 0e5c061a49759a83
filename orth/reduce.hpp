#pragma once

#include "orth/change.hpp"

/// Inner products of a call's block. Each is one reduction, or none where what is asked for is at hand.
namespace blockvec::orth {

/// Omega W, Omega being fresh each time and nearly an isometry on any few columns. Words: b for sparse signs; for
/// normal numbers, which are written and read as block vectors, 2 sketch_rows() and b for every b of them.
template <class Scalar, class Layout, class Space>
void add_sketch(Call<Scalar, Layout, Space>& call, InnerProducts<Scalar, Layout, Space>& products,
                WorkspaceScope<Space>& while_reducing) {
  const auto& block = call.block;
  const auto& sketch = call.products.sketch;
  constexpr std::uint64_t stream = 0x736b657463686573;  // apart from that of replaced columns
  const std::uint64_t seed =
      (block.options.seed ^ stream) + static_cast<std::uint64_t>(call.draws++) * 0x9e3779b97f4a7c15;
  if (block.within() == Within::rand_cholqr) {
    if constexpr (is_host_space<Space>) {
      sketch_share(block.w, seed, sketch);
      products.add_share(sketch);
    } else {
      const auto there = SmallMatrix<Scalar, Space>::scratch(while_reducing, sketch.rows(), sketch.columns());
      sketch_share(block.w, seed, there);
      products.add_share(there, sketch);
    }
    call.findings.words += block.b;
    return;
  }
  constexpr std::int64_t most_strips = 8;
  const std::int64_t d = sketch.rows(), width = std::max(block.b, (d + most_strips - 1) / most_strips);
  const auto strip = scratch_like(while_reducing, block.w, std::min(width, d));
  for (std::int64_t begin = 0; begin < d; begin += width) {
    const std::int64_t end = std::min(d, begin + width);
    const auto omega = strip.columns(0, end - begin);
    fill_normal(omega, seed, begin);
    products.add(omega, block.w, sketch.block(begin, end, 0, block.b));
    call.findings.words += 2 * (end - begin) + block.b;
  }
}

/// What the first reduction without V, or any under a metric, asks for: all products, what the method within begins
/// with, and under a metric the Euclidean lengths of W and B W once.
template <class Scalar, class Layout, class Space>
void reduce_together(Call<Scalar, Layout, Space>& call, bool wide, bool sketched) {
  const auto& block = call.block;
  auto& known = call.products;
  const std::int64_t m = block.m, b = block.b;
  const bool has_metric = block.metric != nullptr, measures = has_metric && !call.image.lengths_known;
  call.image.form(call.findings);
  WorkspaceScope<Space> while_reducing(block.context);
  InnerProducts<Scalar, Layout, Space> products(block.context);
  if (sketched) add_sketch(call, products, while_reducing);
  block.v.for_pieces([&](const auto& piece, std::int64_t begin, std::int64_t end) {
    products.add(piece, call.image.vectors(), known.s.block(begin, end, 0, b));
  });
  const auto &own = call.factor.r, &of_image = call.factor.inverse;
  if (measures) {
    products.add(block.w, block.w, own).add(call.image.vectors(), call.image.vectors(), of_image);
  }
  if (wide) {
    products.add_dd(block.w, block.w, {known.g, known.low});
  } else {
    products.add(block.w, call.image.vectors(), known.g);
  }
  products.reduce();
  call.findings.words += (m > 0 ? m + b : 0) + (has_metric ? 2 * b : b) + (measures ? 2 * b : 0);
  if (measures) {
    dense::diagonal(own, call.image.euclidean);
    dense::diagonal(of_image, call.image.squares);
    call.image.lengths_known = true;
  }
  known.set_known(Known::all, wide, sketched);
  call.image.require_finite_products(known.s);
  call.image.require_finite_products(known.g);
}

/// s = V^H W, g = W^H W, squares = diag(g). Where there is no V, also what else the method within the block begins
/// with.
template <class Scalar, class Layout, class Space>
void reduce(Call<Scalar, Layout, Space>& call) {
  const auto& block = call.block;
  if (call.products.known == Known::all) return;
  if (call.extended != nullptr) {
    call.extended->reduce(call);
    return call.products.set_known(Known::all);
  }
  const bool sketched = block.m == 0 && is_randomised(block.within());
  const bool wide = block.m == 0 && begins_with_wide_gram(block.within());
  if (block.metric == nullptr && !wide && !sketched) return carry_out(call, {.next = Known::all});
  reduce_together(call, wide, sketched);
}

/// g and squares alone: all there is to know where V has been dealt with.
template <class Scalar, class Layout, class Space>
void reduce_gram(Call<Scalar, Layout, Space>& call) {
  const auto& block = call.block;
  if (call.products.known != Known::none) return;
  call.image.form(call.findings);
  inner_product(block.w, call.image.vectors(), call.products.g);
  call.findings.words += block.metric != nullptr ? 2 * block.b : block.b;
  call.products.set_known(block.m == 0 ? Known::all : Known::gram);
  call.image.require_finite_products(call.products.g);
}

/// The same with g + low = W^H W in double-double. Without a metric: B W carries rounding errors of its own.
template <class Scalar, class Layout, class Space>
void reduce_wide_gram(Call<Scalar, Layout, Space>& call) {
  const auto& block = call.block;
  if (call.products.known != Known::none && call.products.wide) return;
  inner_product_dd(block.w, block.w, {call.products.g, call.products.low});
  call.findings.words += block.b;
  call.products.set_known(block.m == 0 ? Known::all : Known::gram, true);
}

/// sketch = Omega W, unless it came with reduce().
template <class Scalar, class Layout, class Space>
void reduce_sketch(Call<Scalar, Layout, Space>& call) {
  if (call.products.known == Known::all && call.products.sketched) return;
  WorkspaceScope<Space> while_reducing(call.block.context);
  InnerProducts<Scalar, Layout, Space> products(call.block.context);
  add_sketch(call, products, while_reducing);
  products.reduce();
}

}  // namespace blockvec::orth

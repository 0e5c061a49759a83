#pragma once

#include <array>
#include <span>

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

/// What the first reduction without V asks for: W^H W, and what else the method within begins with.
template <class Scalar, class Layout, class Space>
void reduce_together(Call<Scalar, Layout, Space>& call, bool wide, bool sketched) {
  const auto& block = call.block;
  auto& known = call.products;
  WorkspaceScope<Space> while_reducing(block.context);
  InnerProducts<Scalar, Layout, Space> products(block.context);
  if (sketched) add_sketch(call, products, while_reducing);
  if (wide) {
    products.add_dd(block.w, block.w, {known.g, known.low});
  } else {
    products.add(block.w, block.w, known.g);
  }
  products.reduce();
  call.findings.words += block.b;
  known.set_known(Known::all, wide, sketched);
}

/// V's pieces and W as the operands of one pass. Where W follows the last piece in one block vector, both are one view.
template <class Scalar, class Layout, class Space>
class BasisAndBlock {
 public:
  using Tall = BlockVector<Scalar, Layout, Space>;

  BasisAndBlock(const Basis<Scalar, Layout, Space>& v, const Tall& w) {
    v.for_pieces([&](const Tall& piece, std::int64_t, std::int64_t) { pieces_[count_++] = piece; });
    if (count_ > 0 && pieces_[count_ - 1].precedes(w)) {
      pieces_[count_ - 1] = pieces_[count_ - 1].joined(w);
    } else {
      pieces_[count_++] = w;
    }
  }
  std::span<const Tall> all() const { return {pieces_.data(), count_}; }

 private:
  std::array<Tall, Basis<Scalar, Layout, Space>::most_pieces + 1> pieces_;
  std::size_t count_ = 0;
};

/// s = V^H B W and g = W^H B W; where they are not known yet, the Euclidean lengths of W and B W as well. One reduction
/// and one pass, [V W B W]^H B W: m + 2b words (sweep_words: more where the sweep's kernel does not serve), and b for
/// the lengths of W.
template <class Scalar, class Layout, class Space>
void reduce_in_metric(Call<Scalar, Layout, Space>& call) {
  const auto& block = call.block;
  auto& image = call.image;
  auto& known = call.products;
  const std::int64_t m = block.m, b = block.b;
  const bool measures = !image.lengths_known;
  image.form(call.findings);
  WorkspaceScope<> scope(block.context);
  const auto scratch = [&](std::int64_t rows) { return SmallMatrix<Scalar>::scratch(scope, rows, b); };
  const auto with_image = scratch(m + b), own = scratch(measures ? b : 0), of_image = scratch(b);
  const BasisAndBlock<Scalar, Layout, Space> left(block.v, block.w);
  InnerProducts<Scalar, Layout, Space> products(block.context);
  products.add_swept(left.all(), nullptr, image.vectors(), nullptr, kernels::Triangle::general, &with_image, of_image);
  if (measures) products.add(block.w, block.w, own);
  products.reduce();
  call.findings.words += sweep_words(left.all(), image.vectors(), {.forms_p = true, .forms_g = true});
  dense::copy(with_image.block(0, m, 0, b), known.s);
  dense::copy(with_image.block(m, m + b, 0, b), known.g);
  if (measures) {
    call.findings.words += b;
    dense::diagonal(own, image.euclidean);
    dense::diagonal(of_image, image.squares);
    image.lengths_known = true;
  }
  known.set_known(Known::all);
  image.require_finite_products(known.s);
  image.require_finite_products(known.g);
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
  if (block.metric != nullptr) return reduce_in_metric(call);
  if (!wide && !sketched) return carry_out(call, {.next = Known::all});
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

#pragma once

#include "orth/call.hpp"

/// Changes of W, and the words of tall data that they move.
namespace blockvec::orth {

/// A change of W, and what is to be known of the new W where that costs no other pass.
struct Change {
  bool subtract = false;  ///< W <- W - V s
  bool apply = false;     ///< then W <- W R^-1, by the inverse
  Known next = Known::none;
  bool keeps_image = true;  ///< B W may change along: it would not be much more accurate from W anew
};

/// A skeleton that carries out changes of W together with those of other blocks, or later.
template <class Scalar, class Layout, class Space>
struct Carrier {
  virtual ~Carrier() = default;
  /// False: the change is up to the call.
  virtual bool takes(Call<Scalar, Layout, Space>& call, const Change& change) = 0;
  /// Before W is looked at: all else that waits is carried out.
  virtual void catch_up() = 0;
};
template <class Scalar, class Layout, class Space>
void catch_up(Call<Scalar, Layout, Space>& call) {
  if (call.carrier != nullptr) call.carrier->catch_up();
}

/// The products take one reduction.
template <class Scalar, class Layout, class Space>
void change_alone(Call<Scalar, Layout, Space>& call, const Change& change) {
  const auto& block = call.block;
  auto& products = call.products;
  const auto* const projection = change.subtract ? &products.s : nullptr;
  const auto* const inverse = change.apply ? &call.factor.inverse : nullptr;
  const auto triangle = call.factor.triangle;
  const bool both = change.next == Known::all && block.m > 0, gram = change.next != Known::none;
  if (!gram) {
    gram_schmidt_sweep(block.v.all(), projection, block.w, inverse, triangle);
    products.forget();
  } else {
    InnerProducts<Scalar, Layout, Space> reduced(block.context);
    reduced.add_swept(block.v.all(), projection, block.w, inverse, triangle, both ? &call.next_s : nullptr, products.g)
        .reduce();
    if (both) std::swap(products.s, call.next_s);
    products.set_known(change.next == Known::gram && block.m == 0 ? Known::all : change.next);
  }
  call.findings.words += sweep_words(block.v.all(), block.w, {change.subtract, change.apply, both, gram});
}

/// W, and with it B W where that is at hand and follows by the same change, B V being at hand as well. Products of the
/// new W would be those with a new B W, which comes from the caller.
template <class Scalar, class Layout, class Space>
void change_in_metric(Call<Scalar, Layout, Space>& call, const Change& change) {
  const auto& block = call.block;
  const auto& image_of_basis = block.metric->image_of_basis;
  if (change.subtract) call.image.keep_if(image_of_basis.width() == block.m);
  if (change.apply) call.image.keep_if(change.keeps_image);
  const auto change_one = [&](const Basis<Scalar, Layout, Space>& basis, const auto& vectors) {
    gram_schmidt_sweep(basis.all(), change.subtract ? &call.products.s : nullptr, vectors,
                       change.apply ? &call.factor.inverse : nullptr, call.factor.triangle);
    call.findings.words += sweep_words(basis.all(), vectors, {change.subtract, change.apply});
  };
  if (call.image.known()) change_one(change.subtract ? image_of_basis : block.v, call.image.vectors());
  change_one(block.v, block.w);
  call.products.forget();
}

template <class Scalar, class Layout, class Space>
void carry_out(Call<Scalar, Layout, Space>& call, const Change& change) {
  call.products.wide = call.products.sketched = false;
  if (call.block.metric != nullptr) return change_in_metric(call, change);
  if (call.carrier == nullptr || !call.carrier->takes(call, change)) change_alone(call, change);
}

/// S and R follow a change that is carried out.
template <class Scalar, class Layout, class Space>
void change(Call<Scalar, Layout, Space>& call, const Change& change) {
  const bool changes_alone = change.next == Known::none;
  if (changes_alone) carry_out(call, change);  // a device works meanwhile
  if (change.subtract) call.coefficients.project(call.products.s);
  if (change.apply) call.coefficients.divide(call.factor);
  if (!changes_alone) carry_out(call, change);
}

/// W <- W - V s. What is to be known `next` comes along with it where that costs no other pass.
template <class Scalar, class Layout, class Space>
void subtract_projection(Call<Scalar, Layout, Space>& call, Known next = Known::none) {
  if (call.block.m > 0) change(call, {true, false, next});
}

/// W <- W R^-1 with W R^-1 R = W to rounding however ill-conditioned R is: an explicit inverse leaves a residual that
/// grows with its condition, so it serves only for blocks of columns that are well-conditioned, and the others follow
/// by substitution.
template <class Scalar, class Layout, class Space>
void divide(Call<Scalar, Layout, Space>& call, const BlockVector<Scalar, Layout, Space>& w,
            const SmallMatrix<Scalar>& r) {
  const std::int64_t n = w.width();
  const auto x = call.factor.inverse.block(0, n, 0, n);
  const auto columns = call.lengths.parts.block(0, 1, 0, n);
  std::int64_t& words = call.findings.words;
  dense::triangular_inverse(r, x);
  dense::column_squares(r, columns);
  if (n == 1 || dense::amplification(columns, x) <= Trust<RealOf<Scalar>>::direct_limit) {
    multiply_in_place(w, x, kernels::Triangle::upper);
    words += 2 * n;
    return;
  }
  const std::int64_t h = n / 2;
  divide(call, w.columns(0, h), r.block(0, h, 0, h));
  update(Scalar(-1), w.columns(0, h), r.block(0, h, h, n), Scalar(1), w.columns(h, n));
  words += h + 2 * (n - h);
  divide(call, w.columns(h, n), r.block(h, n, h, n));
}

/// W <- W R^-1 with the call's factor.
template <class Scalar, class Layout, class Space>
void apply_factor(Call<Scalar, Layout, Space>& call, bool projects, Known next) {
  const auto& factor = call.factor;
  if (factor.is_upper() && factor.a > Trust<RealOf<Scalar>>::direct_limit) {
    if (projects) subtract_projection(call);
    call.image.forget();
    divide(call, call.block.w, factor.r);
    call.coefficients.divide(factor);
    call.products.forget();
  } else {
    change(call, {projects && call.block.m > 0, true, next, factor.a <= Trust<RealOf<Scalar>>::outer_limit});
  }
}

}  // namespace blockvec::orth

#pragma once

#include <string>

#include "orth/definiteness.hpp"
#include "orth/reduce.hpp"

/// The first look at a block: is everything finite, and can squares of its columns be formed?
namespace blockvec::orth {

/// The lengths of W's columns as 3 x n norms: in a copy scaled down, as they are, in a copy scaled up
/// (dense::SafeNorms). Three reductions; only where squares have left the range.
template <class Scalar, class Layout, class Space>
void measure_out_of_range(Call<Scalar, Layout, Space>& call, const BlockVector<Scalar, Layout, Space>& block,
                          const SmallMatrix<RealOf<Scalar>>& norms, int kinds) {
  using Real = RealOf<Scalar>;
  using Safe = dense::SafeNorms<Real>;
  WorkspaceScope<Space> scope(call.block.context);
  const auto scaled = scratch_like(scope, block, block.width());
  const int exponents[] = {Safe::down, 0, Safe::up};
  for (int i = 0; i < kinds; ++i) {
    copy(block, scaled);
    if (exponents[i] != 0) scale(scaled, Scalar(std::ldexp(Real(1), exponents[i])));
    column_norms(scaled, norms.block(i, i + 1, 0, block.width()));
    call.findings.words += 5 * block.width();
  }
}

/// Throws NotFiniteError naming the block and its first column that holds NaN or Inf.
template <class Block, class RealSmall>
void require_finite(const char* name, const Block& block, const RealSmall& norms, std::int64_t first_column) {
  const std::int64_t column = dense::first_non_finite_column(norms);
  if (column < 0) return;
  throw NotFiniteError(std::string("orth: ") + name + " = " + block.describe() + " holds NaN or Inf in column " +
                       std::to_string(first_column + column));
}

/// W's columns get back the lengths that they came with.
template <class Scalar, class Layout, class Space>
void unscale_block(Call<Scalar, Layout, Space>& call) {
  WorkspaceScope<> scope(call.block.context);
  const auto factors = SmallMatrix<Scalar>::scratch(scope, 1, call.block.b);
  const auto inverse = SmallMatrix<RealOf<Scalar>>::scratch(scope, 1, call.block.b);
  dense::copy(call.lengths.scales, inverse);
  dense::reciprocals(inverse);
  dense::fill(factors, Scalar(1));
  dense::scale_columns(factors, inverse, factors);
  scale_columns(call.block.w, factors);
  call.findings.words += 2 * call.block.b;
  call.image.forget();
}

/// image = B W with W's columns scaled, W itself being as it was. Throws where that holds NaN or Inf.
template <class Scalar, class Layout, class Space>
void measure_image(Call<Scalar, Layout, Space>& call, const SmallMatrix<Scalar>& factors,
                   const SmallMatrix<RealOf<Scalar>>& norms) {
  const auto& block = call.block;
  WorkspaceScope<Space> scope(block.context);
  const auto scaled = scratch_like(scope, block.w, block.b);
  copy(block.w, scaled);
  scale_columns(scaled, factors);
  call.image.form_from(scaled, call.findings);
  call.findings.words += 4 * block.b;
  measure_out_of_range(call, call.image.vectors(), norms, 1);
  require_finite("B W for W", *block.whole, norms.block(0, 1, 0, block.b), block.first_column);
}

/// For squares out of range: finds out why. NaN or Inf throw, with W and V as they were; else W's columns are scaled by
/// powers of two to lengths near 1. Columns of zeros stay.
template <class Scalar, class Layout, class Space>
void repair_range(Call<Scalar, Layout, Space>& call) {
  const auto& block = call.block;
  using Real = RealOf<Scalar>;
  using RealSmall = SmallMatrix<Real>;
  catch_up(call);
  WorkspaceScope<> scope(block.context);
  const auto norms = RealSmall::scratch(scope, 3, block.b);
  measure_out_of_range(call, block.w, norms, 3);
  require_finite("W", *block.whole, norms.block(0, 1, 0, block.b), block.first_column);
  if (dense::first_non_finite_column(call.products.s) >= 0) {
    block.v.for_pieces([&](const auto& part, std::int64_t first, std::int64_t) {
      for (std::int64_t begin = 0; begin < part.width(); begin += block.b) {  // no wider than W: little memory
        const std::int64_t width = std::min(block.b, part.width() - begin);
        const auto piece = norms.block(0, 1, 0, width);
        measure_out_of_range(call, part.columns(begin, begin + width), piece, 1);
        require_finite("V", block.v, piece, first + begin);
      }
    });
    measure_out_of_range(call, block.w, norms, 3);
  }
  dense::power_of_two_scales(norms, call.lengths.scales);
  const auto factors = SmallMatrix<Scalar>::scratch(scope, 1, block.b);
  dense::fill(factors, Scalar(1));
  dense::scale_columns(factors, call.lengths.scales, factors);
  call.image.forget();
  call.image.lengths_known = false;
  if (block.metric != nullptr) measure_image(call, factors, norms);
  scale_columns(block.w, factors);
  call.findings.words += 2 * block.b;
  call.lengths.scaled = true;
  call.findings.note(Reason::badly_scaled);
  call.products.forget();
  reduce(call);
  if (call.products.finite()) return;
  unscale_block(call);
  throw NotFiniteError("orth: V^H W overflows, W having unit columns: V = " + block.v.describe() +
                       " is far from orthonormal");
}

/// One reduction where all is well: that of the first sweep. Afterwards call.lengths.original is set.
template <class Scalar, class Layout, class Space>
void look_at_block(Call<Scalar, Layout, Space>& call) {
  using Real = RealOf<Scalar>;
  reduce(call);
  constexpr Real precision = epsilon<Scalar> * epsilon<Scalar>;
  const Real low = std::numeric_limits<Real>::min() / precision;
  const Real high = std::numeric_limits<Real>::max() * precision;
  if (!call.products.finite() || !dense::within(call.products.squares, low, high)) repair_range(call);
  require_definite(call);
  dense::copy(call.products.squares, call.lengths.original);
  call.image.end_first_look();
}

/// Coefficients of the caller's block from those of the scaled one.
template <class Scalar, class Layout, class Space>
void undo_scales(Call<Scalar, Layout, Space>& call) {
  if (!call.lengths.scaled) return;
  dense::reciprocals(call.lengths.scales);
  dense::scale_columns(call.coefficients.s, call.lengths.scales, call.coefficients.s);
  dense::scale_columns(call.coefficients.r, call.lengths.scales, call.coefficients.r);
}

}  // namespace blockvec::orth

#pragma once

#include <cstdio>
#include <string>

#include "orth/call.hpp"

/// Whether a metric's B is positive definite, as far as the vectors that it is applied to show.
namespace blockvec::orth {

template <class Scalar, class Layout, class Space>
[[noreturn]] void throw_not_definite(const Call<Scalar, Layout, Space>& call, std::int64_t column, double square,
                                     double length, bool indefinite) {
  char numbers[160];
  std::snprintf(numbers, sizeof numbers, "x of length %.1e has x^H B x = %.1e, so B is %s", length, square,
                indefinite ? "indefinite" : "semi-definite to rounding");
  throw Error("orth: the inner product's B is not positive definite: in column " +
              std::to_string(call.block.first_column + column) + " of W = " + call.block.whole->describe() + ", " +
              numbers);
}

/// Of the block as it came (its lengths, and those of B W, are at hand from the first reduction): x^H B x at most
/// 16 sqrt(m + b) eps ||B|| x^H x cannot be told from nothing. ||B|| is the largest ratio seen of ||B x|| to ||x||.
template <class Scalar, class Layout, class Space>
void require_definite(Call<Scalar, Layout, Space>& call) {
  const auto& block = call.block;
  using Real = RealOf<Scalar>;
  if (block.metric == nullptr) return;
  Real norm = 0;
  for (std::int64_t j = 0; j < block.b; ++j) {
    const Real square = dense::entry(call.image.euclidean, 0, j);
    if (!(square > 0)) continue;
    const Real ratio = std::sqrt(dense::entry(call.image.squares, 0, j) / square);
    call.image.require_finite(ratio);
    norm = std::max(norm, ratio);
  }
  const Real share = 2 * block.tolerance * norm;
  for (std::int64_t j = 0; j < block.b; ++j) {
    const Real square = dense::entry(call.products.squares, 0, j), whole = dense::entry(call.image.euclidean, 0, j);
    if (!(whole > 0) || square > share * whole) continue;
    throw_not_definite(call, j, static_cast<double>(square), std::sqrt(static_cast<double>(whole)),
                       square < -share * whole);
  }
}

/// Of a column that has no B-length left: if a good part of it is still there, B does not see that part.
template <class Scalar, class Layout, class Space>
void require_vanished(Call<Scalar, Layout, Space>& call, std::int64_t j, RealOf<Scalar> square) {
  const auto& block = call.block;
  using Real = RealOf<Scalar>;
  if (block.metric == nullptr) return;
  WorkspaceScope<> scope(block.context);
  const auto norm = SmallMatrix<Real>::scratch(scope, 1, 1);
  column_norms(block.w.column(j), norm);
  call.findings.words += 1;
  const Real length = dense::entry(norm, 0, 0);
  const Real original = dense::entry(call.lengths.original, 0, j);  // of which this column now stands for a share
  const Real grown = original > 0 ? dense::entry(call.lengths.reference, 0, j) / original : Real(1);
  const Real whole = std::sqrt(dense::entry(call.image.euclidean, 0, j) * grown);
  if (!(length > std::sqrt(epsilon<Scalar>) * whole)) return;
  const Real rounding = block.tolerance * dense::entry(call.lengths.reference, 0, j);
  throw_not_definite(call, j, static_cast<double>(square), static_cast<double>(length), square < -rounding);
}

}  // namespace blockvec::orth

#pragma once

#include "orth/definiteness.hpp"
#include "orth/reduce.hpp"

namespace blockvec::orth {

/// Gram-Schmidt by columns: each is projected on those before it `least` to `most` times, a further time only where the
/// last one took more than half of its square ("twice is enough": Giraud, Langou, Rozloznik, van den Eshof 2005).
struct Repetition {
  int least = 1;
  int most = 1;
  /// A further time means V as well, and what went before on V counts: what rounding leaves of V in a column grows
  /// with what cancels, and would pass for something new.
  bool beside_basis = false;
};
/// Until nothing cancels; five times would be one for every quarter of the digits and one to spare.
constexpr Repetition repeated(int least, bool beside_basis = false) { return {least, 5, beside_basis}; }

/// W <- Q, its coefficients follow; columns that keep no more than rank_tolerance of their length become zero
/// and lost, and so does their diagonal entry of R. Reductions: one a projection, and one where the length of what is
/// left cancels in the Pythagorean formula. Words: of column j, 2j + 3 a projection, and 2m beside V.
template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> orthogonalize_columns(Call<Scalar, Layout, Space>& call, Repetition repetition) {
  const auto& block = call.block;
  using Real = RealOf<Scalar>;
  using Small = SmallMatrix<Scalar>;
  const std::int64_t b = block.b;
  const bool lengths_known = call.products.known != Known::none;
  bool stable = true;
  Real largest = 0, smallest = std::numeric_limits<Real>::infinity();  // share of its length that a column keeps
  WorkspaceScope<> scope(block.context);
  call.set_reference();
  const Small product = Small::scratch(scope, 1, 1);
  dense::fill(call.factor.r, Scalar(0));
  // The factor as far as it can be inverted: lost columns count as if they had been orthogonal.
  const Small& kept = call.factor.inverse;
  dense::set_identity(kept);
  const auto squared_norm = [](const Small& a) {
    const Real norm = dense::frobenius_norm(a);
    return norm * norm;
  };
  const bool repeats_basis = repetition.beside_basis && block.m > 0;
  const Small in_basis = Small::scratch(scope, block.m, b);  // W = V in_basis + Q R
  dense::fill(in_basis, Scalar(0));

  for (std::int64_t j = 0; j < b; ++j) {
    const auto column = block.w.column(j);
    const auto image = call.image.vectors().column(j);  // B times the column
    const auto before = block.w.columns(0, j);
    bool image_known = call.image.known();
    const Small t = call.work.block(0, j, 0, 1);
    const Small coefficients = call.factor.r.block(0, j, j, j + 1);
    const Real limit = block.tolerance * std::sqrt(dense::entry(call.lengths.reference, 0, j));
    const Small c = call.products.s.block(0, block.m, 0, 1);
    Real square = 0, square_before = 0;  // of the column's length, as it stands and as it came
    for (int pass = 1; pass <= repetition.most; ++pass) {
      if (!image_known) call.image.apply(column, image, call.findings);
      InnerProducts<Scalar, Layout, Space> products(block.context);
      if (pass == 1 && lengths_known) {
        square = dense::entry(call.products.squares, 0, j);
      } else {
        products.add(column, image, product);
        call.findings.words += 1;
      }
      if (j > 0) products.add(before, image, t);
      const bool with_basis = repeats_basis && pass > 1;
      if (with_basis) {
        block.v.for_pieces([&](const auto& piece, std::int64_t begin, std::int64_t end) {
          products.add(piece, image, c.block(begin, end, 0, 1));
        });
      }
      products.reduce();
      if (pass > 1 || !lengths_known) square = dense::real_entry(product, 0, 0);
      call.image.require_finite(square);
      if (pass == 1) square_before = square;
      if (!(std::sqrt(square) > limit) || (j == 0 && !repeats_basis)) break;
      Real part = 0;
      if (j > 0) {
        part = squared_norm(t);
        update(Scalar(-1), before, t, Scalar(1), column);
        image_known = false;
        call.findings.words += 2 * j + 3;
        dense::axpby(Scalar(1), t, Scalar(1), coefficients);
      }
      if (with_basis) {
        image_known = false;
        part += squared_norm(c);
        block.v.for_pieces([&](const auto& piece, std::int64_t begin, std::int64_t end) {
          update(Scalar(-1), piece, c.block(begin, end, 0, 1), Scalar(1), column);
        });
        call.findings.words += 2 * block.m;
        dense::axpby(Scalar(1), c, Scalar(1), in_basis.block(0, block.m, j, j + 1));
      }
      const bool first = repeats_basis && pass == 1;
      const Real whole = first ? std::max(square, dense::entry(call.lengths.before, 0, j)) : square;
      const bool enough = square - part >= whole / 2;
      if (enough) {
        square -= part;
      } else if (pass == repetition.most) {  // no digit may be left: measure
        call.image.apply(column, image, call.findings);
        image_known = true;
        inner_product(column, image, product);
        call.findings.words += 1;
        square = dense::real_entry(product, 0, 0);
        stable = false;
      }
      if (enough && pass >= repetition.least) break;
      if (pass == repetition.least && pass < repetition.most) {
        call.findings.note(Reason::ill_conditioned);
        call.findings.result.method.within = Within::cgs2;
      }
    }
    call.products.forget();
    const Small pivot = call.factor.r.block(j, j + 1, j, j + 1);
    const Real length = std::sqrt(std::max(square, Real(0)));
    if (!(length > limit)) {
      require_vanished(call, j, square);
      fill(column, Scalar(0));
      call.findings.words += 1;
      call.findings.note_lost(j);
      const Real square_of_length = dense::entry(call.lengths.before, 0, j);
      dense::fill(kept.block(j, j + 1, j, j + 1), Scalar(square_of_length > 0 ? std::sqrt(square_of_length) : Real(1)));
      continue;
    }
    const Real share = length / std::sqrt(square_before);
    largest = std::max(largest, share);
    smallest = std::min(smallest, share);
    scale(column, Scalar(1 / length));
    call.findings.words += 2;
    dense::fill(pivot, Scalar(length));
    dense::copy(call.factor.r.block(0, j + 1, j, j + 1), kept.block(0, j + 1, j, j + 1));
  }
  call.image.forget();
  if (largest > 0) call.findings.note_condition(largest / smallest);
  dense::triangular_inverse(kept, kept);
  const Real a = dense::amplification(call.lengths.before, kept);
  if (repeats_basis) call.coefficients.project(in_basis);
  call.coefficients.divide(call.factor.r);
  // A column whose last projection took little is orthogonal to those before it whatever a.
  return {true, stable ? Real(1) : a, a, 0};
}

}  // namespace blockvec::orth

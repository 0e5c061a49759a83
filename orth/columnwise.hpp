#pragma once

#include "orth/definiteness.hpp"
#include "orth/queued_columns.hpp"
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

/// What becomes of a block's columns, one after the other.
template <class Scalar, class Layout, class Space>
class ColumnwiseSweep {
 public:
  using Real = RealOf<Scalar>;
  using Small = SmallMatrix<Scalar>;
  /// Where a column is to be taken up: before its first projection, or after some that were made elsewhere.
  struct Start {
    int pass = 1;
    Real square_before = 0;  ///< of the column's length as it came; with pass > 1
  };

  ColumnwiseSweep(Call<Scalar, Layout, Space>& call, Repetition repetition)
      : call_(call),
        repetition_(repetition),
        lengths_known_(call.products.known != Known::none),
        repeats_basis_(repetition.beside_basis && call.block.m > 0),
        scope_(call.block.context),
        product_(Small::scratch(scope_, 1, 1)),
        kept_(call.factor.inverse),
        in_basis_(Small::scratch(scope_, call.block.m, call.block.b)) {
    call_.set_reference();
    dense::fill(call_.factor.r, Scalar(0));
    dense::set_identity(kept_);
    dense::fill(in_basis_, Scalar(0));
  }

  /// Projects column j and brings it to length 1. The host waits once a projection.
  void orthogonalize(std::int64_t j, const Start& start) {
    const auto& block = call_.block;
    const auto column = block.w.column(j);
    const auto image = call_.image.vectors().column(j);  // B times the column
    const auto before = block.w.columns(0, j);
    bool image_known = call_.image.known() && start.pass == 1;
    const Small t = call_.work.block(0, j, 0, 1);
    const Small coefficients = call_.factor.r.block(0, j, j, j + 1);
    const Real limit = least_length(j);
    const Small c = call_.products.s.block(0, block.m, 0, 1);
    Real square = 0, square_before = start.square_before;  // of the column's length, as it stands and as it came
    for (int pass = start.pass; pass <= repetition_.most; ++pass) {
      if (!image_known) call_.image.apply(column, image, call_.findings);
      InnerProducts<Scalar, Layout, Space> products(block.context);
      if (pass == 1 && lengths_known_) {
        square = dense::entry(call_.products.squares, 0, j);
      } else {
        products.add(column, image, product_);
        call_.findings.words += 1;
      }
      if (j > 0) products.add(before, image, t);
      const bool with_basis = repeats_basis_ && pass > 1;
      if (with_basis) {
        block.v.for_pieces([&](const auto& piece, std::int64_t begin, std::int64_t end) {
          products.add(piece, image, c.block(begin, end, 0, 1));
        });
      }
      products.reduce();
      if (pass > 1 || !lengths_known_) square = dense::real_entry(product_, 0, 0);
      call_.image.require_finite(square);
      if (pass == 1) square_before = square;
      if (!(std::sqrt(square) > limit) || (j == 0 && !repeats_basis_)) break;
      if (with_basis && squared_norm(c) > Trust<Real>::basis_limit * square) {  // V is to blame, and stays so
        stable_ = false;
        break;
      }
      Real part = 0;
      if (j > 0) {
        part = squared_norm(t);
        update(Scalar(-1), before, t, Scalar(1), column);
        image_known = false;
        call_.findings.words += 2 * j + 3;
        dense::axpby(Scalar(1), t, Scalar(1), coefficients);
      }
      if (with_basis) {
        image_known = false;
        part += squared_norm(c);
        block.v.for_pieces([&](const auto& piece, std::int64_t begin, std::int64_t end) {
          update(Scalar(-1), piece, c.block(begin, end, 0, 1), Scalar(1), column);
        });
        call_.findings.words += 2 * block.m;
        dense::axpby(Scalar(1), c, Scalar(1), in_basis_.block(0, block.m, j, j + 1));
      }
      const bool enough = square - part >= std::max(square, least_whole(j, pass)) / 2;
      if (enough) {
        square -= part;
      } else if (pass == repetition_.most) {  // no digit may be left: measure
        call_.image.apply(column, image, call_.findings);
        image_known = true;
        inner_product(column, image, product_);
        call_.findings.words += 1;
        square = dense::real_entry(product_, 0, 0);
        stable_ = false;
      }
      if (enough && pass >= repetition_.least) break;
      if (pass == repetition_.least && pass < repetition_.most) {
        call_.findings.note(Reason::ill_conditioned);
        call_.findings.result.method.within = Within::cgs2;
      }
    }
    call_.products.forget();
    const Real length = std::sqrt(std::max(square, Real(0)));
    if (!(length > limit)) return lose(j, square);
    scale(column, Scalar(1 / length));
    call_.findings.words += 2;
    keep(j, length, square_before);
  }

  /// All columns by projections that are queued on a device. The host takes up those that ask for more of them, or are
  /// lost, and queues the columns after them again.
  void orthogonalize_queued() {
    const std::int64_t b = call_.block.b;
    QueuedColumns<Scalar, Layout, Space> queue(call_.block.w);
    for (std::int64_t first = 0; first < b;) {
      queue.restart();
      for (std::int64_t j = first; j < b; ++j) queue_column(queue, j);
      call_.products.forget();
      const auto found = queue.results();
      const bool went_on = found.status.goes_on != 0;
      const std::int64_t end = went_on ? b : found.status.column;
      for (; first < b && first <= end; ++first) {
        const bool is_complete = first < end;
        const std::int64_t rows = is_complete || found.status.pass > 1 ? first : 0;
        dense::copy(found.r.block(0, rows, first, first + 1), call_.factor.r.block(0, rows, first, first + 1));
        const Real square_before = dense::entry(found.before, 0, first);
        if (is_complete) {
          keep(first, dense::real_entry(found.r, first, first), square_before);
        } else {
          orthogonalize(first, {found.status.pass, square_before});
        }
      }
    }
  }

  /// How far the result can be trusted; its coefficients follow.
  Trust<Real> conclude() {
    call_.image.forget();
    if (largest_ > 0) call_.findings.note_condition(largest_ / smallest_);
    dense::triangular_inverse(kept_, kept_);
    const Real a = dense::amplification(call_.lengths.before, kept_);
    if (repeats_basis_) call_.coefficients.project(in_basis_);
    call_.coefficients.divide(call_.factor.r);
    // A column whose last projection took little is orthogonal to those before it whatever a.
    return {true, stable_ ? Real(1) : a, a, 0};
  }

 private:
  static Real squared_norm(const Small& a) {
    const Real norm = dense::frobenius_norm(a);
    return norm * norm;
  }
  Real least_length(std::int64_t j) const {
    return call_.block.tolerance * std::sqrt(dense::entry(call_.lengths.reference, 0, j));
  }
  /// The first projection is compared with what the column was before one on V.
  Real least_whole(std::int64_t j, int pass) const {
    return repeats_basis_ && pass == 1 ? dense::entry(call_.lengths.before, 0, j) : Real(0);
  }

  void queue_column(QueuedColumns<Scalar, Layout, Space>& queue, std::int64_t j) {
    const auto& block = call_.block;
    const auto column = block.w.column(j);
    const auto image = call_.image.vectors().column(j);
    const int passes = repeats_basis_ || j == 0 ? 1 : repetition_.least;  // of those after the first V takes part
    for (int pass = 1; pass <= passes; ++pass) {
      if (pass > 1 || !call_.image.known()) call_.image.apply(column, image, call_.findings);
      const Real known = j == 0 && lengths_known_ ? dense::entry(call_.products.squares, 0, j) : Real(0);
      queue.project(j, pass, image, {least_length(j), least_whole(j, pass), pass == passes},
                    j == 0 && lengths_known_ ? &known : nullptr);
      call_.findings.words += (j == 0 && lengths_known_ ? 0 : j + 1) + j + 2;
    }
  }

  /// Column j has become a unit vector, as which it was `length` long.
  void keep(std::int64_t j, Real length, Real square_before) {
    const Real share = length / std::sqrt(square_before);
    largest_ = std::max(largest_, share);
    smallest_ = std::min(smallest_, share);
    dense::fill(call_.factor.r.block(j, j + 1, j, j + 1), Scalar(length));
    dense::copy(call_.factor.r.block(0, j + 1, j, j + 1), kept_.block(0, j + 1, j, j + 1));
  }
  /// Nothing is left of column j.
  void lose(std::int64_t j, Real square) {
    require_vanished(call_, j, square);
    fill(call_.block.w.column(j), Scalar(0));
    call_.findings.words += 1;
    call_.findings.note_lost(j);
    const Real square_of_length = dense::entry(call_.lengths.before, 0, j);
    dense::fill(kept_.block(j, j + 1, j, j + 1), Scalar(square_of_length > 0 ? std::sqrt(square_of_length) : Real(1)));
  }

  Call<Scalar, Layout, Space>& call_;
  const Repetition repetition_;
  const bool lengths_known_, repeats_basis_;
  WorkspaceScope<> scope_;
  const Small product_;
  const Small& kept_;     // the factor as far as it can be inverted: lost columns count as if they had been orthogonal
  const Small in_basis_;  // W = V in_basis + Q R
  bool stable_ = true;
  Real largest_ = 0, smallest_ = std::numeric_limits<Real>::infinity();  // share of its length that a column keeps
};

/// W <- Q, its coefficients follow; columns that keep no more than rank_tolerance of their length become zero
/// and lost, and so does their diagonal entry of R. Reductions: one a projection, and one where the length of what is
/// left cancels in the Pythagorean formula. Words: of column j, 2j + 3 a projection, and 2m beside V. On a device the
/// projections that are sure to come are queued, and the host waits once for all of them. Where a column asks for
/// another one, or is lost, it waits once for each reduction of that column and once for the columns after it, whose
/// reductions are made again.
template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> orthogonalize_columns(Call<Scalar, Layout, Space>& call, Repetition repetition) {
  ColumnwiseSweep<Scalar, Layout, Space> columns(call, repetition);
  if constexpr (is_host_space<Space>) {
    for (std::int64_t j = 0; j < call.block.b; ++j) columns.orthogonalize(j, {});
  } else {
    columns.orthogonalize_queued();
  }
  return columns.conclude();
}

}  // namespace blockvec::orth

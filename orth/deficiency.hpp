#pragma once

#include <string>

#include "orth/steps.hpp"

/// Columns that turned out dependent on V and the columns before them.
namespace blockvec::orth {

/// A random unit vector orthogonal to V and all of W, into the column j of zeros; false if there seems to be none.
template <class Scalar, class Layout, class Space>
bool draw_column(Call<Scalar, Layout, Space>& call, std::int64_t j) {
  using Real = RealOf<Scalar>;
  using Small = SmallMatrix<Scalar>;
  constexpr int most_passes = 8;
  WorkspaceScope<Space> tall_scope(call.context);
  WorkspaceScope<> scope(call.context);
  const auto vector = scratch_like(tall_scope, call.w, 1);
  const auto image = call.metric == nullptr ? vector : scratch_like(tall_scope, call.w, 1);
  const Small s = Small::scratch(scope, call.m, 1);
  const Small t = Small::scratch(scope, call.b, 1);
  const Small product = Small::scratch(scope, 1, 1);
  // A stream of its own: a caller who starts a basis from fill_random with the same seed has those vectors in V.
  constexpr std::uint64_t stream = 0x6f7274686f676f6e;
  fill_random(vector, call.options.seed ^ stream, call.draws++);
  Real first = 0;
  for (int pass = 0; pass < most_passes; ++pass) {
    call.apply_metric_to(vector, image);
    {
      InnerProducts<Scalar, Layout, Space> products(call.context);
      call.v.for_pieces([&](const auto& piece, std::int64_t begin, std::int64_t end) {
        products.add(piece, image, s.block(begin, end, 0, 1));
      });
      products.add(call.w, image, t).add(vector, image, product).reduce();
    }
    const Real square = dense::real_entry(product, 0, 0);
    call.require_finite_image(square);
    if (pass == 0) first = square;
    if (!(square > call.tolerance * call.tolerance * first)) return false;
    call.v.for_pieces([&](const auto& piece, std::int64_t begin, std::int64_t end) {
      update(Scalar(-1), piece, s.block(begin, end, 0, 1), Scalar(1), vector);
    });
    update(Scalar(-1), call.w, t, Scalar(1), vector);
    call.words += 2 * (call.m + call.b) + 7;
    const Real s_norm = dense::frobenius_norm(s), t_norm = dense::frobenius_norm(t);
    const Real part = s_norm * s_norm + t_norm * t_norm;
    if (part <= square / 2) {
      scale(vector, Scalar(1 / std::sqrt(square - part)));
      copy(vector, call.w.column(j));
      call.words += 4;
      return true;
    }
  }
  return false;
}

template <class Scalar, class Layout, class Space>
void replace_lost(Call<Scalar, Layout, Space>& call) {
  std::int64_t room = call.w.global_rows() - call.m - call.result.rank;
  for (std::int64_t j = 0; j < call.b; ++j) {
    if (!call.lost[j]) continue;
    bool drawn = false;
    for (int attempt = 0; attempt < 3 && room > 0 && !drawn; ++attempt) drawn = draw_column(call, j);
    if (drawn) {
      --room;
    } else {
      call.result.reason = Reason::no_room;
    }
  }
}

/// Moves the columns that are kept to the front, with their rows of R.
template <class Scalar, class Layout, class Space>
void drop_lost(Call<Scalar, Layout, Space>& call) {
  std::int64_t kept = 0;
  for (std::int64_t j = 0; j < call.b; ++j) {
    if (call.lost[j]) continue;
    if (kept < j) {
      copy(call.w.column(j), call.w.column(kept));
      fill(call.w.column(j), Scalar(0));
      call.words += 3;
      dense::copy(call.r_total.block(j, j + 1, 0, call.b), call.r_total.block(kept, kept + 1, 0, call.b));
      dense::fill(call.r_total.block(j, j + 1, 0, call.b), Scalar(0));
    }
    ++kept;
  }
}

/// Last of all: outputs are set, and the history knows.
template <class Tall, class Basis>
void require_full_rank(const Options& options, const Tall& w, const Basis& v, const Result& result) {
  if (result.lost.empty() || options.deficiency != Deficiency::report) return;
  std::string columns;
  for (const std::int64_t j : result.lost) columns += (columns.empty() ? "" : ", ") + std::to_string(j);
  throw RankError("orth: W = " + w.describe() + " has rank " + std::to_string(result.rank) +
                      (v.width() > 0 ? " beside V = " + v.describe() : "") + "; dependent columns: " + columns,
                  result);
}

/// Fills result.rank and result.lost and does what the options say about lost columns.
template <class Scalar, class Layout, class Space>
void settle_deficiency(Call<Scalar, Layout, Space>& call) {
  Result& result = call.result;
  result.rank = call.b - std::count(call.lost, call.lost + call.b, true);
  if (result.rank == call.b) return;
  result.reason = Reason::rank_deficient;
  for (std::int64_t j = 0; j < call.b; ++j) {
    if (call.lost[j]) result.lost.push_back(j);
  }
  call.image_known = false;
  if (call.options.deficiency == Deficiency::replace) return replace_lost(call);
  if (call.keeps_lost_in_place) return;
  drop_lost(call);
}

}  // namespace blockvec::orth

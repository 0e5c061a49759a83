#pragma once

#include <string>

#include "orth/reduce.hpp"

/// Columns that turned out dependent on V and the columns before them.
namespace blockvec::orth {

/// A random unit vector orthogonal to V and all of W, into the column j of zeros; false if there seems to be none.
template <class Scalar, class Layout, class Space>
bool draw_column(Call<Scalar, Layout, Space>& call, std::int64_t j) {
  const auto& block = call.block;
  using Real = RealOf<Scalar>;
  using Small = SmallMatrix<Scalar>;
  constexpr int most_passes = 8;
  WorkspaceScope<Space> tall_scope(block.context);
  WorkspaceScope<> scope(block.context);
  const auto vector = scratch_like(tall_scope, block.w, 1);
  const auto image = block.metric == nullptr ? vector : scratch_like(tall_scope, block.w, 1);
  const Small s = Small::scratch(scope, block.m, 1);
  const Small t = Small::scratch(scope, block.b, 1);
  const Small product = Small::scratch(scope, 1, 1);
  // A stream of its own: a caller who starts a basis from fill_random with the same seed has those vectors in V.
  constexpr std::uint64_t stream = 0x6f7274686f676f6e;
  fill_random(vector, block.options.seed ^ stream, call.draws++);
  Real first = 0;
  for (int pass = 0; pass < most_passes; ++pass) {
    call.image.apply(vector, image, call.findings);
    {
      InnerProducts<Scalar, Layout, Space> products(block.context);
      block.v.for_pieces([&](const auto& piece, std::int64_t begin, std::int64_t end) {
        products.add(piece, image, s.block(begin, end, 0, 1));
      });
      products.add(block.w, image, t).add(vector, image, product).reduce();
    }
    const Real square = dense::real_entry(product, 0, 0);
    call.image.require_finite(square);
    if (pass == 0) first = square;
    if (!(square > block.tolerance * block.tolerance * first)) return false;
    block.v.for_pieces([&](const auto& piece, std::int64_t begin, std::int64_t end) {
      update(Scalar(-1), piece, s.block(begin, end, 0, 1), Scalar(1), vector);
    });
    update(Scalar(-1), block.w, t, Scalar(1), vector);
    call.findings.words += 2 * (block.m + block.b) + 7;
    const Real s_norm = dense::frobenius_norm(s), t_norm = dense::frobenius_norm(t);
    const Real part = s_norm * s_norm + t_norm * t_norm;
    if (part <= square / 2) {
      scale(vector, Scalar(1 / std::sqrt(square - part)));
      copy(vector, block.w.column(j));
      call.findings.words += 4;
      return true;
    }
  }
  return false;
}

template <class Scalar, class Layout, class Space>
void replace_lost(Call<Scalar, Layout, Space>& call) {
  std::int64_t room = call.block.w.global_rows() - call.block.m - call.findings.result.rank;
  for (std::int64_t j = 0; j < call.block.b; ++j) {
    if (!call.findings.lost[j]) continue;
    bool drawn = false;
    for (int attempt = 0; attempt < 3 && room > 0 && !drawn; ++attempt) drawn = draw_column(call, j);
    if (drawn) {
      --room;
    } else {
      call.findings.result.reason = Reason::no_room;
    }
  }
}

/// Moves the columns that are kept to the front, with their rows of R.
template <class Scalar, class Layout, class Space>
void drop_lost(Call<Scalar, Layout, Space>& call) {
  std::int64_t kept = 0;
  for (std::int64_t j = 0; j < call.block.b; ++j) {
    if (call.findings.lost[j]) continue;
    if (kept < j) {
      copy(call.block.w.column(j), call.block.w.column(kept));
      fill(call.block.w.column(j), Scalar(0));
      call.findings.words += 3;
      dense::copy(call.coefficients.r.block(j, j + 1, 0, call.block.b),
                  call.coefficients.r.block(kept, kept + 1, 0, call.block.b));
      dense::fill(call.coefficients.r.block(j, j + 1, 0, call.block.b), Scalar(0));
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
  Result& result = call.findings.result;
  result.rank = call.block.b - call.findings.lost_columns();
  if (result.rank == call.block.b) return;
  result.reason = Reason::rank_deficient;
  for (std::int64_t j = 0; j < call.block.b; ++j) {
    if (call.findings.lost[j]) result.lost.push_back(j);
  }
  call.image.forget();
  if (call.block.options.deficiency == Deficiency::replace) return replace_lost(call);
  if (call.block.is_part) return;
  drop_lost(call);
}

}  // namespace blockvec::orth

#include "blockvec/instantiate.hpp"
#include "orth/checks.hpp"
#include "orth/record.hpp"
#include "orth/skeletons/delayed.hpp"
#include "orth/skeletons/staged.hpp"

namespace blockvec::orth {
namespace {

template <class Scalar, class Layout, class Space>
void run_skeleton(Factorization<Scalar, Layout, Space>& f) {
  switch (f.options.between) {
    case Between::p_1s:
    case Between::p_2s:
    case Between::p_adaptive:
      return Delayed<Scalar, Layout, Space>(f).run();
    case Between::pip_plus:
    case Between::two_stage:
      return Staged<Scalar, Layout, Space>(f).run();
    default:
      f.keeps_image = f.given != nullptr && f.given->image_of_block.width() == f.n;
      for (std::int64_t begin = 0; begin < f.n; begin += f.width) {
        const std::int64_t end = std::min(f.n, begin + f.width);
        if (!f.settle(begin, end, end, f.options)) return f.leave_from(end);
      }
  }
}

/// Columns that were lost are zero: the others move to the front, with their rows of R.
template <class Scalar, class Layout, class Space>
void drop_lost_columns(Factorization<Scalar, Layout, Space>& f) {
  auto next_lost = f.result.lost.begin();
  std::int64_t kept = 0;
  for (std::int64_t j = 0; j < f.n; ++j) {
    if (next_lost != f.result.lost.end() && *next_lost == j) {
      ++next_lost;
      continue;
    }
    if (kept < j) {
      const auto row = f.r.block(j, j + 1, 0, f.n);
      copy(f.x.column(j), f.x.column(kept));
      fill(f.x.column(j), Scalar(0));
      f.words += 3;
      dense::copy(row, f.r.block(kept, kept + 1, 0, f.n));
      dense::fill(row, Scalar(0));
    }
    ++kept;
  }
}

}  // namespace

template <class Scalar, class Layout, class Space>
Result Orthogonalizer::factorize(const std::type_identity_t<Basis<Scalar, Layout, Space>>& v,
                                 const BlockVector<Scalar, Layout, Space>& x,
                                 const std::type_identity_t<SmallMatrix<Scalar, Space>>* s,
                                 const std::type_identity_t<SmallMatrix<Scalar, Space>>* r, std::int64_t width,
                                 const std::type_identity_t<Metric<Scalar, Layout, Space>>* metric) {
  constexpr const char* verb = "factorize";
  return context_.collective([&]() -> Result {
    require_operands(verb, context_, v, x);
    require_metric(verb, v, x, metric);
    require_coefficients(verb, "S", s, v.width(), x.width());
    require_coefficients(verb, "R", r, x.width(), x.width());
    if (width < 1)
      throw ShapeError("orth::factorize: blocks of " + std::to_string(width) + " columns, expected 1 or more");
    if (options_.panel_width % width != 0) {
      throw ShapeError("orth::factorize: panels of " + std::to_string(options_.panel_width) +
                       " columns, expected a multiple of the block's " + std::to_string(width));
    }
    if (x.width() == 0) return {};
    if (v.pieces() == v.most_pieces) throw ShapeError("orth::factorize: V may have three pieces, X being a fourth");
    const std::int64_t reductions_before = context_.reductions();
    Factorization<Scalar, Layout, Space> f(context_, options_, draws_, v, x, width, metric);
    f.result.method = {options_.between, options_.within, true, true};
    run_skeleton(f);
    Result& result = f.result;
    std::sort(result.lost.begin(), result.lost.end());
    result.rank = f.n - f.missing - static_cast<std::int64_t>(result.lost.size());
    const bool moved = !result.lost.empty() && options_.deficiency != Deficiency::replace;
    if (moved) drop_lost_columns(f);
    if (metric != nullptr && metric->image_of_block.width() == f.n && (moved || !f.keeps_image)) {
      context_.callers([&] { metric->apply(x, metric->image_of_block); });
      result.applications += f.n;
    }
    if (s != nullptr) detail::assign(f.s, *s);
    if (r != nullptr) detail::assign(f.r, *r);
    result.reductions = context_.reductions() - reductions_before;
    result.passes = static_cast<double>(f.words) / static_cast<double>(f.n);
    record(context_, verb, {options_.between, options_.within, true, true}, result, f.n);
    require_full_rank(options_, x, v, result);
    return std::move(f.result);
  });
}

template <class Scalar, class Layout, class Space>
Result Orthogonalizer::factorize(const BlockVector<Scalar, Layout, Space>& x,
                                 const std::type_identity_t<SmallMatrix<Scalar, Space>>* r, std::int64_t width,
                                 const std::type_identity_t<Metric<Scalar, Layout, Space>>* metric) {
  return factorize<Scalar, Layout, Space>({}, x, nullptr, r, width, metric);
}

#define BLOCKVEC_FACTORIZE(Scalar, Layout, Space)                                                                 \
  template Result Orthogonalizer::factorize(const Basis<Scalar, Layout, Space>&,                                  \
                                            const BlockVector<Scalar, Layout, Space>&,                            \
                                            const SmallMatrix<Scalar, Space>*, const SmallMatrix<Scalar, Space>*, \
                                            std::int64_t, const Metric<Scalar, Layout, Space>*);                  \
  template Result Orthogonalizer::factorize(const BlockVector<Scalar, Layout, Space>&,                            \
                                            const SmallMatrix<Scalar, Space>*, std::int64_t,                      \
                                            const Metric<Scalar, Layout, Space>*);
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_FACTORIZE)

}  // namespace blockvec::orth

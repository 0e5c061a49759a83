#include <blockvec/orth/orthogonalizer.hpp>

#include "blockvec/instantiate.hpp"
#include "orth/call.hpp"
#include "orth/deficiency.hpp"
#include "orth/projection.hpp"
#include "orth/range.hpp"
#include "orth/recovery.hpp"
#include "orth/sweeps.hpp"

namespace blockvec::orth {
namespace {

// Text is put together on failure alone: a call that fits allocates nothing.
template <class Tall>
void require_operands(const char* verb, const Context& context, const Tall& v, const Tall& w) {
  if (!w.context().same(context)) {
    throw ShapeError(std::string("orth::") + verb + ": W = " + w.describe() +
                     ": expected the orthogonalizer's context");
  }
  if (v.width() > 0 && (!v.context().same(context) || !(v.rows() == w.rows()))) {
    throw ShapeError(std::string("orth::") + verb + ": V = " + v.describe() + " and W = " + w.describe() +
                     ": expected the same context and distribution of rows");
  }
}

template <class Small>
void require_coefficients(const char* verb, const char* name, const Small* small, std::int64_t rows,
                          std::int64_t columns) {
  if (small == nullptr || (small->rows() == rows && small->columns() == columns)) return;
  throw ShapeError(std::string("orth::") + verb + ": " + name + " is " + std::to_string(small->rows()) + " x " +
                   std::to_string(small->columns()) + ", expected " + std::to_string(rows) + " x " +
                   std::to_string(columns));
}

/// The sweeps that the options ask for, no more; of the second only as much as is needed.
template <class Scalar, class Layout, class Space>
Sweep<RealOf<Scalar>> chosen_sweeps(Call<Scalar, Layout, Space>& call) {
  const Inter inter = call.options.inter;
  if (call.m == 0) return bcgs_sweep(call);
  const bool pythagorean = inter == Inter::pip || inter == Inter::pipi_plus;
  const auto first = pythagorean ? pip_sweep(call) : bcgs_sweep(call);
  const bool two = inter == Inter::bcgs2 || inter == Inter::pipi_plus;
  if (!two || !first.done || (first.certified() && call.options.adaptive)) return first;
  if (first.projected() && call.options.adaptive) return tidy_sweep(call, first);
  return pythagorean ? pip_sweep(call) : bcgs_sweep(call);
}

template <class Scalar, class Layout, class Space>
void finish(Call<Scalar, Layout, Space>& call, const SmallMatrix<Scalar, Space>* s,
            const SmallMatrix<Scalar, Space>* r) {
  undo_scales(call);
  if (s != nullptr) dense::copy(call.s_total, *s);
  if (r != nullptr) dense::copy(call.r_total, *r);
  call.result.reductions = call.context.reductions() - call.reductions_before;
  call.result.passes = static_cast<double>(call.words) / static_cast<double>(call.b);
}

template <class Scalar, class Layout, class Space>
Result orthonormalize(Call<Scalar, Layout, Space>& call, const SmallMatrix<Scalar, Space>* s,
                      const SmallMatrix<Scalar, Space>* r) {
  call.result.method = {call.options.inter, call.options.intra, call.m > 0, true};
  look_at_block(call);
  auto sweep = chosen_sweeps(call);
  if (!sweep.certified() && call.options.escalate) sweep = escalate(call, sweep);
  Result& result = call.result;
  result.orthonormal = sweep.certified();
  if (sweep.done || call.options.escalate) {
    settle_deficiency(call);
  } else {
    result.rank = call.b;
  }
  if (!call.options.escalate) result.rank = std::min(result.rank, call.visible_rank);
  if (call.options.escalate && !result.orthonormal) result.reason = Reason::bad_basis;
  finish(call, s, r);
  return std::move(call.result);
}

}  // namespace

template <class Scalar>
RealOf<Scalar> rank_tolerance(std::int64_t m, std::int64_t b) {
  return 8 * std::sqrt(static_cast<RealOf<Scalar>>(m + b)) * epsilon<Scalar>;
}

template <class Scalar, class Layout, class Space>
Result Orthogonalizer::project(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                               const std::type_identity_t<SmallMatrix<Scalar, Space>>* s) {
  require_operands("project", context_, v, w);
  require_coefficients("project", "S", s, v.width(), w.width());
  if (v.width() == 0 || w.width() == 0) {
    Result nothing;
    nothing.rank = w.width();
    return nothing;
  }
  Call<Scalar, Layout, Space> call(context_, options_, draws_, v, w);
  project_block(call);
  finish<Scalar, Layout, Space>(call, s, nullptr);
  return std::move(call.result);
}

template <class Scalar, class Layout, class Space>
Result Orthogonalizer::normalize(const BlockVector<Scalar, Layout, Space>& w,
                                 const std::type_identity_t<SmallMatrix<Scalar, Space>>* r) {
  return project_and_normalize<Scalar, Layout, Space>(w.columns(0, 0), w, nullptr, r);
}

template <class Scalar, class Layout, class Space>
Result Orthogonalizer::project_and_normalize(const BlockVector<Scalar, Layout, Space>& v,
                                             const BlockVector<Scalar, Layout, Space>& w,
                                             const std::type_identity_t<SmallMatrix<Scalar, Space>>* s,
                                             const std::type_identity_t<SmallMatrix<Scalar, Space>>* r) {
  require_operands("project_and_normalize", context_, v, w);
  require_coefficients("project_and_normalize", "S", s, v.width(), w.width());
  require_coefficients("project_and_normalize", "R", r, w.width(), w.width());
  if (w.width() == 0) return {};
  Call<Scalar, Layout, Space> call(context_, options_, draws_, v, w);
  return orthonormalize(call, s, r);
}

template <class Scalar, class Layout, class Space>
RealOf<Scalar> orthogonality_loss(const BlockVector<Scalar, Layout, Space>& v) {
  using Small = SmallMatrix<Scalar, Space>;
  WorkspaceScope<Space> scope(v.context());
  const Small gram = Small::scratch(scope, v.width(), v.width());
  const Small identity = Small::scratch(scope, v.width(), v.width());
  inner_product(v, v, gram);
  dense::set_identity(identity);
  dense::axpby(Scalar(-1), identity, Scalar(1), gram);
  return dense::frobenius_norm(gram);
}

#define BLOCKVEC_ORTH_SCALAR(Scalar) template RealOf<Scalar> rank_tolerance<Scalar>(std::int64_t, std::int64_t);
BLOCKVEC_FOR_SCALARS(BLOCKVEC_ORTH_SCALAR)

#define BLOCKVEC_ORTH(Scalar, Layout, Space)                                                \
  template Result Orthogonalizer::project(const BlockVector<Scalar, Layout, Space>&,        \
                                          const BlockVector<Scalar, Layout, Space>&,        \
                                          const SmallMatrix<Scalar, Space>*);               \
  template Result Orthogonalizer::normalize(const BlockVector<Scalar, Layout, Space>&,      \
                                            const SmallMatrix<Scalar, Space>*);             \
  template Result Orthogonalizer::project_and_normalize(                                    \
      const BlockVector<Scalar, Layout, Space>&, const BlockVector<Scalar, Layout, Space>&, \
      const SmallMatrix<Scalar, Space>*, const SmallMatrix<Scalar, Space>*);                \
  template RealOf<Scalar> orthogonality_loss(const BlockVector<Scalar, Layout, Space>&);
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_ORTH)

}  // namespace blockvec::orth

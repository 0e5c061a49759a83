#pragma once

#include <optional>

#include "orth/deficiency.hpp"
#include "orth/extended.hpp"
#include "orth/range.hpp"
#include "orth/recovery.hpp"
#include "orth/sweeps.hpp"

/// A block against its basis, from the first look to the last: what the verbs for one block do, and factorize for each.
namespace blockvec::orth {

enum class Kind { none, projected, by_blocks, pythagorean, extended };

/// The sweeps of which a method for one block consists.
struct Plan {
  Kind first = Kind::pythagorean;
  Kind second = Kind::none;
};
inline Plan plan_of(Inter inter) {
  switch (inter) {
    case Inter::bcgs:
      return {Kind::projected, Kind::none};
    case Inter::bmgs:
      return {Kind::by_blocks, Kind::none};
    case Inter::bcgs2:
    case Inter::bcgsi_a:
      return {Kind::projected, Kind::projected};
    case Inter::pip:
      return {Kind::pythagorean, Kind::none};
    case Inter::pip_dd:
      return {Kind::extended, Kind::pythagorean};
    case Inter::p_2s:
      return {Kind::projected, Kind::pythagorean};
    case Inter::pip_plus:
    case Inter::pipi_plus:
    case Inter::p_1s:
    case Inter::p_adaptive:
    case Inter::two_stage:
      return {Kind::pythagorean, Kind::pythagorean};
  }
  return {};
}

template <class Scalar, class Layout, class Space>
Sweep<RealOf<Scalar>> sweep_of(Call<Scalar, Layout, Space>& call, Kind kind, Another another) {
  if (kind == Kind::extended && call.extended != nullptr) return extended_sweep(call, another);
  return kind >= Kind::pythagorean ? pip_sweep(call, another) : bcgs_sweep(call, kind == Kind::by_blocks);
}

/// The sweeps that the options ask for, no more; of the second only as much as is needed.
template <class Scalar, class Layout, class Space>
Sweep<RealOf<Scalar>> chosen_sweeps(Call<Scalar, Layout, Space>& call) {
  if (call.m == 0) return bcgs_sweep(call);
  const Plan plan = plan_of(call.inter());
  const Another otherwise = call.options.escalate ? Another::may : Another::none;
  const bool two = plan.second != Kind::none;
  const Another again = two ? Another::must : otherwise;
  auto first = sweep_of(call, plan.first, again);
  if (!first.done && call.options.inter == Inter::p_adaptive) {
    first = sweep_of(call, Kind::projected, again);
    call.result.method.inter = Inter::p_2s;
  }
  if (!two || !first.done || (first.certified() && call.options.adaptive)) return first;
  if (first.projected() && call.options.adaptive) return tidy_sweep(call, first);
  return sweep_of(call, plan.second, otherwise);
}

/// B Q, which may have followed from the caller's B V.
template <class Scalar, class Layout, class Space>
void require_finite_result(Call<Scalar, Layout, Space>& call) {
  WorkspaceScope<> scope(call.context);
  const auto norms = SmallMatrix<RealOf<Scalar>>::scratch(scope, 1, call.b);
  column_norms(call.image, norms);
  call.words += call.b;
  if (dense::first_non_finite_column(norms) >= 0) {
    call.require_finite_image(std::numeric_limits<RealOf<Scalar>>::quiet_NaN());
  }
}

/// What is left to do when W is as it shall be: coefficients of the caller's block, B W, costs.
template <class Scalar, class Layout, class Space>
void finish(Call<Scalar, Layout, Space>& call, const SmallMatrix<Scalar, Space>* s,
            const SmallMatrix<Scalar, Space>* r) {
  undo_scales(call);
  if (s != nullptr) detail::assign(call.s_total, *s);
  if (r != nullptr) detail::assign(call.r_total, *r);
  if (call.metric != nullptr && call.metric->image_of_block.width() == call.b) {
    call.apply_metric();
    if (call.metric->image_of_basis.width() > 0 && !call.trusts_image) require_finite_result(call);
  }
  call.result.reductions = call.context.reductions() - call.reductions_before;
  call.result.passes = static_cast<double>(call.words) / static_cast<double>(call.b);
}

template <class Scalar, class Layout, class Space>
Result orthonormalize(Call<Scalar, Layout, Space>& call, const SmallMatrix<Scalar, Space>* s,
                      const SmallMatrix<Scalar, Space>* r) {
  call.begin_method(call.m > 0, true);
  std::optional<ExtendedProducts<Scalar, Layout, Space>> extended;
  WorkspaceScope<> scope(call.context);
  if (call.inter() == Inter::pip_dd && call.m > 0) {
    using Small = SmallMatrix<Scalar>;
    const Small defect = call.defect != nullptr ? *call.defect : Small::scratch(scope, call.m, call.m);
    extended.emplace(scope, call.m, call.b, defect, call.known_defect);
    call.extended = &*extended;
  }
  look_at_block(call);
  auto sweep = chosen_sweeps(call);
  call.extended = nullptr;
  if (!sweep.certified() && call.options.escalate) sweep = escalate(call, sweep);
  Result& result = call.result;
  result.orthonormal = sweep.certified();
  call.broken = !call.options.escalate && (!sweep.done || call.visible_rank < call.b);
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

}  // namespace blockvec::orth

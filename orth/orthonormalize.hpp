#pragma once

#include <optional>

#include "orth/deficiency.hpp"
#include "orth/extended.hpp"
#include "orth/queued_sweep.hpp"
#include "orth/range.hpp"
#include "orth/recovery.hpp"
#include "orth/sweeps.hpp"

/// A block against its basis, from the first look to the last: what the verbs for one block do, and factorize for each.
namespace blockvec::orth {

template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> sweep_of(Call<Scalar, Layout, Space>& call, Kind kind, Another another) {
  if (kind == Kind::extended && call.extended != nullptr) return extended_sweep(call, another);
  return kind >= Kind::pythagorean ? pip_sweep(call, another) : bcgs_sweep(call, kind == Kind::by_blocks);
}

/// Whether a first sweep is to run on a device from its products to the change of W: a Pythagorean one after which,
/// where it is enough, no other one is asked for, on a W that follows V in one block vector.
template <class Scalar, class Layout, class Space>
bool may_be_queued(const Call<Scalar, Layout, Space>& call) {
  const auto& block = call.block;
  if (is_host_space<Space> || block.metric != nullptr || block.b > most_pythagorean_columns) return false;
  const Within within = block.within();
  if (block.m == 0) return within == Within::cholqr || (within == Within::cholqr2 && block.options.adaptive);
  const Plan plan = plan_of(block.between());
  return plan.first == Kind::pythagorean && (plan.second == Kind::none || block.options.adaptive) &&
         within != Within::svqb && block.v.precedes(block.w);
}

/// That sweep. Where it is not enough W is as it was, with its products at hand. One wait for the device.
template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> queued_first_sweep(Call<Scalar, Layout, Space>& call) {
  const auto& block = call.block;
  const std::int64_t m = block.m, b = block.b;
  const QueuedSweep<Scalar, Layout, Space> queued(block.v.joined(block.w), m,
                                                  pythagorean_limits<Scalar>(m, b, block.options.escalate));
  const auto sweep = queued.results();
  call.findings.words += m + b;
  if (sweep.status.certified == 0) {
    dense::copy(sweep.s, call.products.s);
    dense::copy(sweep.g, call.products.g);
    call.products.set_known(Known::all);
    return {};
  }
  ++call.findings.result.sweeps;
  call.findings.words += m + 2 * b;
  call.findings.note_condition(sweep.status.condition_estimate);
  dense::copy(sweep.s, call.coefficients.s);
  dense::copy(sweep.r, call.coefficients.r);
  const auto a = sweep.status.a;
  return {true, a, m > 0 ? a : 1, sweep.status.passed_on};
}

/// The sweeps that the options ask for, no more; of the second only as much as is needed.
template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> chosen_sweeps(Call<Scalar, Layout, Space>& call) {
  if (call.block.m == 0) return bcgs_sweep(call);
  const auto& options = call.block.options;
  const Plan plan = plan_of(call.block.between());
  const bool two = plan.second != Kind::none;
  const Another otherwise = options.escalate ? Another::may : Another::none;
  const Another again = !two ? otherwise : options.adaptive ? Another::may : Another::must;
  auto first = sweep_of(call, plan.first, again);
  if (!first.done && options.between == Between::p_adaptive) {
    first = sweep_of(call, Kind::projected, again);
    call.findings.result.method.between = Between::p_2s;
  }
  if (!two || !first.done) return first;
  switch (options.adaptive ? verdict_on(first) : Verdict::again) {
    case Verdict::done:
      return first;
    case Verdict::tidy:
      return tidy_sweep(call, first);
    default:
      return sweep_of(call, plan.second, otherwise);
  }
}

/// B Q, which may have followed from the caller's B V.
template <class Scalar, class Layout, class Space>
void require_finite_result(Call<Scalar, Layout, Space>& call) {
  WorkspaceScope<> scope(call.block.context);
  const auto norms = SmallMatrix<RealOf<Scalar>>::scratch(scope, 1, call.block.b);
  column_norms(call.image.vectors(), norms);
  call.findings.words += call.block.b;
  if (dense::first_non_finite_column(norms) >= 0) {
    call.image.require_finite(std::numeric_limits<RealOf<Scalar>>::quiet_NaN());
  }
}

/// What is left to do when W is as it shall be: coefficients of the caller's block, B W, costs.
template <class Scalar, class Layout, class Space>
void finish(Call<Scalar, Layout, Space>& call, const SmallMatrix<Scalar, Space>* s,
            const SmallMatrix<Scalar, Space>* r) {
  const auto& block = call.block;
  undo_scales(call);
  if (s != nullptr) detail::assign(call.coefficients.s, *s);
  if (r != nullptr) detail::assign(call.coefficients.r, *r);
  if (block.metric != nullptr && block.metric->image_of_block.width() == block.b) {
    call.image.form(call.findings);
    const bool met_before = block.first_column > 0;  // the caller's part of B V has been
    if (block.metric->image_of_basis.width() > 0 && !met_before) require_finite_result(call);
  }
  call.findings.finish(block.context);
}

/// V^H V - I, m x m, as far as its leading `known` columns.
template <class Scalar>
struct Defect {
  SmallMatrix<Scalar> matrix;
  std::int64_t known = 0;
};

/// `defect`: for pip-dd, which completes it; null: it is computed for this call.
template <class Scalar, class Layout, class Space>
Result orthonormalize(Call<Scalar, Layout, Space>& call, const SmallMatrix<Scalar, Space>* s,
                      const SmallMatrix<Scalar, Space>* r, const Defect<Scalar>* defect = nullptr) {
  const auto& block = call.block;
  const bool escalates = block.options.escalate;
  call.findings.begin(block.method(block.m > 0, true), block.options);
  std::optional<ExtendedProducts<Scalar, Layout, Space>> extended;
  WorkspaceScope<> scope(block.context);
  if (block.between() == Between::pip_dd && block.m > 0) {
    const auto own = [&] { return Defect<Scalar>{SmallMatrix<Scalar>::scratch(scope, block.m, block.m), 0}; };
    const Defect<Scalar> of_basis = defect != nullptr ? *defect : own();
    extended.emplace(scope, block.m, block.b, of_basis.matrix, of_basis.known);
    call.extended = &*extended;
  }
  Trust<RealOf<Scalar>> sweep;
  if (may_be_queued(call)) sweep = queued_first_sweep(call);
  if (!sweep.done) {
    look_at_block(call);
    sweep = chosen_sweeps(call);
    call.extended = nullptr;
  }
  if (!sweep.certified() && escalates) sweep = escalate(call, sweep);
  Result& result = call.findings.result;
  const std::int64_t visible_rank = call.findings.visible_rank;
  result.orthonormal = sweep.certified();
  call.findings.broken = !escalates && (!sweep.done || visible_rank < block.b);
  if (sweep.done || escalates) {
    settle_deficiency(call);
  } else {
    result.rank = block.b;
  }
  if (!escalates) result.rank = std::min(result.rank, visible_rank);
  if (escalates && !result.orthonormal) result.reason = Reason::bad_basis;
  finish(call, s, r);
  return std::move(result);
}

}  // namespace blockvec::orth

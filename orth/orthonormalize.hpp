#pragma once

#include <blockvec/conditional_sweep.hpp>
#include <optional>

#include "orth/deficiency.hpp"
#include "orth/extended.hpp"
#include "orth/queued_sweeps.hpp"
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

/// Whether another sweep follows the first one, of methods that may be queued.
template <class Scalar, class Layout, class Space>
Another after_first(const Block<Scalar, Layout, Space>& block) {
  const bool two = block.m > 0 ? plan_of(block.between()).second != Kind::none : sweeps_after_first(block.within()) > 0;
  return !two ? Another::none : block.options.adaptive ? Another::may : Another::must;
}

/// Whether the sweeps of a call may run on a device from the first products to the last change of W: Pythagorean ones,
/// by Cholesky, on a W that follows V in one block vector. Not in a reproducible context, whose sums the host makes.
template <class Scalar, class Layout, class Space>
bool may_be_queued(const Block<Scalar, Layout, Space>& block) {
  if (is_host_space<Space> || block.context.is_reproducible() || block.metric != nullptr) return false;
  if (block.b > most_pythagorean_columns) return false;
  const Within within = block.within();
  if (block.m == 0) return within == Within::cholqr || within == Within::cholqr2;
  return plan_of(block.between()).first == Kind::pythagorean && within != Within::svqb && block.v.precedes(block.w);
}

template <class Scalar, class Layout, class Space>
using Queued = std::optional<QueuedSweeps<Scalar, Layout, Space>>;

/// These sweeps, if they may be queued. By default for a caller who waits for their result.
template <class Scalar, class Layout, class Space>
Queued<Scalar, Layout, Space> queue_sweeps(const Block<Scalar, Layout, Space>& block,
                                           Verdicts verdicts = Verdicts::on_the_way) {
  Queued<Scalar, Layout, Space> queued;
  if (!may_be_queued(block)) return queued;
  queued.emplace(block.v.joined(block.w), block.m, pythagorean_limits<Scalar>(block.m, block.b, block.options.escalate),
                 after_first(block), verdicts);
  return queued;
}

/// Takes over what queued sweeps have come to: coefficients and costs, and the products of the one that did not change
/// W, if there is one. Returns the trust in the last one that did.
template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> adopt(Call<Scalar, Layout, Space>& call, const QueuedSweeps<Scalar, Layout, Space>& queued) {
  const std::int64_t m = call.block.m, b = call.block.b;
  const auto results = queued.results();
  Findings& findings = call.findings;
  auto& products = call.products;
  findings.reductions_before = call.block.context.reductions() - results.formed;
  findings.words += m + b;
  Trust<RealOf<Scalar>> trust;
  for (int i = 0; i < results.formed; ++i) {
    const auto& [status, s, g, r] = results.sweeps[i];
    const bool is_last = i + 1 == results.formed;
    if (status.changes == 0 || i == 0) {
      const bool all = s.rows() == m;
      if (all) dense::copy(s, products.s);
      dense::copy(g, products.g);
      products.set_known(all ? Known::all : Known::gram);
    }
    if (status.changes == 0) break;
    if (i == 0) {
      dense::copy(products.squares, call.lengths.original);
      call.image.end_first_look();
      dense::copy(s, call.coefficients.s);
      dense::copy(r, call.coefficients.r);
    } else {
      if (status.tidies == 0) call.coefficients.project(s);
      call.coefficients.divide(r);
    }
    products.forget();
    if (i == 0 || m > 0) ++findings.result.sweeps;  // a block without a basis takes one, whatever the method within
    const auto changed = status.tidies != 0 ? call.block.w : call.block.v.joined(call.block.w);
    const bool leaves_out = !is_last && results.sweeps[i + 1].s.rows() < m;
    findings.words += conditional_sweep_words(changed, b, !is_last && !leaves_out) + (leaves_out ? b : 0);
    findings.note_condition(status.condition_estimate);
    if (status.tidies != 0) {
      trust.inner = status.a;  // V was dealt with by the sweep before
    } else {
      trust = {true, status.a, m > 0 ? status.a : 1, status.passed_on};
    }
  }
  return trust;
}

/// The second one of the sweeps that the options ask for, after a first one that was not enough.
template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> second_sweep(Call<Scalar, Layout, Space>& call) {
  if (call.block.m == 0) {
    const auto sweep = gram_sweep(call, Within::cholqr, Another::none);
    return {sweep.done, sweep.inner, 1, 0};
  }
  return sweep_of(call, plan_of(call.block.between()).second,
                  call.block.options.escalate ? Another::may : Another::none);
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
      return second_sweep(call);
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

/// From the sweeps that have been queued, if any, to the end. `defect`: for pip-dd, which completes it; null: it is
/// computed for this call.
template <class Scalar, class Layout, class Space>
Result orthonormalize(Call<Scalar, Layout, Space>& call, const Queued<Scalar, Layout, Space>& queued,
                      const SmallMatrix<Scalar, Space>* s, const SmallMatrix<Scalar, Space>* r,
                      const Defect<Scalar>* defect = nullptr) {
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
  if (queued) sweep = adopt(call, *queued);
  if (!sweep.done) {
    look_at_block(call);
    sweep = chosen_sweeps(call);
    call.extended = nullptr;
  } else if (call.products.known != Known::none) {
    sweep = second_sweep(call);
  } else {
    call.findings.left_to_device = sweep.certified() || !escalates;
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

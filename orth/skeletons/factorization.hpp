#pragma once

#include <algorithm>

#include "orth/orthonormalize.hpp"

namespace blockvec::orth {

/// One call of factorize: a tall matrix that becomes Q block after block, beside a basis V. At any time
///     X_in = V S + X R,
/// S and R beginning as zero and the identity. Skeletons are written with what it offers.
template <class Scalar, class Layout, class Space>
struct Factorization {
  using Tall = BlockVector<Scalar, Layout, Space>;
  using Small = SmallMatrix<Scalar>;
  using Metric = orth::Metric<Scalar, Layout, Space>;
  using OneBlock = Call<Scalar, Layout, Space>;
  using Columns = Basis<Scalar, Layout, Space>;

  Factorization(const Context& context_, const Options& options_, std::int64_t& draws_, const Columns& v_,
                const Tall& x_, std::int64_t width_, const Metric* given_)
      : context(context_),
        options(options_),
        draws(draws_),
        v(v_),
        x(x_),
        m(v_.width()),
        n(x_.width()),
        width(width_),
        given(given_),
        scope(context_),
        coefficients(Small::scratch(scope, m + n, n)),
        s(coefficients.block(0, m, 0, n)),
        r(coefficients.block(m, m + n, 0, n)),
        defect{options.between == Between::pip_dd ? Small::scratch(scope, m + n, m + n) : Small(), 0} {
    dense::fill(s, Scalar(0));
    dense::set_identity(r);
    if (options.basis_width == 0) options.basis_width = width;
    if (given != nullptr) metric.apply = [this](const Tall& from, const Tall& to) { given->apply(from, to); };
  }

  /// V and the columns of X before this one.
  Columns before(std::int64_t begin) const { return v.with(x.columns(0, begin)); }
  /// The metric for the block [begin, end) beside the columns before it. Where blocks are settled one after the other,
  /// B X is kept if the caller has room for it.
  const Metric* metric_for(std::int64_t begin, std::int64_t end) {
    if (given == nullptr) return nullptr;
    if (keeps_image) {
      metric.image_of_basis = given->image_of_basis.with(given->image_of_block.columns(0, begin));
      metric.image_of_block = given->image_of_block.columns(begin, end);
    }
    return &metric;
  }
  /// The columns [begin, end) of X were P C + U T with the new U, P being V and the columns before them: S and R
  /// follow. Columns of R up to `last` have been touched.
  void compose(std::int64_t begin, std::int64_t end, std::int64_t last, const Small& c, const Small& t) {
    WorkspaceScope<> here(context);
    const Small rows = r.block(begin, end, begin, last);
    const Small old = Small::scratch(here, end - begin, last - begin);
    dense::copy(rows, old);
    const Small above = coefficients.block(0, m + begin, begin, last);
    if (m + begin > 0) dense::multiply(Scalar(1), c, false, old, false, Scalar(1), above);
    dense::multiply(Scalar(1), t, false, old, false, Scalar(0), rows);
  }

  /// Makes the columns [begin, end) orthonormal, and orthogonal to those before them, by a method for one block. False:
  /// that broke, and is not to escalate.
  bool settle(std::int64_t begin, std::int64_t end, std::int64_t last, const Options& how) {
    const Columns beside = before(begin);
    const Tall w = x.columns(begin, end);
    OneBlock call(context, how, draws, beside, w, metric_for(begin, end));
    call.block.set_whole(x, begin);
    const bool extended = options.between == Between::pip_dd && given == nullptr;
    const std::int64_t width_beside = beside.width();
    const Defect<Scalar> of_beside =
        extended ? Defect<Scalar>{defect.matrix.block(0, width_beside, 0, width_beside), defect.known} : defect;
    if (extended) defect.known = width_beside;
    const Result part = orthonormalize<Scalar, Layout, Space>(call, queue_sweeps(call.block), nullptr, nullptr,
                                                              extended ? &of_beside : nullptr);
    compose(begin, end, last, call.coefficients.s, call.coefficients.r);
    absorb(call, part);
    return !call.findings.broken;
  }

  /// Takes over what a Call did and met.
  void absorb(const OneBlock& call, const Result& part) {
    words += call.findings.words;
    result.sweeps += part.sweeps;
    result.applications += part.applications;
    result.condition_estimate = std::max(result.condition_estimate, part.condition_estimate);
    result.orthonormal = result.orthonormal && part.orthonormal;
    missing += call.block.b - part.rank - static_cast<std::int64_t>(part.lost.size());
    for (const std::int64_t j : part.lost) result.lost.push_back(call.block.first_column + j);
    if (part.reason == Reason::none) return;
    result.reason = std::max(result.reason, part.reason);
    result.method = {part.method.between, part.method.within, true, true};
  }
  /// The same for a Call that did a part of the work on its block, which others will finish.
  void absorb_part(OneBlock& call) {
    call.findings.result.rank = call.block.b;
    absorb(call, call.findings.result);
  }

  /// After a block that broke a method: beside columns that are far from unit length errors would grow from block to
  /// block, and overflow.
  void leave_from(std::int64_t begin) {
    missing += n - begin;
    result.orthonormal = result.orthonormal && begin == n;
  }
  /// A method that is not to escalate has broken down at the block that begins here: it and those after it stay as they
  /// are.
  void stop(const OneBlock& call, std::int64_t begin) {
    result.orthonormal = false;
    missing += n - begin - std::min(call.findings.visible_rank, call.block.b);
  }

  const Context& context;
  Options options;
  std::int64_t& draws;
  const Columns& v;
  const Tall& x;
  const std::int64_t m;
  const std::int64_t n;
  const std::int64_t width;
  const Metric* const given;
  Metric metric;
  WorkspaceScope<> scope;
  Small coefficients, s, r;  ///< S above R
  Defect<Scalar> defect;     ///< pip-dd: Q^H Q - I of V and the columns that are done
  bool keeps_image = false;
  std::int64_t words = 0;
  std::int64_t missing = 0;  ///< columns that a method without escalation could not make anything of
  Result result;
};

}  // namespace blockvec::orth

#pragma once

#include <algorithm>

#include "orth/orthonormalize.hpp"

namespace blockvec::orth {

/// One call of factorize: a tall matrix that becomes Q block after block. At any time
///     X_in = X R,
/// R beginning as the identity. Skeletons are written with the steps offered here.
template <class Scalar, class Layout, class Space>
struct Factorization {
  using Tall = BlockVector<Scalar, Layout, Space>;
  using Small = SmallMatrix<Scalar, Space>;
  using Metric = orth::Metric<Scalar, Layout, Space>;
  using OneBlock = Call<Scalar, Layout, Space>;

  Factorization(const Context& context_, const Options& options_, std::int64_t& draws_, const Tall& x_,
                std::int64_t width_, const Metric* given_)
      : context(context_),
        options(options_),
        draws(draws_),
        x(x_),
        n(x_.width()),
        width(width_),
        given(given_),
        scope(context_),
        r(Small::scratch(scope, n, n)),
        defect(options.inter == Inter::pip_dd ? Small::scratch(scope, n, n) : Small()) {
    dense::set_identity(r);
    if (options.basis_width == 0) options.basis_width = width;
    if (given != nullptr) metric.apply = [this](const Tall& from, const Tall& to) { given->apply(from, to); };
  }

  Basis<Scalar, Layout, Space> before(std::int64_t begin) const {
    return begin > 0 ? Basis<Scalar, Layout, Space>(x.columns(0, begin)) : Basis<Scalar, Layout, Space>();
  }
  /// The metric for the block [begin, end) beside the columns before it. Where blocks are settled one after the other,
  /// B X is kept if the caller has room for it.
  const Metric* metric_for(std::int64_t begin, std::int64_t end) {
    if (given == nullptr) return nullptr;
    if (keeps_image) {
      metric.image_of_basis = given->image_of_block.columns(0, begin);
      metric.image_of_block = given->image_of_block.columns(begin, end);
    }
    return &metric;
  }
  /// What a Call on a block of X is told.
  void introduce(OneBlock& call, std::int64_t begin) const {
    call.whole = &x;
    call.first_column = begin;
    call.keeps_lost_in_place = options.deficiency != Deficiency::replace;
  }

  /// The columns [begin, end) of X were X S + U T with the new U, X being the columns before them: R follows. Columns
  /// of R up to `last` have been touched.
  void compose(std::int64_t begin, std::int64_t end, std::int64_t last, const Small& s, const Small& t) {
    WorkspaceScope<Space> here(context);
    const Small rows = r.block(begin, end, begin, last);
    const Small old = Small::scratch(here, end - begin, last - begin);
    dense::copy(rows, old);
    if (begin > 0) dense::multiply(Scalar(1), s, false, old, false, Scalar(1), r.block(0, begin, begin, last));
    dense::multiply(Scalar(1), t, false, old, false, Scalar(0), rows);
  }

  /// Makes the columns [begin, end) orthonormal, and orthogonal to those before them, by a method for one block.
  void settle(std::int64_t begin, std::int64_t end, std::int64_t last, const Options& how) {
    const auto v = before(begin);
    const Tall w = x.columns(begin, end);
    OneBlock call(context, how, draws, v, w, metric_for(begin, end));
    introduce(call, begin);
    const bool extended = options.inter == Inter::pip_dd;
    const Small beside = extended ? defect.block(0, begin, 0, begin) : defect;
    if (extended) {
      call.defect = &beside;
      call.known_defect = known_defect;
      known_defect = begin;
    }
    call.result = orthonormalize<Scalar, Layout, Space>(call, nullptr, nullptr);
    compose(begin, end, last, call.s_total, call.r_total);
    absorb(call);
  }

  /// Takes over what a Call did and met.
  void absorb(const OneBlock& call) {
    const Result& part = call.result;
    words += call.words;
    result.sweeps += part.sweeps;
    result.applications += part.applications;
    result.condition_estimate = std::max(result.condition_estimate, part.condition_estimate);
    result.orthonormal = result.orthonormal && part.orthonormal;
    missing += call.b - part.rank - static_cast<std::int64_t>(part.lost.size());
    for (const std::int64_t j : part.lost) result.lost.push_back(call.first_column + j);
    if (part.reason == Reason::none) return;
    result.reason = std::max(result.reason, part.reason);
    result.method = {part.method.inter, part.method.intra, true, true};
  }
  /// The same for a Call that did a part of the work on its block, which others will finish.
  void absorb_part(OneBlock& call) {
    call.result.rank = call.b;
    absorb(call);
  }

  /// A method that is not to escalate has broken down at the block that begins here: it and those after it stay as they
  /// are.
  void stop(const OneBlock& call, std::int64_t begin) {
    result.orthonormal = false;
    missing += n - begin - std::min(call.visible_rank, call.b);
  }

  const Context& context;
  Options options;
  std::int64_t& draws;
  const Tall& x;
  const std::int64_t n;
  const std::int64_t width;
  const Metric* const given;
  Metric metric;
  WorkspaceScope<Space> scope;
  Small r;
  Small defect;                   ///< pip-dd: X^H X - I of the columns that are done
  std::int64_t known_defect = 0;  ///< as far as it is known
  bool keeps_image = false;
  std::int64_t words = 0;
  std::int64_t missing = 0;  ///< columns that a method without escalation could not make anything of
  Result result;
};

}  // namespace blockvec::orth

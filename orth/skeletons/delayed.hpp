#pragma once

#include "orth/skeletons/factorization.hpp"

/// BCGSI+P-1S, BCGSI+P-2S and what switches between them (Carson, Ma 2024): the second sweep on a block U waits for the
/// reduction that the first sweep on the next block N needs. With Q all that stands before U, that one reduction yields
/// Y = Q^H U, O = U^H U, Z = Q^H N, P = U^H N and N^H N. PIP on U with Y and O gives its factor D, and
///     (Q, Q_U)^H N = (Z, D^-H (P - Y^H Z)),  Q_U = (U - Q Y) D^-1,
/// is what N is projected with. Then N is normalised: by Pythagoras (1S) or by the method within a block, in a
/// reduction of its own (2S).
namespace blockvec::orth {

template <class Scalar, class Layout, class Space>
class Delayed {
 public:
  using F = Factorization<Scalar, Layout, Space>;
  using OneBlock = typename F::OneBlock;
  using Small = typename F::Small;
  using Real = RealOf<Scalar>;

  explicit Delayed(F& f) : f_(f), m_(f.m), two_reductions_(f.options.inter == Inter::p_2s) {}

  void run() {
    end_ = std::min(f_.width, f_.n);
    if (!f_.settle(0, end_, end_, f_.options)) return f_.leave_from(end_);
    while (!(final_ && end_ == f_.n) && step()) {
    }
  }

 private:
  /// One reduction for the block [begin_, end_), unless it is final, and the next. False: broken, and not to escalate.
  bool step() {
    WorkspaceScope<> scope(f_.context);
    const std::int64_t stop = std::min(f_.n, end_ + f_.width);
    const std::int64_t from = final_ ? end_ : begin_;
    const Small products = Small::scratch(scope, m_ + end_, stop - from);  // with V and X's columns [0, end_)
    const Small gram = Small::scratch(scope, stop - end_, stop - end_);
    const Small lengths = Small::scratch(scope, 2 * (stop - end_), stop - end_);  // of N and of B N, for a metric
    f_.given == nullptr ? reduce(scope, from, stop, products, gram)
                        : reduce_in_metric(scope, from, stop, products, gram, lengths);
    const Small of_block = products.block(0, m_ + end_, 0, end_ - from);
    const Small s = products.block(0, m_ + end_, end_ - from, stop - from);
    const auto begin_next = [&](OneBlock* ahead) {
      begin_ = end_;
      end_ = stop;
      final_ = true;
      return begin_ == f_.n || begin_block(s, gram, lengths, ahead);
    };
    if (final_) return begin_next(nullptr);
    if (f_.options.inter == Inter::p_adaptive && !two_reductions_ && is_far_from_orthonormal(of_block)) {
      two_reductions_ = true;
      settle_alone();
      return true;
    }
    const auto beside = f_.before(begin_);
    const auto u = f_.x.columns(begin_, end_);
    OneBlock call(f_.context, f_.options, f_.draws, beside, u, f_.metric_for(begin_, end_));
    const bool enough = finish_block(call, of_block, s);
    const bool goes_on = !enough || begin_next(&call);
    call.carry_out_waiting();
    f_.absorb_part(call);
    if (enough) return goes_on;
    if (!f_.options.escalate) {
      f_.stop(call, begin_);
      return false;
    }
    f_.settle(begin_, end_, end_, f_.options);
    final_ = true;
    return true;
  }

  /// Q^H [U N] and [U N]^H [U N] in one pass, and what of that is asked for.
  void reduce(WorkspaceScope<>& scope, std::int64_t from, std::int64_t stop, const Small& products, const Small& gram) {
    const std::int64_t before = m_ + from, n = stop - from, u = end_ - from;
    const auto beside = f_.before(from);
    const Small own = Small::scratch(scope, n, n);
    const Small of_beside = products.block(0, before, 0, n);
    InnerProducts<Scalar, Layout, Space> all(f_.context);
    all.add_swept(beside.all(), nullptr, f_.x.columns(from, stop), nullptr, kernels::Triangle::upper,
                  before > 0 ? &of_beside : nullptr, own)
        .reduce();
    dense::copy(own.block(0, u, 0, n), products.block(before, before + u, 0, n));
    dense::copy(own.block(u, n, u, n), gram);
    f_.words += before + (is_host_space<Space> ? n : 2 * n);
  }

  void reduce_in_metric(WorkspaceScope<>& scope, std::int64_t from, std::int64_t stop, const Small& products,
                        const Small& gram, const Small& lengths) {
    const auto right = f_.x.columns(from, stop), next = f_.x.columns(end_, stop);
    WorkspaceScope<Space> tall_scope(f_.context);
    const auto image = scratch_like(tall_scope, f_.x, stop - from);
    const auto next_image = image.columns(end_ - from, stop - from);
    const std::int64_t b = next.width();
    f_.given->apply(right, image);
    f_.result.applications += stop - from;
    InnerProducts<Scalar, Layout, Space> all(f_.context);
    all.add(next, next, lengths.block(0, b, 0, b)).add(next_image, next_image, lengths.block(b, 2 * b, 0, b));
    f_.before(end_).for_pieces([&](const auto& piece, std::int64_t first, std::int64_t last) {
      all.add(piece, image, products.block(first, last, 0, stop - from));
    });
    all.add(next, next_image, gram).reduce();
    f_.words += m_ + end_ + (stop - from) + (stop - end_) + 2 * b;
  }

  /// The second sweep on U = [begin_, end_), from its products with all columns before end_; what `s` says of the
  /// columns themselves becomes what it says of their successors. The step itself may wait for the next block's. False:
  /// that is not enough.
  bool finish_block(OneBlock& call, const Small& products, const Small& s) {
    const std::int64_t b = end_ - begin_, begin = m_ + begin_, end = m_ + end_;
    f_.introduce(call, begin_);
    call.begin_method(true, true);
    call.postpones = f_.given == nullptr;
    call.feed(products.block(0, begin, 0, b), products.block(begin, end, 0, b));
    const auto sweep = pip_sweep(call, Another::none);
    call.result.orthonormal = sweep.certified() || f_.options.escalate;
    f_.compose(begin_, end_, end_, call.s_total, call.r_total);
    if (!sweep.certified() && (!sweep.done || f_.options.escalate)) return false;
    if (call.triangular) dense::triangular_inverse(call.step, call.inverse);
    const std::int64_t columns = s.columns();
    WorkspaceScope<> scope(f_.context);
    const Small rest = Small::scratch(scope, b, columns);
    dense::copy(s.block(begin, end, 0, columns), rest);
    dense::multiply(Scalar(-1), call.s, true, s.block(0, begin, 0, columns), false, Scalar(1), rest);
    dense::multiply(Scalar(1), call.inverse, true, rest, false, Scalar(0), s.block(begin, end, 0, columns));
    return true;
  }

  bool is_far_from_orthonormal(const Small& products) {
    constexpr Real limit = 3;
    const std::int64_t b = end_ - begin_;
    WorkspaceScope<> scope(f_.context);
    const Small vectors = Small::scratch(scope, b, b);
    const auto values = SmallMatrix<Real>::scratch(scope, 1, b);
    dense::eigendecomposition(products.block(m_ + begin_, m_ + end_, 0, b), values, vectors);
    return !(dense::entry(values, 0, b - 1) < limit * dense::entry(values, 0, 0));
  }

  /// The method within a block for [begin_, end_).
  void settle_alone() {
    const Basis<Scalar, Layout, Space> nothing;
    const auto u = f_.x.columns(begin_, end_);
    OneBlock call(f_.context, f_.options, f_.draws, nothing, u, f_.metric_for(0, 0));
    f_.introduce(call, begin_);
    call.note(Reason::ill_conditioned);
    call.result = orthonormalize<Scalar, Layout, Space>(call, nullptr, nullptr);
    WorkspaceScope<> scope(f_.context);
    const Small none = Small::scratch(scope, m_ + begin_, end_ - begin_);
    dense::fill(none, Scalar(0));
    f_.compose(begin_, end_, end_, none, call.r_total);
    call.result.method.inter = Inter::p_2s;
    f_.absorb(call);
  }

  /// The first sweep on [begin_, end_), from its products s with all columns before it, and what waits for the block
  /// `ahead` of it. What it breaks on is finished at once by the strong method, or left alone.
  bool begin_block(const Small& s, const Small& gram, const Small& lengths, OneBlock* ahead) {
    const auto beside = f_.before(begin_);
    const auto w = f_.x.columns(begin_, end_);
    OneBlock call(f_.context, f_.options, f_.draws, beside, w, f_.metric_for(begin_, end_));
    f_.introduce(call, begin_);
    call.begin_method(true, true);
    call.ahead = ahead;
    call.feed(s, gram);
    if (f_.given != nullptr) call.feed_lengths(lengths);
    look_at_block(call);
    auto sweep = two_reductions_ ? normalized_sweep(call) : pip_sweep(call, Another::none);
    if (!sweep.done && f_.options.inter == Inter::p_adaptive && !two_reductions_) {
      two_reductions_ = true;
      call.result.method.inter = Inter::p_2s;
      sweep = normalized_sweep(call);
    }
    const bool lost = std::count(call.lost, call.lost + call.b, true) > 0;
    final_ = (f_.options.adaptive && sweep.certified()) || lost;
    if (f_.options.escalate && (lost || !sweep.done)) {
      call.catch_up();
      sweep = escalate(call, {});
      final_ = true;
    }
    call.result.rank = call.b;
    if (final_) {
      settle_deficiency(call);
      call.result.orthonormal = sweep.certified();
      if (f_.options.escalate && !sweep.certified()) call.result.reason = Reason::bad_basis;
    }
    undo_scales(call);
    f_.compose(begin_, end_, end_, call.s_total, call.r_total);
    f_.absorb(call);
    if (sweep.done || f_.options.escalate) return true;
    f_.stop(call, begin_);
    return false;
  }

  /// Projection and the method within the block, which is trusted as long as what is left is more than noise.
  Sweep<Real> normalized_sweep(OneBlock& call) {
    call.watches_noise = true;
    const auto sweep = bcgs_sweep(call);
    call.watches_noise = false;
    return sweep;
  }

  F& f_;
  std::int64_t m_;  // columns of V
  bool two_reductions_;
  std::int64_t begin_ = 0, end_ = 0;  // the latest block that has been begun
  bool final_ = true;                 // it is finished as well
};

}  // namespace blockvec::orth

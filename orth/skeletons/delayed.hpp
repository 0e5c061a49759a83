#pragma once

#include "orth/skeletons/factorization.hpp"

/// BCGSI+P-1S, BCGSI+P-2S and what switches between them (Carson, Ma 2024): the second sweep on a block U waits for the
/// reduction that the first sweep on the next block N needs. With Q all that stands before U, that one reduction yields
/// Y = Q^H U, O = U^H U, Z = Q^H N, P = U^H N and N^H N. PIP on U with Y and O gives its factor D, and
///     (Q, Q_U)^H N = (Z, D^-H (P - Y^H Z)),  Q_U = (U - Q Y) D^-1,
/// is what N is projected with. Then N is normalised: by Pythagoras (1S) or by the method within a block, in a
/// reduction of its own (2S).
namespace blockvec::orth {

/// The change that normalises a block U waits: for the first change of the block after it, which then takes both.
template <class Scalar, class Layout, class Space>
class Postponed final : public Carrier<Scalar, Layout, Space> {
 public:
  using OneBlock = Call<Scalar, Layout, Space>;

  explicit Postponed(OneBlock& call) : call_(call) {}
  OneBlock& call() { return call_; }
  bool waits() const { return waits_; }
  void forget() { waits_ = false; }

  bool takes(OneBlock&, const Change& change) override {
    waits_ = change.apply;
    return waits_;
  }
  void catch_up() override {
    if (waits_) change_alone(call_, {call_.block.m > 0, true});
    waits_ = false;
  }

 private:
  OneBlock& call_;  // on U
  bool waits_ = false;
};

/// Carries out changes of the block after U, the first together with what waits for U.
template <class Scalar, class Layout, class Space>
class Joining final : public Carrier<Scalar, Layout, Space> {
 public:
  using OneBlock = Call<Scalar, Layout, Space>;
  using Small = SmallMatrix<Scalar>;

  explicit Joining(Postponed<Scalar, Layout, Space>& ahead) : ahead_(ahead) {}

  bool takes(OneBlock& call, const Change& change) override {
    if (change.subtract && change.next != Known::all && ahead_.waits()) {
      join(call, change);
      ahead_.forget();
      return true;
    }
    catch_up();
    return false;
  }
  void catch_up() override { ahead_.catch_up(); }

 private:
  /// W <- (W - V s) X together with U <- (U - V_U s_U) X_U, in one pass over V_U:
  ///     [U W] <- ([U W] - V_U [s_U s']) [X_U  -X_U s'' X; 0  X],  s = [s'; s''], X = I if there is nothing to apply.
  void join(OneBlock& call, const Change& change) {
    const auto& u = ahead_.call();
    const Small &s_u = u.products.s, &x_u = u.factor.inverse, &s_w = call.products.s;
    const std::int64_t m = u.block.m, first = u.block.b, b = call.block.b, n = first + b;
    WorkspaceScope<> scope(call.block.context);
    const Small s = Small::scratch(scope, m, n), x = Small::scratch(scope, n, n), g = Small::scratch(scope, n, n);
    dense::copy(s_u, s.block(0, m, 0, first));
    dense::copy(s_w.block(0, m, 0, b), s.block(0, m, first, n));
    dense::fill(x, Scalar(0));
    const Small own = x.block(first, n, first, n), above = x.block(0, first, first, n);
    dense::copy(x_u, x.block(0, first, 0, first));
    change.apply ? dense::copy(call.factor.inverse, own) : dense::set_identity(own);
    const Small product = call.next_s.block(0, first, 0, b);
    dense::multiply(Scalar(1), s_w.block(m, call.block.m, 0, b), false, own, false, Scalar(0), product);
    dense::multiply(Scalar(-1), x_u, false, product, false, Scalar(0), above);
    const bool upper = (!change.apply || call.factor.is_upper()) && u.factor.is_upper();
    const auto triangle = upper ? kernels::Triangle::upper : kernels::Triangle::general;
    const auto blocks = call.block.whole->columns(u.block.first_column, call.block.first_column + b);
    const Small* const projection = m > 0 ? &s : nullptr;
    if (change.next == Known::none) {
      gram_schmidt_sweep(u.block.v.all(), projection, blocks, &x, triangle);
      call.products.forget();
    } else {
      InnerProducts<Scalar, Layout, Space> products(call.block.context);
      products.add_swept(u.block.v.all(), projection, blocks, &x, triangle, nullptr, g).reduce();
      dense::copy(g.block(first, n, first, n), call.products.g);
      call.products.set_known(change.next);
    }
    call.findings.words += sweep_words(u.block.v.all(), blocks, {m > 0, true, false, change.next != Known::none});
  }

  Postponed<Scalar, Layout, Space>& ahead_;
};

template <class Scalar, class Layout, class Space>
class Delayed {
 public:
  using F = Factorization<Scalar, Layout, Space>;
  using OneBlock = typename F::OneBlock;
  using Small = typename F::Small;
  using Real = RealOf<Scalar>;
  using Waiting = Postponed<Scalar, Layout, Space>;

  explicit Delayed(F& f) : f_(f), m_(f.m), two_reductions_(f.options.between == Between::p_2s) {}

  void run() {
    end_ = std::min(f_.width, f_.n);
    if (!f_.settle(0, end_, end_, f_.options)) return f_.leave_from(end_);
    while (!(final_ && end_ == f_.n) && advance()) {
    }
  }

 private:
  /// One reduction for the block [begin_, end_), unless it is final, and the next. False: broken, and not to escalate.
  bool advance() {
    WorkspaceScope<> scope(f_.context);
    const std::int64_t stop = std::min(f_.n, end_ + f_.width);
    const std::int64_t from = final_ ? end_ : begin_;
    const Small products = Small::scratch(scope, m_ + end_, stop - from);  // with V and X's columns [0, end_)
    const Small gram = Small::scratch(scope, stop - end_, stop - end_);
    const Small lengths = Small::scratch(scope, 2 * (stop - end_), stop - end_);  // of N and of B N, for a metric
    f_.given == nullptr ? reduce(scope, from, stop, products, gram)
                        : reduce_in_metric(from, stop, products, gram, lengths);
    const Small of_block = products.block(0, m_ + end_, 0, end_ - from);
    const Small s = products.block(0, m_ + end_, end_ - from, stop - from);
    const auto begin_next = [&](Waiting* ahead) {
      begin_ = end_;
      end_ = stop;
      final_ = true;
      return begin_ == f_.n || begin_block(s, gram, lengths, ahead);
    };
    if (final_) return begin_next(nullptr);
    if (f_.options.between == Between::p_adaptive && !two_reductions_ && is_far_from_orthonormal(of_block)) {
      two_reductions_ = true;
      settle_alone();
      return true;
    }
    const auto beside = f_.before(begin_);
    const auto u = f_.x.columns(begin_, end_);
    OneBlock call(f_.context, f_.options, f_.draws, beside, u, f_.metric_for(begin_, end_));
    Waiting waiting(call);
    if (f_.given == nullptr) call.carrier = &waiting;
    const bool enough = finish_block(call, of_block, s);
    const bool goes_on = !enough || begin_next(&waiting);
    waiting.catch_up();
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

  void reduce_in_metric(std::int64_t from, std::int64_t stop, const Small& products, const Small& gram,
                        const Small& lengths) {
    const auto right = f_.x.columns(from, stop), next = f_.x.columns(end_, stop);
    WorkspaceScope<Space> tall_scope(f_.context);
    const auto image = scratch_like(tall_scope, f_.x, stop - from);
    const std::int64_t b = next.width();
    f_.given->apply(right, image);
    f_.result.applications += stop - from;
    WorkspaceScope<> scope(f_.context);
    const std::int64_t rows = m_ + end_, n = stop - from;
    const Small with_image = Small::scratch(scope, rows + b, n), of_image = Small::scratch(scope, n, n);
    const auto left = f_.before(stop);  // N is part of it
    InnerProducts<Scalar, Layout, Space> all(f_.context);
    all.add_swept(left.all(), nullptr, image, nullptr, kernels::Triangle::general, &with_image, of_image)
        .add(next, next, lengths.block(0, b, 0, b))
        .reduce();
    dense::copy(with_image.block(0, rows, 0, n), products);
    dense::copy(with_image.block(rows, rows + b, n - b, n), gram);
    dense::copy(of_image.block(n - b, n, n - b, n), lengths.block(b, 2 * b, 0, b));
    f_.words += sweep_words(left.all(), image, {.forms_p = true, .forms_g = true}) + b;
  }

  /// The second sweep on U = [begin_, end_), from its products with all columns before end_; what `s` says of the
  /// columns themselves becomes what it says of their successors. The step itself may wait for the next block's. False:
  /// that is not enough.
  bool finish_block(OneBlock& call, const Small& products, const Small& s) {
    const std::int64_t b = end_ - begin_, begin = m_ + begin_, end = m_ + end_;
    const Small &r = call.factor.r, &inverse = call.factor.inverse;
    call.block.set_whole(f_.x, begin_);
    call.findings.begin(call.block.method(true, true), call.block.options);
    feed(call, products.block(0, begin, 0, b), products.block(begin, end, 0, b));
    const auto sweep = pip_sweep(call, Another::none);
    call.findings.result.orthonormal = sweep.certified() || f_.options.escalate;
    f_.compose(begin_, end_, end_, call.coefficients.s, call.coefficients.r);
    if (!sweep.certified() && (!sweep.done || f_.options.escalate)) return false;
    if (call.coefficients.triangular) dense::triangular_inverse(r, inverse);
    const std::int64_t columns = s.columns();
    WorkspaceScope<> scope(f_.context);
    const Small rest = Small::scratch(scope, b, columns);
    dense::copy(s.block(begin, end, 0, columns), rest);
    dense::multiply(Scalar(-1), call.products.s, true, s.block(0, begin, 0, columns), false, Scalar(1), rest);
    dense::multiply(Scalar(1), inverse, true, rest, false, Scalar(0), s.block(begin, end, 0, columns));
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
    call.block.set_whole(f_.x, begin_);
    call.findings.note(Reason::ill_conditioned);
    Result part = orthonormalize<Scalar, Layout, Space>(call, queue_sweeps(call.block), nullptr, nullptr);
    WorkspaceScope<> scope(f_.context);
    const Small none = Small::scratch(scope, m_ + begin_, end_ - begin_);
    dense::fill(none, Scalar(0));
    f_.compose(begin_, end_, end_, none, call.coefficients.r);
    part.method.between = Between::p_2s;
    f_.absorb(call, part);
  }

  /// The first sweep on [begin_, end_), from its products s with all columns before it, and what waits for the block
  /// `ahead` of it. What it breaks on is finished at once by the strong method, or left alone.
  bool begin_block(const Small& s, const Small& gram, const Small& lengths, Waiting* ahead) {
    const auto beside = f_.before(begin_);
    const auto w = f_.x.columns(begin_, end_);
    OneBlock call(f_.context, f_.options, f_.draws, beside, w, f_.metric_for(begin_, end_));
    call.block.set_whole(f_.x, begin_);
    call.findings.begin(call.block.method(true, true), call.block.options);
    std::optional<Joining<Scalar, Layout, Space>> joining;
    if (ahead != nullptr) call.carrier = &joining.emplace(*ahead);
    feed(call, s, gram);
    if (f_.given != nullptr) feed_lengths(call, lengths);
    look_at_block(call);
    Result& result = call.findings.result;
    auto sweep = two_reductions_ ? normalized_sweep(call) : pip_sweep(call, Another::none);
    if (!sweep.done && f_.options.between == Between::p_adaptive && !two_reductions_) {
      two_reductions_ = true;
      result.method.between = Between::p_2s;
      sweep = normalized_sweep(call);
    }
    const bool lost = call.findings.has_lost();
    final_ = (f_.options.adaptive && sweep.certified()) || lost;
    if (f_.options.escalate && (lost || !sweep.done)) {
      catch_up(call);
      sweep = escalate(call, {});
      final_ = true;
    }
    result.rank = call.block.b;
    if (final_) {
      settle_deficiency(call);
      result.orthonormal = sweep.certified();
      if (f_.options.escalate && !sweep.certified()) result.reason = Reason::bad_basis;
    }
    undo_scales(call);
    f_.compose(begin_, end_, end_, call.coefficients.s, call.coefficients.r);
    f_.absorb(call, result);
    if (sweep.done || f_.options.escalate) return true;
    f_.stop(call, begin_);
    return false;
  }

  /// Projection and the method within the block, which is trusted as long as what is left is more than noise.
  Trust<Real> normalized_sweep(OneBlock& call) { return bcgs_sweep(call, false, call.block.options.escalate); }

  /// Products of a block that have been reduced together with those of others.
  static void feed(OneBlock& call, const Small& s, const Small& gram) {
    if (call.block.m > 0) dense::copy(s, call.products.s);
    dense::copy(gram, call.products.g);
    call.products.set_known(Known::all);
  }
  /// The same for what a metric asks to know besides: W^H W above (B W)^H (B W).
  static void feed_lengths(OneBlock& call, const Small& grams) {
    const std::int64_t b = call.block.b;
    dense::diagonal(grams.block(0, b, 0, b), call.image.euclidean);
    dense::diagonal(grams.block(b, 2 * b, 0, b), call.image.squares);
    call.image.lengths_known = true;
  }

  F& f_;
  std::int64_t m_;  // columns of V
  bool two_reductions_;
  std::int64_t begin_ = 0, end_ = 0;  // the latest block that has been begun
  bool final_ = true;                 // it is finished as well
};

}  // namespace blockvec::orth

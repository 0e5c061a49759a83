#pragma once

#include <algorithm>
#include <blockvec/orth/basis.hpp>
#include <blockvec/orth/dense.hpp>
#include <blockvec/orth/metric.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <blockvec/small_on_host.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "orth/sweep.hpp"

namespace blockvec::orth {

template <class Scalar, class Layout, class Space>
struct ExtendedProducts;
template <class Scalar, class Layout, class Space>
struct Call;
/// Changes tall data (steps.hpp).
template <class Scalar, class Layout, class Space>
void carry_out(Call<Scalar, Layout, Space>& call, const Step& step);

/// What the methods within a block begin with.
inline bool begins_with_wide_gram(Intra intra) {
  return intra == Intra::dd_cholqr || intra == Intra::dd_cholqr2 || intra == Intra::pivoted_cholqr;
}
inline bool is_randomised(Intra intra) { return intra == Intra::rand_cholqr || intra == Intra::rand_cholqr_gauss; }
inline bool begins_with_gram(Intra intra) {
  return intra == Intra::cholqr || intra == Intra::cholqr2 || intra == Intra::svqb || intra == Intra::shifted_cholqr3;
}
inline bool is_by_columns(Intra intra) { return intra == Intra::cgs || intra == Intra::cgs2; }
/// What depends on how the rows are spread over ranks gives way.
inline Intra intra_on_any_ranks(Intra intra) {
  return intra == Intra::tsqr ? Intra::dd_cholqr2 : intra == Intra::rand_cholqr ? Intra::rand_cholqr_gauss : intra;
}
inline Intra intra_under_metric(Intra intra) {
  if (intra == Intra::dd_cholqr) return Intra::cholqr;
  return begins_with_wide_gram(intra) || is_randomised(intra) || intra == Intra::tsqr ? Intra::cholqr2 : intra;
}

/// One call of a verb: the operands, the coefficients so far, scratch matrices, and what it cost. At any time
///     X diag(scales) = V s_total + W r_total,
/// X being the block that the caller gave. Methods are written with the steps offered here. Under a metric all inner
/// products are V^H B W, and `image` is B W where that is known.
template <class Scalar, class Layout, class Space>
struct Call {
  using Real = RealOf<Scalar>;
  using Tall = BlockVector<Scalar, Layout, Space>;
  using Small = SmallMatrix<Scalar>;
  using RealSmall = SmallMatrix<Real>;
  using Metric = orth::Metric<Scalar, Layout, Space>;

  Call(const Context& context_, const Options& options_, std::int64_t& draws_, const Basis<Scalar, Layout, Space>& v_,
       const Tall& w_, const Metric* metric_ = nullptr)
      : context(context_),
        options(options_),
        draws(draws_),
        v(v_),
        w(w_),
        metric(metric_),
        m(v_.width()),
        b(w_.width()),
        tolerance(rank_tolerance<Scalar>(v_.width(), w_.width())),
        scope(context_),
        host_scope(context_),
        s(Small::scratch(host_scope, m, b)),
        g(Small::scratch(host_scope, b, b)),
        s_next(Small::scratch(host_scope, m, b)),
        low(Small::scratch(host_scope, b, b)),
        sketch(Small::scratch(host_scope, sketch_rows(), b)),
        step(Small::scratch(host_scope, b, b)),
        inverse(Small::scratch(host_scope, b, b)),
        work(Small::scratch(host_scope, b, b)),
        s_total(Small::scratch(host_scope, m, b)),
        r_total(Small::scratch(host_scope, b, b)),
        squares(RealSmall::scratch(host_scope, 1, b)),
        lengths(RealSmall::scratch(host_scope, 1, b)),
        reference(RealSmall::scratch(host_scope, 1, b)),
        original(RealSmall::scratch(host_scope, 1, b)),
        parts(RealSmall::scratch(host_scope, 1, b)),
        scales(RealSmall::scratch(host_scope, 1, b)),
        euclidean(RealSmall::scratch(host_scope, 1, b)),
        image_squares(RealSmall::scratch(host_scope, 1, b)),
        image(metric == nullptr                     ? w
              : metric->image_of_block.width() == b ? metric->image_of_block
                                                    : scratch_like(scope, w, b)),
        lost(host_scope.take<bool>(static_cast<std::size_t>(b))),
        reductions_before(context_.reductions()) {
    std::fill_n(lost, b, false);
    dense::fill(s_total, Scalar(0));
    dense::set_identity(r_total);
  }

  // ---- steps -----------------------------------------------------------------------------------------------------

  /// image = B W. Without a metric that is W itself.
  void apply_metric() {
    if (metric == nullptr || image_known) return;
    context.callers([&] { metric->apply(w, image); });
    result.applications += b;
    image_known = true;
  }
  /// Y = B X for other vectors; nothing without a metric.
  void apply_metric_to(const Tall& x, const Tall& y) {
    if (metric == nullptr) return;
    context.callers([&] { metric->apply(x, y); });
    result.applications += x.width();
  }

  /// s = V^H W, g = W^H W, squares = diag(g). One reduction. Nothing if they are at hand. Where there is no V, also
  /// what else the method within the block begins with.
  void reduce() {
    if (known == Products::all) return;
    if (extended != nullptr) {
      extended->reduce(*this);
      dense::diagonal(g, squares);
      known = Products::all;
      wide = sketched = false;
      return;
    }
    sketched = m == 0 && is_randomised(intra());
    wide = m == 0 && begins_with_wide_gram(intra());
    if (metric == nullptr && !wide && !sketched) return carry_out(*this, {.next = Products::all});
    apply_metric();
    WorkspaceScope<Space> while_reducing(context);
    InnerProducts<Scalar, Layout, Space> products(context);
    if (sketched) add_sketch(products, while_reducing);
    v.for_pieces([&](const Tall& piece, std::int64_t begin, std::int64_t end) {
      products.add(piece, image, s.block(begin, end, 0, b));
    });
    const bool measures = metric != nullptr && !euclidean_known;
    if (measures) products.add(w, w, step).add(image, image, inverse);
    if (wide) {
      products.add_dd(w, w, {g, low});
    } else {
      products.add(w, image, g);
    }
    products.reduce();
    words += (m > 0 ? m + b : 0) + (metric != nullptr ? 2 * b : b) + (measures ? 2 * b : 0);
    if (measures) {
      dense::diagonal(step, euclidean);
      dense::diagonal(inverse, image_squares);
      euclidean_known = true;
    }
    dense::diagonal(g, squares);
    known = Products::all;
    if (!looked) return;
    require_finite_image(s);
    require_finite_image(g);
  }

  /// g and squares alone: all there is to know where V has been dealt with.
  void reduce_gram() {
    if (known != Products::none) return;
    apply_metric();
    inner_product(w, image, g);
    words += metric != nullptr ? 2 * b : b;
    dense::diagonal(g, squares);
    known = m == 0 ? Products::all : Products::gram;
    wide = sketched = false;
    if (looked) require_finite_image(g);
  }

  /// The same with g + low = W^H W in double-double. Without a metric: B W carries rounding errors of its own.
  void reduce_wide_gram() {
    if (known != Products::none && wide) return;
    inner_product_dd(w, w, {g, low});
    words += b;
    dense::diagonal(g, squares);
    known = m == 0 ? Products::all : Products::gram;
    wide = true;
    sketched = false;
  }

  /// sketch = Omega W, nearly an isometry on any few columns. One reduction, unless it came with that of reduce().
  void reduce_sketch() {
    if (known == Products::all && sketched) return;
    WorkspaceScope<Space> while_reducing(context);
    InnerProducts<Scalar, Layout, Space> products(context);
    add_sketch(products, while_reducing);
    products.reduce();
  }

  /// Words: b for sparse signs; for normal numbers, which are written and read as block vectors, 2 sketch_rows() and b
  /// for every b of them. A fresh Omega each time.
  void add_sketch(InnerProducts<Scalar, Layout, Space>& products, WorkspaceScope<Space>& while_reducing) {
    constexpr std::uint64_t stream = 0x736b657463686573;  // apart from that of replaced columns
    const std::uint64_t seed = (options.seed ^ stream) + static_cast<std::uint64_t>(draws++) * 0x9e3779b97f4a7c15;
    if (intra() == Intra::rand_cholqr) {
      sketch_share(w, seed, sketch);
      products.add_share(sketch);
      words += b;
      return;
    }
    constexpr std::int64_t most_strips = 8;
    const std::int64_t d = sketch.rows(), width = std::max(b, (d + most_strips - 1) / most_strips);
    const Tall strip = scratch_like(while_reducing, w, std::min(width, d));
    for (std::int64_t begin = 0; begin < d; begin += width) {
      const std::int64_t end = std::min(d, begin + width);
      const Tall omega = strip.columns(0, end - begin);
      fill_normal(omega, seed, begin);
      products.add(omega, w, sketch.block(begin, end, 0, b));
      words += 2 * (end - begin) + b;
    }
  }

  /// s, g and squares for a block whose products somebody else had reduced.
  void feed(const Small& products, const Small& gram) {
    if (m > 0) dense::copy(products, s);
    dense::copy(gram, g);
    dense::diagonal(g, squares);
    known = Products::all;
    wide = sketched = false;
  }
  /// The same for what a metric asks to know besides: W^H W above (B W)^H (B W).
  void feed_lengths(const Small& grams) {
    dense::diagonal(grams.block(0, b, 0, b), euclidean);
    dense::diagonal(grams.block(b, 2 * b, 0, b), image_squares);
    euclidean_known = true;
  }

  /// W <- W - V s. What is to be known `next` comes along with it where that costs no other pass.
  void subtract_projection(Products next = Products::none) {
    if (m > 0) pass({true, false, next});
  }

  /// subtract_projection and apply_step, in one pass if step's inverse can be used.
  void subtract_and_apply(bool step_is_triangular, Real a, Products next) {
    if (step_is_triangular && a > direct_limit) {
      subtract_projection();
      apply_step(true, a, next);
    } else {
      step_triangle = step_is_triangular ? kernels::Triangle::upper : kernels::Triangle::general;
      pass({m > 0, true, next, a <= Sweep<Real>::outer_limit});
    }
  }

  /// S and R follow a step; then it is carried out, or waits for the block after W.
  void pass(const Step& change) {
    waits = postpones && change.apply;
    const bool changes_alone = !waits && change.next == Products::none;
    if (changes_alone) carry_out(*this, change);  // a device works meanwhile
    if (change.subtract) dense::multiply(Scalar(1), s, false, r_total, false, Scalar(1), s_total);
    if (change.apply && step_triangle == kernels::Triangle::upper) {
      dense::multiply_upper(step, r_total);
    } else if (change.apply) {
      dense::multiply(Scalar(1), step, false, r_total, false, Scalar(0), work);
      std::swap(work, r_total);
    }
    if (!waits && !changes_alone) carry_out(*this, change);
  }
  /// Before W is looked at: the block ahead becomes what it shall be, unless that has come along with a step of W's.
  void catch_up() {
    if (ahead != nullptr) ahead->carry_out_waiting();
  }
  void carry_out_waiting() {
    if (waits) carry_out(*this, {m > 0, true});
    waits = false;
  }

  /// After the first look, only the caller's B can bring in NaN or Inf: by B W, or by the B V that B W follows from.
  void require_finite_image(Real number) const {
    if (metric == nullptr || std::isfinite(number)) return;
    throw NotFiniteError("orth: the inner product's B W, or B V, brings in NaN or Inf; W = " + whole->describe());
  }
  void require_finite_image(const Small& products) const {
    if (metric == nullptr || dense::first_non_finite_column(products) < 0) return;
    require_finite_image(std::numeric_limits<Real>::quiet_NaN());
  }

  /// Where cancellation was strong, B W must be had from W anew.
  void keep_image_if(bool accurate) { image_known = image_known && accurate; }

  /// step = the Cholesky factor of the matrix in work, for columns with squared lengths `before`; inverse = its
  /// inverse; a, or 0 if there is no factor to be trusted.
  Real factorize(const RealSmall& before, bool skip_zeros) {
    const auto found = dense::cholesky(work, epsilon<Scalar>, step, &before, skip_zeros);
    if (!found.finite || found.rank < b) {
      note(Reason::breakdown);
      visible_rank = std::min(visible_rank, found.rank);
      return 0;
    }
    dense::triangular_inverse(step, inverse);
    const Real a = dense::amplification(before, inverse);
    if (options.escalate && !trusted(a)) {
      note(Reason::ill_conditioned);
      return 0;
    }
    note_condition(found.condition_estimate);
    return a;
  }

  /// The same by SVQB: step = R (full), inverse = R^-1.
  Real factorize_svqb(const RealSmall& before) {
    if (dense::first_non_finite_column(work) >= 0) {  // of a V that is far from orthonormal
      note(Reason::breakdown);
      visible_rank = 0;
      return 0;
    }
    const auto found = dense::svqb(work, before, static_cast<Real>(b) * epsilon<Scalar>, inverse, step);
    visible_rank = std::min(visible_rank, found.rank);
    if (options.escalate && (found.rank < b || !trusted(found.amplification))) {
      note(Reason::ill_conditioned);
      return 0;
    }
    note_condition(found.condition_estimate);
    triangular = false;
    return found.amplification;
  }

  /// W <- W step^-1, r_total <- step r_total.
  void apply_step(bool step_is_triangular, Real a, Products next = Products::none) {
    if (step_is_triangular && a > direct_limit) {
      image_known = false;
      divide(w, step);
      dense::multiply_upper(step, r_total);
      known = Products::none;
    } else {
      step_triangle = step_is_triangular ? kernels::Triangle::upper : kernels::Triangle::general;
      pass({false, true, next, a <= Sweep<Real>::outer_limit});
    }
  }

  /// W <- W R^-1 with W R^-1 R = W to rounding however ill-conditioned R is: an explicit inverse leaves a residual that
  /// grows with its condition, so it serves only for blocks of columns that are well-conditioned, and the others follow
  /// by substitution.
  void divide(const Tall& block, const Small& r) {
    const std::int64_t n = block.width();
    const Small x = inverse.block(0, n, 0, n);
    const RealSmall columns = parts.block(0, 1, 0, n);
    dense::triangular_inverse(r, x);
    dense::column_squares(r, columns);
    if (n == 1 || dense::amplification(columns, x) <= direct_limit) {
      multiply_in_place(block, x, kernels::Triangle::upper);
      words += 2 * n;
      return;
    }
    const std::int64_t h = n / 2;
    divide(block.columns(0, h), r.block(0, h, 0, h));
    update(Scalar(-1), block.columns(0, h), r.block(0, h, h, n), Scalar(1), block.columns(h, n));
    words += h + 2 * (n - h);
    divide(block.columns(h, n), r.block(h, n, h, n));
  }

  /// reference = the squares of what columns of W must be compared with to tell whether they are noise: column j of W
  /// stands for the share r(j, i) of the caller's column i, and is more than noise where it is for one of them.
  void set_reference() { dense::divide_by_rows(original, r_total, reference); }

  /// Whether some column of W, whose squares are at hand, is hardly more than what rounding leaves of a dependent one.
  bool is_mostly_noise() {
    constexpr Real margin = 8;
    const Real limit = margin * tolerance;
    set_reference();
    if (dense::smallest_quotient(squares, reference) > limit * limit) return false;
    note(Reason::ill_conditioned);
    return true;
  }

  /// The method within the block: BCGSI+A takes CholQR beside a basis; under a metric, Gram matrices in working
  /// precision take the place of what knows no metric, or would gain nothing.
  Intra intra() const {
    if (options.inter == Inter::bcgsi_a && m > 0) return Intra::cholqr;
    if (metric != nullptr) return intra_under_metric(options.intra);
    return context.is_reproducible() ? intra_on_any_ranks(options.intra) : options.intra;
  }
  /// The same for a W of unit columns, where the method within the block has made some of them. With a triangular R
  /// each has come from the caller's column in its place: what later columns have of its direction proves nothing.
  bool holds_noise() {
    set_reference();
    const bool clean = triangular ? dense::inspect_factor(r_total, tolerance, original).rank + lost_columns() >= b
                                  : dense::within(reference, Real(0), 1 / (tolerance * tolerance));
    if (clean) return false;
    note(Reason::ill_conditioned);
    return true;
  }

  /// Between blocks: extended precision is that of V^H W, and B W has rounding errors of its own.
  Inter inter() const { return metric != nullptr && options.inter == Inter::pip_dd ? Inter::pipi_plus : options.inter; }
  void begin_method(bool has_inter, bool has_intra) {
    result.method = {inter(), m > 0 && options.inter == Inter::bcgsi_a ? options.intra : intra(), has_inter, has_intra};
    const bool other =
        (has_inter && result.method.inter != options.inter) || (has_intra && result.method.intra != options.intra);
    if (other) note(Reason::not_here);
  }
  std::int64_t lost_columns() const { return std::count(lost, lost + b, true); }
  bool has_lost() const { return lost_columns() > 0; }

  // ---- notes -----------------------------------------------------------------------------------------------------

  /// Whether a factor with this a is more than rounding noise: the Gram matrix of unit columns carries an error of a
  /// few eps.
  bool trusted(Real a) const { return 16 * std::sqrt(static_cast<Real>(m + b)) * epsilon<Scalar> * a <= 1; }
  void note(Reason reason) {
    if (result.reason <= Reason::badly_scaled) result.reason = reason;
  }
  void note_condition(Real estimate) {
    result.condition_estimate = std::max(result.condition_estimate, static_cast<double>(estimate));
  }

  static constexpr Real direct_limit = 1024;
  /// Of Omega, for b columns: that keeps the condition of Omega W R^-1 near 3. A multiple of 8; 0 if there is none.
  std::int64_t sketch_rows() const { return is_randomised(intra()) ? (4 * b + 16 + 7) / 8 * 8 : 0; }

  const Context& context;
  const Options& options;
  std::int64_t& draws;
  const Basis<Scalar, Layout, Space>& v;
  const Tall& w;
  const Metric* const metric;  ///< or null
  const std::int64_t m;
  const std::int64_t b;
  const Real tolerance;  ///< rank_tolerance
  WorkspaceScope<Space> scope;
  WorkspaceScope<> host_scope;
  Small s, g;                          ///< the latest V^H W and W^H W
  Small s_next;                        ///< scratch: where a sweep leaves V^H W of its result
  Small low;                           ///< g + low = W^H W in double-double, if wide
  Small sketch;                        ///< the latest Omega W
  Small step, inverse, work;           ///< the latest sweep's R and R^-1; scratch
  Small s_total, r_total;              ///< the coefficients so far
  RealSmall squares;                   ///< diag(g): squared lengths of W's columns when they were last measured
  RealSmall lengths;                   ///< the same at the beginning of the sweep
  RealSmall reference;                 ///< see set_reference
  RealSmall original;                  ///< and of the caller's (scaled) block
  RealSmall parts;                     ///< scratch
  RealSmall scales;                    ///< powers of two by which columns were scaled; only if scaled
  RealSmall euclidean, image_squares;  ///< under a metric: squared lengths of the block as it came, and of B times it
  Tall image;                          ///< B W, if image_known; W itself without a metric
  bool* lost;                          ///< columns found dependent; they are zero in W
  bool scaled = false;
  bool looked = false;  ///< look_at_block has been through
  bool image_known = false;
  bool euclidean_known = false;
  bool trusts_image = false;                                   ///< the part of B V that the caller brought has been met
  Products known = Products::none;                             ///< what belongs to W as it is
  bool wide = false, sketched = false;                         ///< and so does low, or sketch
  bool triangular = true;                                      ///< r_total is
  kernels::Triangle step_triangle = kernels::Triangle::upper;  ///< what step and inverse are
  std::int64_t visible_rank =
      std::numeric_limits<std::int64_t>::max();                 ///< columns that a factorisation could tell apart
  ExtendedProducts<Scalar, Layout, Space>* extended = nullptr;  ///< inner products are to be as precise as these
  const Small* defect = nullptr;  ///< V^H V - I for the leading known_defect columns, with room for the others
  std::int64_t known_defect = 0;
  bool broken = false;         ///< a method that is not to escalate did not go through, or not for all columns
  bool watches_noise = false;  ///< projected columns that are hardly more than noise are left to the strong method
  bool keeps_lost_in_place = false;  ///< lost columns are left zero where they are
  const Tall* whole = &w;            ///< what the caller knows W as: columns from first_column on of this
  std::int64_t first_column = 0;
  bool postpones = false;  ///< the step that normalises W waits for the block after it
  bool waits = false;
  Call* ahead = nullptr;   ///< the block before this one, beside V but for its own columns, whose step may wait
  std::int64_t words = 0;  ///< of tall data moved, a row
  std::int64_t reductions_before;
  Result result;
};

}  // namespace blockvec::orth

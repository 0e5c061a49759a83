#pragma once

#include <algorithm>
#include <blockvec/operations.hpp>
#include <blockvec/orth/dense.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace blockvec::orth {

/// How far one sweep can be trusted: bounds of a = ||D R^-1||_2^2, see Orthogonalizer.
template <class Real>
struct Sweep {
  bool done = false;   ///< false: the factorisation failed, W is as it was before it
  Real inner = 0;      ///< what rounding does to I - Q^H Q grows with this
  Real outer = 0;      ///< what rounding does to V^H Q grows with its root
  Real passed_on = 0;  ///< bound of ||S R^-1||_2^2: V^H Q gets (I - V^H V) S R^-1 from what V lacks

  static constexpr Real inner_limit = 8;
  static constexpr Real outer_limit = inner_limit * inner_limit;
  /// A basis of n blocks that were each projected once can have (1 + 2 passed_on)^(n/2) times the loss of one block:
  /// 5 at 100 blocks with this limit.
  static constexpr Real passed_on_limit = Real(1) / 64;
  /// Orthogonal to V to rounding, and orthonormal as well.
  bool projected() const { return done && outer <= outer_limit && passed_on <= passed_on_limit; }
  bool certified() const { return projected() && inner <= inner_limit; }
};

/// One call of a verb: the operands, the coefficients so far, scratch matrices, and what it cost. At any time
///     X diag(scales) = V s_total + W r_total,
/// X being the block that the caller gave. Methods are written with the steps offered here.
template <class Scalar, class Layout, class Space>
struct Call {
  using Real = RealOf<Scalar>;
  using Tall = BlockVector<Scalar, Layout, Space>;
  using Small = SmallMatrix<Scalar, Space>;
  using RealSmall = SmallMatrix<Real, Space>;

  Call(const Context& context_, const Options& options_, std::int64_t& draws_, const Tall& v_, const Tall& w_)
      : context(context_),
        options(options_),
        draws(draws_),
        v(v_),
        w(w_),
        m(v_.width()),
        b(w_.width()),
        tolerance(rank_tolerance<Scalar>(v_.width(), w_.width())),
        scope(context_),
        host_scope(context_),
        s(Small::scratch(scope, m, b)),
        g(Small::scratch(scope, b, b)),
        step(Small::scratch(scope, b, b)),
        inverse(Small::scratch(scope, b, b)),
        work(Small::scratch(scope, b, b)),
        s_total(Small::scratch(scope, m, b)),
        r_total(Small::scratch(scope, b, b)),
        squares(RealSmall::scratch(scope, 1, b)),
        lengths(RealSmall::scratch(scope, 1, b)),
        reference(RealSmall::scratch(scope, 1, b)),
        original(RealSmall::scratch(scope, 1, b)),
        parts(RealSmall::scratch(scope, 1, b)),
        scales(RealSmall::scratch(scope, 1, b)),
        lost(host_scope.take<bool>(static_cast<std::size_t>(b))),
        reductions_before(context_.reductions()) {
    std::fill_n(lost, b, false);
    dense::fill(s_total, Scalar(0));
    dense::set_identity(r_total);
  }

  // ---- steps -----------------------------------------------------------------------------------------------------

  /// s = V^H W, g = W^H W, squares = diag(g). One reduction. Nothing if they are at hand.
  void reduce() {
    if (fresh) return;
    InnerProducts<Scalar, Layout, Space> products(context);
    if (m > 0) products.add(v, w, s);
    products.add(w, w, g).reduce();
    words += (m > 0 ? m + b : 0) + b;
    dense::diagonal(g, squares);
    fresh = true;
  }

  /// g and squares alone: all there is to know where V has been dealt with.
  void reduce_gram() {
    if (fresh && m == 0) return;
    inner_product(w, w, g);
    words += b;
    dense::diagonal(g, squares);
    fresh = m == 0;
  }

  /// W <- W - V s.
  void subtract_projection() {
    if (m == 0) return;
    update(Scalar(-1), v, s, Scalar(1), w);
    words += m + 2 * b;
    dense::multiply(Scalar(1), s, false, r_total, false, Scalar(1), s_total);
    fresh = false;
  }

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
  void apply_step(bool step_is_triangular, Real a) {
    if (step_is_triangular) {
      if (a <= direct_limit) {
        multiply_in_place(w, inverse, kernels::Triangle::upper);
        words += 2 * b;
      } else {
        divide(w, step);
      }
      dense::multiply_upper(step, r_total);
    } else {
      multiply_in_place(w, inverse);
      words += 2 * b;
      dense::multiply(Scalar(1), step, false, r_total, false, Scalar(0), work);
      std::swap(work, r_total);
    }
    fresh = false;
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
  /// stands for the share r(j, j) of the caller's column. SVQB mixes columns; it goes only as far as there is no noise.
  void set_reference() {
    if (triangular) {
      dense::divide_by_pivots(original, r_total, reference);
    } else {
      dense::copy(squares, reference);
    }
  }

  // ---- notes -----------------------------------------------------------------------------------------------------

  /// Whether a factor with this a is more than rounding noise: the Gram matrix of unit columns carries an error of a
  /// few eps.
  bool trusted(Real a) const { return 16 * std::sqrt(static_cast<Real>(m + b)) * epsilon<Scalar> * a <= 1; }
  void note(Reason reason) {
    if (result.reason == Reason::none || result.reason == Reason::badly_scaled) result.reason = reason;
  }
  void note_condition(Real estimate) {
    result.condition_estimate = std::max(result.condition_estimate, static_cast<double>(estimate));
  }

  static constexpr Real direct_limit = 1024;

  const Context& context;
  const Options& options;
  std::int64_t& draws;
  const Tall& v;
  const Tall& w;
  const std::int64_t m;
  const std::int64_t b;
  const Real tolerance;  ///< rank_tolerance
  WorkspaceScope<Space> scope;
  WorkspaceScope<> host_scope;
  Small s, g;                 ///< the latest V^H W and W^H W
  Small step, inverse, work;  ///< the latest sweep's R and R^-1; scratch
  Small s_total, r_total;     ///< the coefficients so far
  RealSmall squares;          ///< diag(g): squared lengths of W's columns when they were last measured
  RealSmall lengths;          ///< the same at the beginning of the sweep
  RealSmall reference;        ///< see set_reference
  RealSmall original;         ///< and of the caller's (scaled) block
  RealSmall parts;            ///< scratch
  RealSmall scales;           ///< powers of two by which columns were scaled; only if scaled
  bool* lost;                 ///< columns found dependent; they are zero in W
  bool scaled = false;
  bool fresh = false;      ///< s, g and squares belong to W as it is
  bool triangular = true;  ///< r_total is
  std::int64_t visible_rank =
      std::numeric_limits<std::int64_t>::max();  ///< columns that a factorisation could tell apart
  std::int64_t words = 0;                        ///< of tall data moved, a row
  std::int64_t reductions_before;
  Result result;
};

}  // namespace blockvec::orth

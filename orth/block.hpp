#pragma once

#include <blockvec/orth/basis.hpp>
#include <blockvec/orth/metric.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <cmath>
#include <cstdint>

#include "orth/methods.hpp"

namespace blockvec::orth {

/// The operands of one call: a block W beside a basis V, and what is asked for. They do not change.
template <class Scalar, class Layout, class Space>
struct Block {
  using Real = RealOf<Scalar>;
  using Tall = BlockVector<Scalar, Layout, Space>;

  Block(const Context& context_, const Options& options_, const Basis<Scalar, Layout, Space>& v_, const Tall& w_,
        const Metric<Scalar, Layout, Space>* metric_)
      : context(context_),
        options(options_),
        v(v_),
        w(w_),
        metric(metric_),
        m(v_.width()),
        b(w_.width()),
        tolerance(rank_tolerance<Scalar>(v_.width(), w_.width())),
        whole(&w_) {}

  /// The method within the block: BCGSI+A takes CholQR beside a basis; under a metric, Gram matrices in working
  /// precision take the place of what knows no metric, or would gain nothing.
  Within within() const {
    if (options.between == Between::bcgsi_a && m > 0) return Within::cholqr;
    if (metric != nullptr) return within_under_metric(options.within);
    return context.is_reproducible() ? within_on_any_ranks(options.within) : options.within;
  }
  /// Between blocks: extended precision is that of V^H W, and B W has rounding errors of its own.
  Between between() const {
    return metric != nullptr && options.between == Between::pip_dd ? Between::pipi_plus : options.between;
  }
  Method method(bool has_between, bool has_within) const {
    return {between(), m > 0 && options.between == Between::bcgsi_a ? options.within : within(), has_between,
            has_within};
  }
  /// Of Omega, for b columns: that keeps the condition of Omega W R^-1 near 3. A multiple of 8; 0 if there is none.
  std::int64_t sketch_rows() const { return is_randomised(within()) ? (4 * b + 16 + 7) / 8 * 8 : 0; }
  /// Whether a factor with this a is more than rounding noise: the Gram matrix of unit columns carries an error of a
  /// few eps.
  bool trusts(Real a) const { return 16 * std::sqrt(static_cast<Real>(m + b)) * epsilon<Scalar> * a <= 1; }
  /// W is the part of X that begins with this column, in a call of factorize.
  void set_whole(const Tall& x, std::int64_t column) {
    whole = &x;
    first_column = column;
    is_part = true;
  }

  const Context& context;
  const Options& options;
  const Basis<Scalar, Layout, Space>& v;
  const Tall& w;
  const Metric<Scalar, Layout, Space>* const metric;  ///< or null
  const std::int64_t m;
  const std::int64_t b;
  const Real tolerance;  ///< rank_tolerance
  const Tall* whole;     ///< what the caller knows W as: columns from first_column on of this
  std::int64_t first_column = 0;
  bool is_part = false;  ///< of a call of factorize, which settles what becomes of lost columns
};

}  // namespace blockvec::orth

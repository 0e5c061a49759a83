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
  Intra intra() const {
    if (options.inter == Inter::bcgsi_a && m > 0) return Intra::cholqr;
    if (metric != nullptr) return intra_under_metric(options.intra);
    return context.is_reproducible() ? intra_on_any_ranks(options.intra) : options.intra;
  }
  /// Between blocks: extended precision is that of V^H W, and B W has rounding errors of its own.
  Inter inter() const { return metric != nullptr && options.inter == Inter::pip_dd ? Inter::pipi_plus : options.inter; }
  Method method(bool has_inter, bool has_intra) const {
    return {inter(), m > 0 && options.inter == Inter::bcgsi_a ? options.intra : intra(), has_inter, has_intra};
  }
  /// Of Omega, for b columns: that keeps the condition of Omega W R^-1 near 3. A multiple of 8; 0 if there is none.
  std::int64_t sketch_rows() const { return is_randomised(intra()) ? (4 * b + 16 + 7) / 8 * 8 : 0; }
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

#pragma once

#include <blockvec/orth/metric.hpp>
#include <cmath>
#include <limits>

#include "orth/block.hpp"
#include "orth/dense/internal.hpp"
#include "orth/findings.hpp"

namespace blockvec::orth {

/// B W under a metric, as far as it is known; W itself without one.
template <class Scalar, class Layout, class Space>
class Image {
 public:
  using Real = RealOf<Scalar>;
  using Tall = BlockVector<Scalar, Layout, Space>;
  using Operands = Block<Scalar, Layout, Space>;

  Image(WorkspaceScope<Space>& tall_scope, WorkspaceScope<>& scope, const Operands& block)
      : euclidean(SmallMatrix<Real>::scratch(scope, 1, block.b)),
        squares(SmallMatrix<Real>::scratch(scope, 1, block.b)),
        block_(block),
        vectors_(block.metric == nullptr                           ? block.w
                 : block.metric->image_of_block.width() == block.b ? block.metric->image_of_block
                                                                   : scratch_like(tall_scope, block.w, block.b)) {}

  const Tall& vectors() const { return vectors_; }
  bool known() const { return known_; }

  /// Makes it known. Without a metric that is nothing.
  void form(Findings& findings) {
    if (block_.metric == nullptr || known_) return;
    apply(block_.w, vectors_, findings);
    known_ = true;
  }
  /// The same from other vectors, which W will be again.
  void form_from(const Tall& x, Findings& findings) {
    apply(x, vectors_, findings);
    known_ = true;
  }
  /// Y = B X for other vectors; nothing without a metric.
  void apply(const Tall& x, const Tall& y, Findings& findings) const {
    if (block_.metric == nullptr) return;
    block_.context.callers([&] { block_.metric->apply(x, y); });
    findings.result.applications += x.width();
  }
  /// W has changed.
  void forget() { known_ = false; }
  /// W has changed and so has this; where cancellation was strong, B W must be had from W anew.
  void keep_if(bool accurate) { known_ = known_ && accurate; }

  /// After the first look, only the caller's B can bring in NaN or Inf: by B W, or by the B V that B W follows from.
  void end_first_look() { looked_ = true; }
  void require_finite_products(const SmallMatrix<Scalar>& products) const {
    if (looked_) require_finite(products);
  }
  void require_finite(Real number) const {
    if (block_.metric == nullptr || std::isfinite(number)) return;
    throw NotFiniteError("orth: the inner product's B W, or B V, brings in NaN or Inf; W = " +
                         block_.whole->describe());
  }
  void require_finite(const SmallMatrix<Scalar>& products) const {
    if (block_.metric == nullptr || dense::first_non_finite_column(products) < 0) return;
    require_finite(std::numeric_limits<Real>::quiet_NaN());
  }

  SmallMatrix<Real> euclidean, squares;  ///< squared lengths of the block as it came, and of B times it
  bool lengths_known = false;            ///< whether these are at hand

 private:
  const Operands& block_;
  Tall vectors_;
  bool known_ = false;
  bool looked_ = false;
};

}  // namespace blockvec::orth

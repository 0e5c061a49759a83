#pragma once

#include <blockvec/small_on_host.hpp>

#include "orth/block.hpp"
#include "orth/coefficients.hpp"
#include "orth/dense/internal.hpp"
#include "orth/factor.hpp"
#include "orth/findings.hpp"
#include "orth/image.hpp"
#include "orth/products.hpp"

namespace blockvec::orth {

template <class Scalar, class Layout, class Space>
struct ExtendedProducts;
template <class Scalar, class Layout, class Space>
struct Carrier;

/// Squared lengths of columns.
template <class Scalar>
struct Lengths {
  using RealSmall = SmallMatrix<RealOf<Scalar>>;

  Lengths(WorkspaceScope<>& scope, std::int64_t b)
      : original(RealSmall::scratch(scope, 1, b)),
        before(RealSmall::scratch(scope, 1, b)),
        reference(RealSmall::scratch(scope, 1, b)),
        parts(RealSmall::scratch(scope, 1, b)),
        scales(RealSmall::scratch(scope, 1, b)) {}

  RealSmall original;   ///< of the caller's (scaled) block
  RealSmall before;     ///< at the beginning of the sweep
  RealSmall reference;  ///< see Call::set_reference
  RealSmall parts;      ///< scratch
  RealSmall scales;     ///< powers of two by which columns were scaled, if they were
  bool scaled = false;
};

/// One call of a verb: its operands, and what is known of W as it stands. Methods go from `products` to a `factor`, and
/// from that to the change of W, which `coefficients` follow.
template <class Scalar, class Layout, class Space>
struct Call {
  using Real = RealOf<Scalar>;
  using Tall = BlockVector<Scalar, Layout, Space>;
  using Small = SmallMatrix<Scalar>;
  using RealSmall = SmallMatrix<Real>;

  Call(const Context& context, const Options& options, std::int64_t& draws_, const Basis<Scalar, Layout, Space>& v,
       const Tall& w, const Metric<Scalar, Layout, Space>* metric = nullptr)
      : block(context, options, v, w, metric),
        draws(draws_),
        tall_scope(context),
        scope(context),
        products(scope, block.m, block.b, block.sketch_rows()),
        factor(Factor<Scalar>::scratch(scope, block.b)),
        coefficients(scope, block.m, block.b),
        lengths(scope, block.b),
        findings(scope, block.b),
        image(tall_scope, scope, block),
        next_s(Small::scratch(scope, block.m, block.b)),
        work(Small::scratch(scope, block.b, block.b)) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// reference = the squares of what columns of W must be compared with to tell whether they are noise: column j of W
  /// stands for the share r(j, i) of the caller's column i, and is more than noise where it is for one of them.
  void set_reference() { dense::divide_by_rows(lengths.original, coefficients.r, lengths.reference); }

  Block<Scalar, Layout, Space> block;
  std::int64_t& draws;  ///< random columns that the orthogonaliser has drawn
  WorkspaceScope<Space> tall_scope;
  WorkspaceScope<> scope;
  Products<Scalar> products;
  Factor<Scalar> factor;  ///< of the latest sweep
  Coefficients<Scalar> coefficients;
  Lengths<Scalar> lengths;
  Findings findings;
  Image<Scalar, Layout, Space> image;
  Small next_s;                                                 ///< scratch: where a sweep leaves V^H W of its result
  Small work;                                                   ///< scratch, b x b
  ExtendedProducts<Scalar, Layout, Space>* extended = nullptr;  ///< inner products are to be as precise as these
  Carrier<Scalar, Layout, Space>* carrier = nullptr;            ///< who carries out changes of W, if not this call
};

}  // namespace blockvec::orth

#pragma once

#include <blockvec/double_double_matrix.hpp>

#include "orth/sweeps.hpp"

/// BCGS-PIP with its small matrices in about twice the working precision.
namespace blockvec::orth {

/// The products that it needs of a call, and how far V is from orthonormal.
template <class Scalar, class Layout, class Space>
struct ExtendedProducts {
  using Small = SmallMatrix<Scalar>;
  using Wide = DoubleDoubleMatrix<Scalar>;

  /// `defect_`: m x m, its leading `known_` columns being V^H V - I already.
  ExtendedProducts(WorkspaceScope<>& scope, std::int64_t m, std::int64_t b, const Small& defect_, std::int64_t known_)
      : s(Wide::scratch(scope, m, b)),
        g(Wide::scratch(scope, b, b)),
        basis(Wide::scratch(scope, m, m - known_)),
        defect(defect_),
        known(known_) {}

  /// One reduction: V^H W, W^H W, and of V^H V what is not known. Its rounded parts go to the call.
  void reduce(Call<Scalar, Layout, Space>& call) {
    InnerProducts<Scalar, Layout, Space> products(call.block.context);
    call.block.v.for_pieces([&](const auto& right, std::int64_t begin, std::int64_t end) {
      products.add_dd(right, call.block.w, s.block(begin, end, 0, call.block.b));
      const std::int64_t first = std::max(begin, known);
      if (first >= end) return;
      call.block.v.for_pieces([&](const auto& left, std::int64_t from, std::int64_t to) {
        if (from > begin) return;  // the other triangle
        products.add_dd(left, right.columns(first - begin, end - begin),
                        basis.block(from, to, first - known, end - known));
      });
    });
    products.add_dd(call.block.w, call.block.w, g).reduce();
    call.findings.words += call.block.m + (call.block.m - known) + 2 * call.block.b;
    dense::defect_from_identity(basis.block(0, call.block.m, 0, call.block.m - known), defect, known);
    known = call.block.m;
    dense::copy(s.high, call.products.s);
    dense::copy(g.high, call.products.g);
  }

  Wide s, g, basis;
  Small defect;
  std::int64_t known;
};

/// With T = V^H V: S' = S - (T - I) S, so that W - V S' is orthogonal to V as V is and not as it should be; its Gram
/// matrix W^H W - S^H S' and the factor of that in extended precision, projection and division as ever. What rounding
/// leaves is eps kappa, and V's own defects do not enter. One reduction; 2m + 7b words, and m at first for T.
template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> extended_sweep(Call<Scalar, Layout, Space>& call, Another another) {
  using Real = RealOf<Scalar>;
  auto& products = *call.extended;
  reduce(call);
  call.extended = nullptr;  // what follows is well-conditioned
  ++call.findings.result.sweeps;
  WorkspaceScope<> scope(call.block.context);
  const auto corrected = DoubleDoubleMatrix<Scalar>::scratch(scope, call.block.m, call.block.b);
  const auto correction = SmallMatrix<Scalar>::scratch(scope, call.block.m, call.block.b);
  dense::multiply(Scalar(1), products.defect, false, products.s.high, false, Scalar(0), correction);
  dense::copy(products.s.high, corrected.high);
  dense::copy(products.s.low, corrected.low);
  dense::subtract(correction, corrected);
  dense::multiply_dd(Real(-1), products.s, true, corrected, Real(1), products.g);
  // Columns are told apart down to rank_tolerance, or as far as digits go.
  const Real least = call.block.options.escalate ? call.block.tolerance : epsilon<Scalar>;
  const auto& squares = call.products.squares;
  const auto found =
      by_wide_cholesky(call.block, products.g, least * least, squares, squares, call.factor, call.findings);
  if (found) dense::copy(corrected.high, call.products.s);
  return conclude(call, found, true, another, true);
}

}  // namespace blockvec::orth

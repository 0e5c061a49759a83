#pragma once

#include <cstdint>
#include <utility>

#include "orth/dense/internal.hpp"
#include "orth/factor.hpp"

namespace blockvec::orth {

/// What the caller's block X is in terms of W as it stands: X diag(scales) = V s + W r. Changes of W compose.
template <class Scalar>
struct Coefficients {
  using Small = SmallMatrix<Scalar>;

  Coefficients(WorkspaceScope<>& scope, std::int64_t m, std::int64_t b)
      : s(Small::scratch(scope, m, b)), r(Small::scratch(scope, b, b)), spare(Small::scratch(scope, b, b)) {
    dense::fill(s, Scalar(0));
    dense::set_identity(r);
  }

  /// W has become W - V c.
  void project(const Small& c) { dense::multiply(Scalar(1), c, false, r, false, Scalar(1), s); }
  /// W has become W T^-1 with an upper triangular T.
  void divide(const Small& t) { dense::multiply_upper(t, r); }
  /// The same with any T.
  void divide_by_full(const Small& t) {
    dense::multiply(Scalar(1), t, false, r, false, Scalar(0), spare);
    std::swap(spare, r);
  }
  void divide(const Factor<Scalar>& factor) {
    factor.is_upper() ? divide(factor.r) : divide_by_full(factor.r);
    triangular = triangular && factor.is_upper();
  }

  Small s, r;
  Small spare;
  bool triangular = true;  ///< r is
};

}  // namespace blockvec::orth

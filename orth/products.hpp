#pragma once

#include <cstdint>

#include "orth/dense/internal.hpp"

namespace blockvec::orth {

/// Which inner products of a block are at hand: its Gram matrix g (and squares), or those with the basis, s, as well.
enum class Known { none, gram, all };

/// Inner products of W as it stands, summed over all ranks. Under a metric they are those with B W.
template <class Scalar>
struct Products {
  using Small = SmallMatrix<Scalar>;
  using RealSmall = SmallMatrix<RealOf<Scalar>>;

  Products(WorkspaceScope<>& scope, std::int64_t m, std::int64_t b, std::int64_t sketch_rows)
      : s(Small::scratch(scope, m, b)),
        g(Small::scratch(scope, b, b)),
        low(Small::scratch(scope, b, b)),
        sketch(Small::scratch(scope, sketch_rows, b)),
        squares(RealSmall::scratch(scope, 1, b)) {}

  /// g is new.
  void set_known(Known what, bool is_wide = false, bool is_sketched = false) {
    dense::diagonal(g, squares);
    known = what;
    wide = is_wide;
    sketched = is_sketched;
  }
  void forget() { known = Known::none; }
  bool finite() const { return dense::first_non_finite_column(s) < 0 && dense::first_non_finite_column(g) < 0; }

  Small s, g;         ///< V^H W, W^H W
  Small low;          ///< g + low = W^H W in double-double, if wide
  Small sketch;       ///< Omega W, if sketched
  RealSmall squares;  ///< diag(g): squared lengths of W's columns when they were last measured
  Known known = Known::none;
  bool wide = false, sketched = false;
};

}  // namespace blockvec::orth

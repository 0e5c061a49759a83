#pragma once

#include <blockvec/block_vector.hpp>
#include <blockvec/small_matrix.hpp>
#include <cstdint>

namespace blockvec {

/// Products that are to follow a change of W.
template <class Scalar, class Space>
struct NextProducts {
  SmallMatrix<Scalar, Space> p;         ///< (m + b) x b: this rank's share of [V W]^H W of the new W
  const unsigned* condition = nullptr;  ///< where it is zero, P stays as it is
};

/// gram_schmidt_sweep over V and W as one view `all` = [V W], with coefficients and conditions that the host need not
/// know yet: W, the last b columns, becomes [V W] C where *changes is not zero when the pass runs, and stays as it is
/// elsewhere; then the products of what W is by that time, if any are asked for. C is (m + b) x b, in the block
/// vectors' memory space as the conditions are; C = [-S X; X] makes (W - V S) X.
/// Cost: conditional_sweep_words(), or none of that under conditions that are zero; the profile counts it in any case.
/// No reduction, no wait: the shares in P are to be summed by InnerProducts::add_share.
template <class Scalar, class Layout, class Space>
void conditional_sweep(const BlockVector<Scalar, Layout, Space>& all, const SmallMatrix<Scalar, Space>& c,
                       const unsigned* changes, const NextProducts<Scalar, Space>* next = nullptr);

/// Words a row that a change of b columns behind m others moves, and the products after it: a pass each.
constexpr std::int64_t conditional_sweep_words(std::int64_t m, std::int64_t b, bool with_products) {
  return m + 2 * b + (with_products ? m + b : 0);
}

}  // namespace blockvec

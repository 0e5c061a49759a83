#pragma once

#include <blockvec/block_vector.hpp>
#include <blockvec/small_matrix.hpp>

namespace blockvec {

/// gram_schmidt_sweep over V and W as one view `all` = [V W], with coefficients and a condition that the host need not
/// know yet: W, the last b columns, becomes [V W] C where *condition is not zero when the pass runs, and stays as it is
/// elsewhere. C is (m + b) x b, in the block vectors' memory space as *condition is; C = [-S X; X] makes (W - V S) X.
/// Cost: one pass, K (m + 2b) words, or none; the profile counts it in any case. No reduction, no wait.
template <class Scalar, class Layout, class Space>
void conditional_sweep(const BlockVector<Scalar, Layout, Space>& all, const SmallMatrix<Scalar, Space>& c,
                       const unsigned* condition);

}  // namespace blockvec

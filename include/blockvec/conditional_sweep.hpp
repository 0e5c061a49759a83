#pragma once

#include <blockvec/block_vector.hpp>
#include <blockvec/small_matrix.hpp>
#include <cstdint>

namespace blockvec {

/// gram_schmidt_sweep over V and W as one view `all` = [V W], with coefficients and a condition that the host need not
/// know yet: where *condition is not zero when it runs, W, the last b columns, becomes [V W] C, and P, if it is not
/// null, this rank's share of [V W]^H W of the new W. Elsewhere both stay as they are. C and P are (m + b) x b, in the
/// block vectors' memory space as the condition is; C = [-S X; X] makes (W - V S) X.
/// Cost: conditional_sweep_words(), or none of that under a condition that is zero; the profile counts it in any case.
/// No reduction, no wait: shares are to be summed by InnerProducts::add_share.
template <class Scalar, class Layout, class Space>
void conditional_sweep(const BlockVector<Scalar, Layout, Space>& all, const SmallMatrix<Scalar, Space>& c,
                       const unsigned* condition, const SmallMatrix<Scalar, Space>* p = nullptr);

/// inner_product of V and W on this rank under such a condition: P, m x b, becomes its share of V^H W, or stays as it
/// is. Cost: m + b words a row, b if V is W, or none of that; no reduction, no wait.
template <class Scalar, class Layout, class Space>
void conditional_inner_product(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                               const SmallMatrix<Scalar, Space>& p, const unsigned* condition);

/// Words a row that a conditional sweep moves, b being the columns of C: m + 2b, with products as well where a device
/// makes both in one pass (kernels::cuda_sweeps_in_one_pass); else m + b more for them.
template <class Scalar, class Layout, class Space>
std::int64_t conditional_sweep_words(const BlockVector<Scalar, Layout, Space>& all, std::int64_t b, bool with_products);

}  // namespace blockvec

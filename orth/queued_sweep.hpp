#pragma once

#include <blockvec/block_vector.hpp>
#include <cstdint>

#include "orth/pythagorean_factor.hpp"

namespace blockvec::orth {

/// What a queued sweep brings to the host.
template <class Scalar>
struct QueuedSweep {
  PythagoreanStatus<RealOf<Scalar>> status;  ///< certified: W has been changed; else W is as it was
  SmallMatrix<Scalar> s, g;  ///< V^H W (m x b) and W^H W (b x b) of the W that came, whatever the verdict
  SmallMatrix<Scalar> r;     ///< b x b upper triangular, if the status has rank b
};

/// A Pythagorean sweep over `all` = [V W], V being the first m columns, without the host between its steps: the
/// products [S; G] = [V W]^H W, their factor and its verdict (factorize_pythagorean), and W <- (W - V S) R^-1 where the
/// verdict is that one sweep is enough. The results lie in the scope's memory. Cost: K (m + b) words, one reduction of
/// (m + b) b words, and K (m + 2b) words where W changes; on a device one wait at the end, and that of the reduction on
/// more than one rank. Collective. Throws ShapeError unless W has 1 to most_pythagorean_columns columns.
template <class Scalar, class Layout, class Space>
QueuedSweep<Scalar> queued_sweep(WorkspaceScope<>& scope, const BlockVector<Scalar, Layout, Space>& all, std::int64_t m,
                                 const PythagoreanLimits<RealOf<Scalar>>& limits);

}  // namespace blockvec::orth

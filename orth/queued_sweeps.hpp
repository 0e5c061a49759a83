#pragma once

#include <blockvec/block_vector.hpp>
#include <cstdint>

#include "orth/pythagorean_factor.hpp"

namespace blockvec::orth {

/// What a queued sweep brings to the host.
template <class Scalar>
struct SweepResults {
  PythagoreanStatus<RealOf<Scalar>> status;  ///< certified: W has been changed; else W is as it was
  SmallMatrix<Scalar> s, g;  ///< V^H W (m x b) and W^H W (b x b) of the W that came, whatever the verdict
  SmallMatrix<Scalar> r;     ///< b x b upper triangular, if the status has rank b
};

/// A Pythagorean sweep over `all` = [V W], V being the first m columns, without the host between its steps: the
/// products [S; G] = [V W]^H W, their factor and its verdict (factorize_pythagorean), and W <- (W - V S) R^-1 where the
/// verdict is that one sweep is enough. Cost: K (m + b) words, one reduction of (m + b) b words, and K (m + 2b) words
/// where W changes.
template <class Scalar, class Layout, class Space>
class QueuedSweep {
 public:
  /// Queues all of it. On a device it does not wait, but for the reduction on more than one rank, and what it queues on
  /// one rank may be captured in a CUDA graph: each launch is then a sweep over what W holds. Collective. Throws
  /// ShapeError unless W has 1 to most_pythagorean_columns columns.
  QueuedSweep(const BlockVector<Scalar, Layout, Space>& all, std::int64_t m,
              const PythagoreanLimits<RealOf<Scalar>>& limits);

  /// Waits for the device, once. The matrices lie in this object's memory, which the next sweep of a graph writes anew.
  SweepResults<Scalar> results() const;

 private:
  using Factor = PythagoreanFactor<Scalar, Space>;

  Context context_;
  std::int64_t m_, b_;
  WorkspaceScope<StagingSpaceOf<Space>> staging_;
  std::byte* here_ = nullptr;  // P, R and the status as the host sees them
  WorkspaceScope<Space> there_;
};

}  // namespace blockvec::orth

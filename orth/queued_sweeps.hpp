#pragma once

#include <blockvec/block_vector.hpp>
#include <cstdint>

#include "orth/pythagorean_factor.hpp"

namespace blockvec::orth {

/// What the host gets of one sweep.
template <class Scalar>
struct SweepResults {
  PythagoreanStatus<RealOf<Scalar>> status;  ///< changes: W has been changed by this sweep, or will be; else it has not
  SmallMatrix<Scalar> s, g;  ///< V^H W (m x b, or 0 x b where a tidy sweep has left V out) and W^H W (b x b) of the W
                             ///< that the sweep found, whatever its verdict
  SmallMatrix<Scalar> r;     ///< b x b upper triangular, if the status has rank b
};

/// One or two Pythagorean sweeps over `all` = [V W], V being the first m columns, without the host between their steps.
/// A sweep: the products [S; G] = [V W]^H W, their factor and its verdict (factorize_pythagorean), and W <- (W - V S)
/// R^-1 where R is to be trusted. Where the first one changes W, and the verdict on it and `another` ask for that, the
/// second one follows; after Verdict::tidy it is W <- W R^-1, and its products leave V out unless they come with the
/// change in one pass. Cost: K (m + b) words for the first products, one reduction of (m + b) b words for the products
/// of each sweep, and conditional_sweep_words for each change and what follows from it.
///
/// On one rank and by NCCL all can be queued at once (Verdicts::at_the_end): steps that turn out needless end before
/// they read tall data, but for the reduction of the second products over ranks, which then adds up what nobody reads.
/// With Verdicts::on_the_way the host looks at the first verdict while the device is at the change that follows from
/// it, and queues the rest only where it is needed: a wait more, and four launches less where it is not. Elsewhere the
/// host waits for each reduction anyway, and so it does there. Where the context's profile is on, it looks before the
/// change is queued, so that no step is counted that is not made.
enum class Verdicts { on_the_way, at_the_end };

template <class Scalar, class Layout, class Space>
class QueuedSweeps {
 public:
  /// Queues them. What it queues on one rank with Verdicts::at_the_end may be captured in a CUDA graph, once such
  /// sweeps have been queued before (memory is at hand then): each launch is then a call on what V and W hold, and
  /// results() may follow each of them. Collective. Throws ShapeError unless W has 1 to most_pythagorean_columns
  /// columns.
  QueuedSweeps(const BlockVector<Scalar, Layout, Space>& all, std::int64_t m,
               const PythagoreanLimits<RealOf<Scalar>>& limits, Another another,
               Verdicts verdicts = Verdicts::at_the_end);
  QueuedSweeps(QueuedSweeps&&) noexcept = default;
  /// Waits for the device, unless results() has: it writes to this object's memory.
  ~QueuedSweeps();

  struct Results {
    SweepResults<Scalar> sweeps[2];
    int formed;  ///< products of so many sweeps have been formed. All but the last one have changed W
  };

  /// Waits until the verdicts are there, not for the change of W that follows them. One wait, or none where the host
  /// has looked at the first verdict on the way and that was the last one. The matrices lie in this object's memory,
  /// which the next launch of a graph writes anew.
  Results results() const;

 private:
  using Factor = PythagoreanFactor<Scalar, Space>;
  using Staging = StagingSpaceOf<Space>;

  QueuedSweeps(const Context& context, std::int64_t m, std::int64_t b) : context_(context), m_(m), b_(b) {}
  std::byte* report_of(int sweep) const;
  unsigned* word() const { return reinterpret_cast<unsigned*>(here_.data()); }
  SweepResults<Scalar> results_of(int sweep) const;
  void await_word() const;

  Context context_;
  std::int64_t m_, b_;
  int queued_ = 1;                 // sweeps
  bool is_apart_ = false;          // W's change and the products of the new W are two passes
  bool is_open_ = true;            // the host has not heard of the last of them
  mutable bool is_heard_ = false;  // results() has been called
  KeptMemory<Staging> here_;       // the word, and of each sweep P, R and the status as the host sees them
  KeptMemory<Space> there_;
};

}  // namespace blockvec::orth

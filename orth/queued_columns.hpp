#pragma once

#include <blockvec/block_vector.hpp>
#include <blockvec/small_matrix.hpp>
#include <cstddef>
#include <cstdint>

namespace blockvec::orth {

/// What a projection of one column is judged by.
template <class Real>
struct ColumnLimits {
  Real least_length;  ///< a column that is no longer is lost
  Real least_whole;   ///< what is left is compared with the column's squared length, or with this where it is larger
  bool is_last;       ///< the column is then divided by its length: half of its square must be left
};

/// Where a run of queued columns ended: at the first projection that did not fit its limits, which is not made.
struct ColumnStatus {
  unsigned goes_on;  ///< 1: every projection so far was made, else 0. A product's condition (kernels::CudaExecution)
  int column, pass;  ///< of the first projection that was not
};

/// What a run of queued columns brings to the host.
template <class Scalar>
struct ColumnResults {
  ColumnStatus status;
  SmallMatrix<Scalar> r;               ///< b x b: coefficients of the columns so far; its diagonal is real
  SmallMatrix<RealOf<Scalar>> before;  ///< 1 x b: squared lengths of the columns as they came
};

/// Gram-Schmidt by columns without the host between its steps. Coefficients and lengths stay where W lies; a small
/// kernel turns the products of one column into the coefficients of its change. After a projection that does not fit
/// its limits nothing changes any more: its column, and those after it, are up to the host.
template <class Scalar, class Layout, class Space>
class QueuedColumns {
 public:
  using Real = RealOf<Scalar>;
  using Tall = BlockVector<Scalar, Layout, Space>;

  explicit QueuedColumns(const Tall& w);

  /// Begins a run: what is queued from here on goes on.
  void restart() { is_first_ = true; }

  /// w_j <- w_j - W_before W_before^H image, and then w_j / ||w_j|| where this is the column's last projection; `image`
  /// is w_j, or B w_j under a metric. `pass` counts from 1. `square`: the column's squared length where it is known and
  /// there is nothing before it; else null. Cost: 2j + 3 words, and one reduction of j + 1 words (none with `square`).
  /// It does not wait for a device, but for the reduction on more than one rank. Collective.
  void project(std::int64_t j, int pass, const Tall& image, const ColumnLimits<Real>& limits, const Real* square);

  /// Waits for the device, once. The matrices lie in this object's memory.
  ColumnResults<Scalar> results() const;

 private:
  static std::size_t before_at(std::int64_t b) { return rounded(static_cast<std::size_t>(b * b) * sizeof(Scalar)); }
  static std::size_t status_at(std::int64_t b) {
    return before_at(b) + rounded(static_cast<std::size_t>(b) * sizeof(Real));
  }
  static std::size_t bytes(std::int64_t b) { return status_at(b) + sizeof(ColumnStatus); }
  static std::size_t rounded(std::size_t count) { return (count + 15) / 16 * 16; }

  const Tall w_;
  const std::int64_t b_;
  WorkspaceScope<StagingSpaceOf<Space>> staging_;
  WorkspaceScope<Space> there_;
  std::byte* memory_;                 // R, `before` and the status
  std::byte* here_;                   // the same as the host sees it
  SmallMatrix<Scalar, Space> p_, c_;  // b x 1: products of a column, and coefficients of its change
  bool is_first_ = true;
};

}  // namespace blockvec::orth

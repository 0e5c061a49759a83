#pragma once

#include <blockvec/block_vector.hpp>
#include <memory>

#include "problems/heisenberg.hpp"

namespace blockvec::examples {

/// The Hamiltonian of a spin chain without a matrix: each product writes its entries down anew, from the bits of the
/// states. Nothing is stored for a row. The entries and the order of the rows are those of the chain as a RowSource.
template <class Space = DefaultSpace>
class SpinChainOperator {
 public:
  /// `low_sites`: of a tile (SpinTiles), on a device no more than its scratch memory is meant for; 0: as measured to
  /// be fast. Throws InputError where there is more than one rank, ShapeError where `rows` are not the chain's.
  SpinChainOperator(const Context& context, const RowDistribution& rows, const SpinChain& chain, int low_sites = 0);
  ~SpinChainOperator();
  SpinChainOperator(SpinChainOperator&&) noexcept;

  const Context& context() const;
  const RowDistribution& rows() const;
  /// Entries that the matrix has: what a product computes.
  std::int64_t nonzeros() const;

  /// Y = alpha (H - shift) X + beta Y. beta = 0 never reads Y. X and Y do not overlap.
  /// Cost: X and Y once from memory at least; rows of other tiles come from caches, as far as these hold them.
  /// Allocates tables at the first product of a width: at most 32 bytes for each tile of some thousand rows.
  /// Recorded as user_operator. Throws ShapeError naming X and Y, OutOfMemoryError.
  template <class Layout>
  void apply(double alpha, double shift, const BlockVector<double, Layout, Space>& x, double beta,
             const BlockVector<double, Layout, Space>& y) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace blockvec::examples

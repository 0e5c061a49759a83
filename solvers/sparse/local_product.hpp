#pragma once

#include <blockvec/block_vector.hpp>
#include <memory>

#include "solvers/sparse/compressed_rows.hpp"

namespace blockvec::solvers {

/// A rank's own part of a sparse matrix, times a rank's own rows of a block vector.
template <class Scalar>
class LocalProduct {
 public:
  explicit LocalProduct(CompressedRows<Scalar> rows);
  ~LocalProduct();
  const CompressedRows<Scalar>& rows() const { return rows_; }

  /// Y = alpha (A - shift) X + beta Y.
  template <class Layout>
  void apply(int threads, Scalar alpha, Scalar shift, const BlockVector<Scalar, Layout>& x, Scalar beta,
             const BlockVector<Scalar, Layout>& y) const;

 private:
  struct Matrix;  // Kokkos Kernels' view of rows_
  CompressedRows<Scalar> rows_;
  std::unique_ptr<Matrix> matrix_;
};

}  // namespace blockvec::solvers

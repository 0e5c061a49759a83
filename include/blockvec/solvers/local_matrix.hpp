#pragma once

#include <blockvec/row_distribution.hpp>
#include <blockvec/scalar.hpp>
#include <blockvec/solvers/row_source.hpp>
#include <memory>
#include <variant>

namespace blockvec::solvers {

/// A matrix of which this rank holds its own rows.
template <class Scalar>
struct LocalMatrix {
  /// Which rank holds which rows.
  RowDistribution rows;
  std::unique_ptr<RowSource<Scalar>> source;  ///< answers for this rank's rows only
  bool is_dense = false;                      ///< the file holds all entries: a matrix for DenseOperator
};

/// What a file holds.
using RealOrComplexMatrix = std::variant<LocalMatrix<double>, LocalMatrix<Complex<double>>>;

}  // namespace blockvec::solvers

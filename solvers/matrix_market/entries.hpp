#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "solvers/matrix_market/header.hpp"

namespace blockvec::solvers {

/// An entry of a matrix; rows and columns count from 0.
template <class Scalar>
struct MatrixEntry {
  std::int64_t row;
  std::int64_t column;
  Scalar value;
};

/// Rows [begin, end) of a matrix.
struct RowRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool contains(std::int64_t row) const { return row >= begin && row < end; }
};

/// Reads what follows the header: the entries of `range`, by row and column, of a matrix that must be Hermitian
/// (read_matrix_market says which ones are). Of a general matrix only what concerns `range` is looked at. double and
/// Complex<double>, the latter for complex fields. Sends nothing. Throws InputError naming `path` and the line or the
/// entry, OutOfMemoryError.
template <class Scalar>
std::vector<MatrixEntry<Scalar>> read_entries(const std::string& path, MatrixMarketLines& lines,
                                              const MatrixMarketHeader& header, const RowRange& range);

}  // namespace blockvec::solvers

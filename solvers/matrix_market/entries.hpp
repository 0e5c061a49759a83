#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "solvers/hermitian_entries.hpp"
#include "solvers/matrix_market/header.hpp"

namespace blockvec::solvers {

/// Reads what follows the header: the entries of `range`, by row and column, of a matrix that must be Hermitian
/// (read_matrix_market says which ones are). Of a general matrix only what concerns `range` is looked at. double and
/// Complex<double>, the latter for complex fields. Sends nothing. Throws InputError naming `path` and the line or the
/// entry, OutOfMemoryError.
template <class Scalar>
std::vector<MatrixEntry<Scalar>> read_entries(const std::string& path, MatrixMarketLines& lines,
                                              const MatrixMarketHeader& header, const RowRange& range);

}  // namespace blockvec::solvers

#pragma once

#include "solvers/matrix_market/lines.hpp"

namespace blockvec::solvers {

/// What a Matrix Market file says of itself before its entries.
struct MatrixMarketHeader {
  enum class Format { coordinate, array };
  enum class Field { real, integer, complex, pattern };
  enum class Symmetry { general, symmetric, hermitian };

  Format format;
  Field field;
  Symmetry symmetry;
  std::int64_t size;     ///< rows, and columns
  std::int64_t entries;  ///< lines of entries

  bool operator==(const MatrixMarketHeader&) const = default;
};

/// Reads up to the line of sizes. Words may be in any case. Throws InputError naming the line, also for what no
/// Hermitian matrix can be.
MatrixMarketHeader read_header(MatrixMarketLines& lines);

}  // namespace blockvec::solvers

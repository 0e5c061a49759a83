#pragma once

#include <algorithm>
#include <blockvec/solvers/local_matrix.hpp>
#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace blockvec::fuzz {

inline bool is_finite(double value) { return std::isfinite(value); }
inline bool is_finite(Complex<double> value) { return std::isfinite(value.real()) && std::isfinite(value.imag()); }

/// What a reader takes is a matrix: columns ascend within it, values are finite. A short file may have 2^63 rows: only
/// the first ones are looked at.
template <class Scalar>
void check(const solvers::LocalMatrix<Scalar>& matrix) {
  solvers::RowEntries<Scalar> entries;
  const std::int64_t rows = std::min(matrix.source->size(), std::int64_t{1000});
  for (std::int64_t row = 0; row < rows; ++row) {
    entries.clear();
    matrix.source->append_row(row, entries);
    std::int64_t before = -1;
    for (std::size_t i = 0; i < entries.columns.size(); ++i) {
      const std::int64_t column = entries.columns[i];
      if (column <= before || column >= matrix.source->size() || !is_finite(entries.values[i])) std::abort();
      before = column;
    }
  }
}

}  // namespace blockvec::fuzz

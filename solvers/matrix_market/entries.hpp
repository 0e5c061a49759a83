#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "solvers/hermitian_entries.hpp"
#include "solvers/matrix_market/header.hpp"

namespace blockvec::solvers {

/// An entry off the diagonal, and the line that it stands on.
struct OffDiagonal {
  std::int64_t line, row, column;
};

/// Some of a file's entries.
template <class Scalar>
struct FileEntries {
  /// In the order of the file. If it is symmetric or hermitian, the mirror image of an entry follows it.
  std::vector<MatrixEntry<Scalar>> entries;
  /// Of a symmetric or hermitian file: the first entry below the diagonal, and the first above.
  std::array<std::optional<OffDiagonal>, 2> first_below_and_above;
};

/// Reads entries [begin, end) of the file; `lines` stand before entry `begin`. Where these are the last ones, nothing
/// may follow. double and Complex<double>, the latter for complex fields. Sends nothing. Throws InputError naming the
/// line, OutOfMemoryError.
template <class Scalar>
FileEntries<Scalar> read_entries(MatrixMarketLines& lines, const MatrixMarketHeader& header, std::int64_t begin,
                                 std::int64_t end);

}  // namespace blockvec::solvers

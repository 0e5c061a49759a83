#include "solvers/matrix_market/entries.hpp"

#include <fmt/core.h>

#include <blockvec/solvers/input_error.hpp>
#include <cmath>

namespace blockvec::solvers {
namespace {

using Format = MatrixMarketHeader::Format;
using Field = MatrixMarketHeader::Field;
using Symmetry = MatrixMarketHeader::Symmetry;
template <class Scalar>
using Entry = MatrixEntry<Scalar>;

template <class Scalar>
Scalar read_value(MatrixMarketLines& lines, Field field) {
  if (field == Field::pattern) return Scalar(1);
  if (field == Field::integer) return Scalar(static_cast<double>(lines.integer("value")));
  const double real = lines.real(field == Field::complex ? "real part" : "value");
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return {real, lines.real("imaginary part")};
  } else {
    return real;
  }
}

/// A row or column number, from 0.
std::int64_t read_index(MatrixMarketLines& lines, std::string_view what, std::int64_t size) {
  const std::int64_t number = lines.integer(what);
  if (number < 1 || number > size) lines.fail(fmt::format("{} {} is outside of 1 to {}", what, number, size));
  return number - 1;
}

/// An entry of a symmetric or hermitian matrix, which must be Hermitian itself and in the triangle of those before.
template <class Scalar>
void check_entry(const MatrixMarketLines& lines, Symmetry symmetry, const Entry<Scalar>& entry, int& triangle) {
  const auto& [row, column, value] = entry;
  const int side = row > column ? 1 : row < column ? -1 : 0;
  if (side != 0 && triangle == -side) {
    lines.fail(
        fmt::format("entry ({}, {}) is in the other triangle than those before: of a symmetric or hermitian matrix "
                    "only one is given",
                    row + 1, column + 1));
  }
  if (side != 0) triangle = side;
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    if (symmetry == Symmetry::symmetric && value.imag() != 0) {
      lines.fail(fmt::format("entry ({}, {}) = {} makes this complex symmetric matrix not Hermitian", row + 1,
                             column + 1, value_text(value)));
    }
    if (symmetry == Symmetry::hermitian && side == 0 && value.imag() != 0) {
      lines.fail(fmt::format("the diagonal entry ({}, {}) = {} of a Hermitian matrix must be real", row + 1, column + 1,
                             value_text(value)));
    }
  }
}

}  // namespace

template <class Scalar>
std::vector<MatrixEntry<Scalar>> read_entries(const std::string& path, MatrixMarketLines& lines,
                                              const MatrixMarketHeader& header, const RowRange& range) {
  std::vector<Entry<Scalar>> rows;
  std::vector<Entry<Scalar>> columns;  // general matrices: what other ranks' rows say of this rank's
  const bool is_general = header.symmetry == Symmetry::general;
  int triangle = 0;  // of a symmetric file: the sign of row - column, once known
  double frobenius_norm = 0;
  std::int64_t row = 0;
  std::int64_t column = 0;
  for (std::int64_t index = 0; index < header.entries; ++index) {
    if (!lines.next_data_line()) lines.fail(fmt::format("the file ends after {} of {} entries", index, header.entries));
    if (header.format == Format::coordinate) {
      row = read_index(lines, "row", header.size);
      column = read_index(lines, "column", header.size);
    }
    const Entry<Scalar> entry{row, column, read_value<Scalar>(lines, header.field)};
    const Entry<Scalar> mirrored{column, row, conjugate(entry.value)};
    lines.expect_end();
    if (range.contains(row)) append(rows, entry);
    if (is_general) {
      if (range.contains(column) && !range.contains(row)) append(columns, mirrored);
      frobenius_norm = std::hypot(frobenius_norm, magnitude(entry.value));
    } else {
      check_entry(lines, header.symmetry, entry, triangle);
      if (range.contains(column) && row != column) append(rows, mirrored);
    }
    if (header.format == Format::array && ++row == header.size) {
      ++column;
      row = is_general ? 0 : column;
    }
  }
  if (lines.next_data_line())
    lines.fail(fmt::format("there is more after the {} entries that were announced", header.entries));
  sort_and_sum(path, rows);
  if (is_general) {
    if (!std::isfinite(frobenius_norm)) throw InputError(fmt::format("{}: the norm of the matrix overflows", path));
    sort_and_sum(path, columns);
    check_hermitian(path, rows, columns, range, frobenius_norm);
  }
  return rows;
}

template std::vector<MatrixEntry<double>> read_entries(const std::string&, MatrixMarketLines&,
                                                       const MatrixMarketHeader&, const RowRange&);
template std::vector<MatrixEntry<Complex<double>>> read_entries(const std::string&, MatrixMarketLines&,
                                                                const MatrixMarketHeader&, const RowRange&);

}  // namespace blockvec::solvers

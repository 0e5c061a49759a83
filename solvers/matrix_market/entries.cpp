#include "solvers/matrix_market/entries.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace blockvec::solvers {
namespace {

using Format = MatrixMarketHeader::Format;
using Field = MatrixMarketHeader::Field;
using Symmetry = MatrixMarketHeader::Symmetry;

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

/// An entry of a symmetric or hermitian matrix, which must be Hermitian itself.
template <class Scalar>
void check_entry(const MatrixMarketLines& lines, Symmetry symmetry, const MatrixEntry<Scalar>& entry) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    const auto& [row, column, value] = entry;
    if (symmetry == Symmetry::symmetric && value.imag() != 0) {
      lines.fail(fmt::format("entry ({}, {}) = {} makes this complex symmetric matrix not Hermitian", row + 1,
                             column + 1, value_text(value)));
    }
    if (symmetry == Symmetry::hermitian && row == column && value.imag() != 0) {
      lines.fail(fmt::format("the diagonal entry ({}, {}) = {} of a Hermitian matrix must be real", row + 1, column + 1,
                             value_text(value)));
    }
  }
}

struct Place {
  std::int64_t row = 0, column = 0;
};

/// Where an array has entry `index`: by columns, which begin at the diagonal if it is symmetric or hermitian.
Place place_in_array(const MatrixMarketHeader& header, std::int64_t index) {
  if (index >= header.entries) return {};
  const std::int64_t size = header.size;
  if (header.symmetry == Symmetry::general) return {index % size, index / size};
  const auto entries_before = [&](std::int64_t column) {
    return static_cast<std::int64_t>(static_cast<__int128>(column) * (2 * size - column + 1) / 2);
  };
  std::int64_t column = 0;
  for (std::int64_t end = size; end - column > 1;) {
    const std::int64_t middle = column + (end - column) / 2;
    (entries_before(middle) <= index ? column : end) = middle;
  }
  return {column + index - entries_before(column), column};
}

}  // namespace

template <class Scalar>
FileEntries<Scalar> read_entries(MatrixMarketLines& lines, const MatrixMarketHeader& header, std::int64_t begin,
                                 std::int64_t end) {
  FileEntries<Scalar> result;
  const bool is_array = header.format == Format::array, is_general = header.symmetry == Symmetry::general;
  Place place = is_array ? place_in_array(header, begin) : Place{};
  auto& [row, column] = place;
  for (std::int64_t index = begin; index < std::min(end, header.entries); ++index) {
    if (!lines.next_data_line()) lines.fail(fmt::format("the file ends after {} of {} entries", index, header.entries));
    if (!is_array) {
      row = read_index(lines, "row", header.size);
      column = read_index(lines, "column", header.size);
    }
    const MatrixEntry<Scalar> entry{row, column, read_value<Scalar>(lines, header.field)};
    lines.expect_end();
    append(result.entries, entry);
    if (!is_general) {
      check_entry(lines, header.symmetry, entry);
      if (row != column) {
        append(result.entries, {column, row, mirror_value(entry.value)});
        auto& first = result.first_below_and_above[row > column ? 0 : 1];
        if (!first) first = {lines.line_number(), row, column};
      }
    }
    if (is_array && ++row == header.size) {
      ++column;
      row = is_general ? 0 : column;
    }
  }
  const bool goes_on = lines.next_data_line();  // also looks at what comes before, or at the end of this part
  if (goes_on && end >= header.entries)
    lines.fail(fmt::format("there is more after the {} entries that were announced", header.entries));
  return result;
}

template FileEntries<double> read_entries(MatrixMarketLines&, const MatrixMarketHeader&, std::int64_t, std::int64_t);
template FileEntries<Complex<double>> read_entries(MatrixMarketLines&, const MatrixMarketHeader&, std::int64_t,
                                                   std::int64_t);

}  // namespace blockvec::solvers

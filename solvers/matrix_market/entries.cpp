#include "solvers/matrix_market/entries.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <blockvec/scalar.hpp>
#include <blockvec/solvers/input_error.hpp>
#include <cmath>
#include <optional>
#include <utility>

#include "solvers/host_memory.hpp"

namespace blockvec::solvers {
namespace {

using Format = MatrixMarketHeader::Format;
using Field = MatrixMarketHeader::Field;
using Symmetry = MatrixMarketHeader::Symmetry;
template <class Scalar>
using Entry = MatrixEntry<Scalar>;

using Place = std::pair<std::int64_t, std::int64_t>;

template <class Scalar>
Place place(const Entry<Scalar>& entry) {
  return {entry.row, entry.column};
}

template <class Scalar>
double magnitude(Scalar value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return std::hypot(value.real(), value.imag());
  } else {
    return std::abs(value);
  }
}

/// Without negative zeros, which messages would show.
template <class Scalar>
Scalar conjugate(Scalar value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return {value.real(), 0 - value.imag()};
  } else {
    return value;
  }
}

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

template <class Scalar>
std::string value_text(Scalar value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return fmt::format("({}, {})", value.real(), value.imag());
  } else {
    return fmt::format("{}", value);
  }
}

/// Appends; asks whether there is memory each time that the array has to grow by much.
template <class Scalar>
void append(std::vector<Entry<Scalar>>& entries, const Entry<Scalar>& entry) {
  if (entries.size() == entries.capacity()) expect_memory("matrix entries", 2 * entries.size() * sizeof(entry));
  entries.push_back(entry);
}

/// Sorted by row and column, entries of the same place summed in the order in which they came.
template <class Scalar>
void sort_and_sum(const std::string& path, std::vector<Entry<Scalar>>& entries) {
  const auto before = [](const Entry<Scalar>& a, const Entry<Scalar>& b) { return place(a) < place(b); };
  if (!std::is_sorted(entries.begin(), entries.end(), before)) std::stable_sort(entries.begin(), entries.end(), before);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (kept > 0 && place(entries[kept - 1]) == place(entries[i])) {
      entries[kept - 1].value += entries[i].value;
    } else {
      entries[kept++] = entries[i];
    }
  }
  entries.resize(kept);
  for (const Entry<Scalar>& entry : entries) {
    if (!std::isfinite(magnitude(entry.value))) {
      throw InputError(fmt::format("{}: what is given for entry ({}, {}) adds up to {}", path, entry.row + 1,
                                   entry.column + 1, value_text(entry.value)));
    }
  }
}

/// The value at a place; 0 where there is no entry.
template <class Scalar>
Scalar value_at(const std::vector<Entry<Scalar>>& entries, const Place& where) {
  const auto entry = std::lower_bound(entries.begin(), entries.end(), where,
                                      [](const Entry<Scalar>& e, const Place& p) { return place(e) < p; });
  return entry != entries.end() && place(*entry) == where ? entry->value : Scalar(0);
}

/// Every entry must be the conjugate of the one across the diagonal, to rounding of the matrix: values that were
/// computed differ by eps times its norm, however small they are themselves. `columns` is the conjugate transpose of
/// other ranks' rows in this rank's columns. Names the first entry that is not.
template <class Scalar>
void check_hermitian(const std::string& path, const std::vector<Entry<Scalar>>& rows,
                     const std::vector<Entry<Scalar>>& columns, const RowRange& range, double frobenius_norm) {
  const double limit = 4 * epsilon<Scalar> * frobenius_norm;
  std::optional<Entry<Scalar>> first;  // in the upper triangle
  Scalar across{};
  const auto compare = [&](const Entry<Scalar>& entry, Scalar mirrored) {
    if (magnitude(entry.value - conjugate(mirrored)) <= limit) return;
    const bool is_upper = entry.row <= entry.column;
    const Entry<Scalar> upper = is_upper ? entry : Entry<Scalar>{entry.column, entry.row, mirrored};
    if (first && place(*first) <= place(upper)) return;
    first = upper;
    across = is_upper ? mirrored : entry.value;
  };
  for (const Entry<Scalar>& entry : rows) {
    const Place mirror(entry.column, entry.row);
    compare(entry, range.contains(mirror.first) ? value_at(rows, mirror) : conjugate(value_at(columns, place(entry))));
  }
  for (const Entry<Scalar>& entry : columns) {
    compare({entry.row, entry.column, value_at(rows, place(entry))}, conjugate(entry.value));
  }
  if (first) {
    throw InputError(fmt::format("{}: the matrix is not Hermitian: entry ({}, {}) is {}, but entry ({}, {}) is {}",
                                 path, first->row + 1, first->column + 1, value_text(first->value), first->column + 1,
                                 first->row + 1, value_text(across)));
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

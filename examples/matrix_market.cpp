#include "matrix_market.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <vector>

#include "collective.hpp"
#include "matrix_market_lines.hpp"

namespace blockvec::examples {
namespace {

enum class Format { coordinate, array };
enum class Field { real, integer, complex, pattern };
enum class Symmetry { general, symmetric, hermitian };

struct Header {
  Format format;
  Field field;
  Symmetry symmetry;
  std::int64_t size;
  std::int64_t entries;  // lines of entries
};

template <class Value>
struct Word {
  std::string_view text;
  Value value;
};

template <class Value, std::size_t count>
Value choose(MatrixMarketLines& lines, std::string_view what, const Word<Value> (&words)[count]) {
  std::string text(lines.word());
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string known;
  for (const Word<Value>& word : words) {
    if (text == word.text) return word.value;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", word.text);
  }
  lines.fail(fmt::format("the {} \"{}\" is not one of {}", what, text, known));
}

Header read_header(MatrixMarketLines& lines) {
  if (!lines.next_line()) lines.fail("the file is empty");
  if (lines.word() != "%%MatrixMarket") {
    lines.fail("this is not a Matrix Market file: it does not begin with \"%%MatrixMarket matrix\"");
  }
  enum class Object { matrix };
  choose<Object>(lines, "object", {{"matrix", Object::matrix}});
  Header header{};
  header.format = choose<Format>(lines, "format", {{"coordinate", Format::coordinate}, {"array", Format::array}});
  header.field = choose<Field>(
      lines, "field",
      {{"real", Field::real}, {"integer", Field::integer}, {"complex", Field::complex}, {"pattern", Field::pattern}});
  header.symmetry = choose<Symmetry>(
      lines, "symmetry",
      {{"general", Symmetry::general}, {"symmetric", Symmetry::symmetric}, {"hermitian", Symmetry::hermitian}});
  lines.expect_end();
  if (header.format == Format::array && header.field == Field::pattern) lines.fail("an array cannot be a pattern");
  if (header.symmetry == Symmetry::hermitian && header.field != Field::complex)
    lines.fail("only complex matrices can be hermitian");

  if (!lines.next_data_line()) lines.fail("the file ends before the line of sizes");
  const std::int64_t rows = lines.integer("number of rows");
  const std::int64_t columns = lines.integer("number of columns");
  if (header.format == Format::coordinate) header.entries = lines.integer("number of entries");
  lines.expect_end();
  if (rows < 0 || columns < 0 || header.entries < 0) lines.fail("sizes cannot be negative");
  if (rows != columns)
    lines.fail(fmt::format("the matrix is {} x {}: only square ones have eigenvalues", rows, columns));
  header.size = rows;
  if (header.format == Format::array) {
    const auto n = static_cast<__int128>(rows);
    const __int128 entries = header.symmetry == Symmetry::general ? n * n : n * (n + 1) / 2;
    if (entries > std::numeric_limits<std::int64_t>::max())
      lines.fail(fmt::format("an array of {} rows is too large", rows));
    header.entries = static_cast<std::int64_t>(entries);
  }
  return header;
}

template <class Scalar>
struct Entry {
  std::int64_t row;
  std::int64_t column;
  Scalar value;
};

template <class Scalar>
Scalar conjugate(Scalar value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return Kokkos::conj(value);
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

/// Sorted by row and column, entries of the same place summed in the order in which they came.
template <class Scalar>
void sort_and_sum(std::vector<Entry<Scalar>>& entries) {
  const auto place = [](const Entry<Scalar>& e) { return std::pair(e.row, e.column); };
  std::stable_sort(entries.begin(), entries.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (kept > 0 && place(entries[kept - 1]) == place(entries[i])) {
      entries[kept - 1].value += entries[i].value;
    } else {
      entries[kept++] = entries[i];
    }
  }
  entries.resize(kept);
}

template <class Scalar>
std::string value_text(Scalar value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return fmt::format("({}, {})", value.real(), value.imag());
  } else {
    return fmt::format("{}", value);
  }
}

/// This rank's rows, and the conjugate transpose of its columns, which must be the same thing.
template <class Scalar>
void check_hermitian(const std::string& path, const std::vector<Entry<Scalar>>& rows,
                     const std::vector<Entry<Scalar>>& columns) {
  using Kokkos::abs;
  using std::abs;
  const auto before = [](const Entry<Scalar>& a, const Entry<Scalar>& b) {
    return std::pair(a.row, a.column) < std::pair(b.row, b.column);
  };
  auto row = rows.begin();
  auto column = columns.begin();
  while (row != rows.end() || column != columns.end()) {
    const bool only_row = column == columns.end() || (row != rows.end() && before(*row, *column));
    const bool only_column = !only_row && (row == rows.end() || before(*column, *row));
    const Entry<Scalar>& here = only_column ? *column : *row;
    const Scalar value = only_column ? Scalar(0) : row->value;
    const Scalar mirrored = only_row ? Scalar(0) : column->value;
    // Sums of duplicates may differ by rounding.
    const double limit = 4 * epsilon<Scalar> * (abs(value) + abs(mirrored));
    if (!(abs(value - mirrored) <= limit)) {
      throw InputError(fmt::format("{}: the matrix is not Hermitian: entry ({}, {}) is {}, but entry ({}, {}) is {}",
                                   path, here.row + 1, here.column + 1, value_text(value), here.column + 1,
                                   here.row + 1, value_text(conjugate(mirrored))));
    }
    if (!only_column) ++row;
    if (!only_row) ++column;
  }
}

template <class Scalar>
class FileRows final : public RowSource<Scalar> {
 public:
  FileRows(std::string path, std::int64_t size, std::vector<Entry<Scalar>> entries)
      : path_(std::move(path)), size_(size), entries_(std::move(entries)) {}
  std::int64_t size() const override { return size_; }
  void append_row(std::int64_t row, RowEntries<Scalar>& entries) const override {
    auto entry = std::lower_bound(entries_.begin(), entries_.end(), row,
                                  [](const Entry<Scalar>& e, std::int64_t r) { return e.row < r; });
    for (; entry != entries_.end() && entry->row == row; ++entry) entries.add(entry->column, entry->value);
  }
  std::string describe() const override { return path_; }

 private:
  std::string path_;
  std::int64_t size_;
  std::vector<Entry<Scalar>> entries_;  // by row and column
};

template <class Scalar>
std::vector<Entry<Scalar>> read_entries(const std::string& path, MatrixMarketLines& lines, const Header& header,
                                        const RowDistribution& distribution) {
  std::vector<Entry<Scalar>> rows;
  std::vector<Entry<Scalar>> mirrored;  // general matrices: what the columns say of this rank's rows
  const auto is_mine = [&](std::int64_t row) { return row >= distribution.begin() && row < distribution.end(); };
  const bool is_general = header.symmetry == Symmetry::general;
  int triangle = 0;  // of a symmetric file: the sign of row - column, once known
  std::int64_t row = 0;
  std::int64_t column = 0;
  for (std::int64_t index = 0; index < header.entries; ++index) {
    if (!lines.next_data_line()) lines.fail(fmt::format("the file ends after {} of {} entries", index, header.entries));
    if (header.format == Format::coordinate) {
      row = lines.integer("row") - 1;
      column = lines.integer("column") - 1;
      if (row < 0 || row >= header.size) lines.fail(fmt::format("row {} is outside of 1 to {}", row + 1, header.size));
      if (column < 0 || column >= header.size)
        lines.fail(fmt::format("column {} is outside of 1 to {}", column + 1, header.size));
    }
    Scalar value = read_value<Scalar>(lines, header.field);
    lines.expect_end();
    const int side = row > column ? 1 : row < column ? -1 : 0;
    if (!is_general && side != 0) {
      if (triangle == -side)
        lines.fail(
            fmt::format("entry ({}, {}) is in the other triangle than those before: of a symmetric or hermitian matrix "
                        "only one is given",
                        row + 1, column + 1));
      triangle = side;
    }
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      if (header.symmetry == Symmetry::symmetric && value.imag() != 0) {
        lines.fail(fmt::format("entry ({}, {}) = {} makes this complex symmetric matrix not Hermitian", row + 1,
                               column + 1, value_text(value)));
      }
      if (header.symmetry == Symmetry::hermitian && side == 0 && value.imag() != 0) {
        lines.fail(fmt::format("the diagonal entry ({}, {}) = {} of a Hermitian matrix must be real", row + 1,
                               column + 1, value_text(value)));
      }
    }
    if (is_mine(row)) rows.push_back({row, column, value});
    if (is_mine(column) && (is_general || side != 0))
      (is_general ? mirrored : rows).push_back({column, row, conjugate(value)});
    if (header.format == Format::array && ++row == header.size) {
      ++column;
      row = is_general ? 0 : column;
    }
  }
  if (lines.next_data_line())
    lines.fail(fmt::format("there is more after the {} entries that were announced", header.entries));
  sort_and_sum(rows);
  if (is_general) {
    sort_and_sum(mirrored);
    check_hermitian(path, rows, mirrored);
  }
  return rows;
}

template <class Scalar>
LocalMatrix<Scalar> read_rows(const std::string& path, MatrixMarketLines& lines, const Header& header,
                              const Communicator& communicator) {
  LocalMatrix<Scalar> result;
  result.rows = RowDistribution::uniform(header.size, communicator);
  try {
    result.source =
        std::make_unique<FileRows<Scalar>>(path, header.size, read_entries<Scalar>(path, lines, header, result.rows));
  } catch (const std::bad_alloc&) {
    throw OutOfMemoryError(fmt::format("{}:{}: no memory for this rank's rows: up to {} bytes", path,
                                       lines.line_number(),
                                       static_cast<double>(header.entries) * 2 * sizeof(Entry<Scalar>)));
  }
  return result;
}

}  // namespace

MatrixMarketMatrix read_matrix_market(const std::string& path, const Communicator& communicator) {
  return collectively(communicator, [&]() -> MatrixMarketMatrix {
    MatrixMarketLines lines(path);
    const Header header = read_header(lines);
    if (header.field == Field::complex) return read_rows<Complex<double>>(path, lines, header, communicator);
    return read_rows<double>(path, lines, header, communicator);
  });
}

}  // namespace blockvec::examples

#include "solvers/matrix_market/header.hpp"

#include <fmt/core.h>

#include <limits>

namespace blockvec::solvers {
namespace {

using Format = MatrixMarketHeader::Format;
using Field = MatrixMarketHeader::Field;
using Symmetry = MatrixMarketHeader::Symmetry;

template <class Value>
struct Word {
  std::string_view text;
  Value value;
};

template <class Value, std::size_t count>
Value choose(MatrixMarketLines& lines, std::string_view what, const Word<Value> (&words)[count]) {
  const std::string_view text = lines.word();
  const std::string lower = lower_case(text);
  std::string known;
  for (const Word<Value>& word : words) {
    if (lower == word.text) return word.value;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", word.text);
  }
  if (lower == "skew-symmetric") {
    lines.fail(
        "a skew-symmetric matrix is not Hermitian unless all entries are imaginary: such a one is to be written as "
        "complex hermitian");
  }
  lines.fail(fmt::format("the {} \"{}\" is not one of {}", what, shown(text), known));
}

}  // namespace

MatrixMarketHeader read_header(MatrixMarketLines& lines) {
  if (!lines.next_line()) lines.fail("the file is empty");
  if (lower_case(lines.word()) != "%%matrixmarket") {
    lines.fail("this is not a Matrix Market file: it does not begin with \"%%MatrixMarket matrix\"");
  }
  enum class Object { matrix };
  choose<Object>(lines, "object", {{"matrix", Object::matrix}});
  MatrixMarketHeader header{};
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

}  // namespace blockvec::solvers

// The Matrix Market reader on any bytes: it takes them or says what is wrong, in one piece and in several alike.
#include <algorithm>
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/matrix_market.hpp>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "solvers/matrix_market/entries.hpp"
#include "solvers/matrix_market/piece.hpp"
#include "tests/fuzz/input_file.hpp"
#include "tests/fuzz/local_matrix.hpp"

namespace blockvec::solvers {
namespace {

void read(const std::string& path) {
  try {
    std::visit([](const auto& matrix) { fuzz::check(matrix); }, read_matrix_market(path, Communicator::self()));
  } catch (const InputError& error) {
    if (std::string_view(error.what()).empty()) std::abort();
  }
}

/// What reading entries gives, or the first that it says.
template <class Scalar>
struct Outcome {
  std::vector<MatrixEntry<Scalar>> entries;
  std::string message;

  void add(MatrixMarketLines& lines, const MatrixMarketHeader& header, std::int64_t begin, std::int64_t end) {
    if (!message.empty()) return;
    try {
      const auto more = read_entries<Scalar>(lines, header, begin, end).entries;
      entries.insert(entries.end(), more.begin(), more.end());
    } catch (const InputError& error) {
      message = error.what();
      if (message.empty()) std::abort();
    }
  }
};

/// As three ranks read what follows a line and a byte of the file.
template <class Scalar>
Outcome<Scalar> outcome_of_pieces(const std::string& path, const MatrixMarketHeader& header, std::int64_t line,
                                  std::int64_t byte) {
  constexpr std::int64_t pieces = 3;
  const std::int64_t bytes = static_cast<std::int64_t>(std::filesystem::file_size(path)) - byte;
  Outcome<Scalar> result;
  std::int64_t begin = 0;
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    auto text = read_lines(path, byte + bytes * piece / pieces, byte + bytes * (piece + 1) / pieces);
    const LineCounts counts = count_lines({text.data(), text.size()});
    MatrixMarketLines lines(path, std::move(text), line);
    const std::int64_t end = begin + counts.data;
    result.add(lines, header, begin, piece == pieces - 1 ? std::max(end, header.entries) : end);
    begin = end;
    line += counts.all;
  }
  return result;
}

template <class Scalar>
void compare(const std::string& path, MatrixMarketLines& lines, const MatrixMarketHeader& header) {
  const auto pieces = outcome_of_pieces<Scalar>(path, header, lines.line_number(), lines.bytes());
  Outcome<Scalar> whole;
  whole.add(lines, header, 0, header.entries);
  if (pieces.message != whole.message) std::abort();
  if (!whole.message.empty()) return;
  if (pieces.entries.size() != whole.entries.size()) std::abort();
  for (std::size_t i = 0; i < whole.entries.size(); ++i) {
    const auto &a = pieces.entries[i], &b = whole.entries[i];
    if (a.row != b.row || a.column != b.column || a.value != b.value) std::abort();
  }
}

void compare_pieces(const std::string& path) {
  try {
    MatrixMarketLines lines(path);
    const MatrixMarketHeader header = read_header(lines);
    if (lines.is_gzipped()) return;
    header.field == MatrixMarketHeader::Field::complex ? compare<Complex<double>>(path, lines, header)
                                                       : compare<double>(path, lines, header);
  } catch (const InputError&) {  // of the header: read() has met it, too
  }
}

}  // namespace
}  // namespace blockvec::solvers

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static blockvec::fuzz::InputFile file;
  const std::string& path = file.hold(data, size);
  blockvec::solvers::read(path);
  blockvec::solvers::compare_pieces(path);
  return 0;
}

// The Matrix Market reader on any bytes: it takes them or says what is wrong, on one rank and on several alike.
#include <blockvec/scalar.hpp>
#include <blockvec/solvers/input_error.hpp>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "solvers/matrix_market/entries.hpp"
#include "tests/fuzz/input_file.hpp"

namespace blockvec::solvers {
namespace {

bool is_finite(double value) { return std::isfinite(value); }
bool is_finite(Complex<double> value) { return std::isfinite(value.real()) && std::isfinite(value.imag()); }

/// What is taken is a matrix: by rows, finite, and inside of the range.
template <class Scalar>
void read(const std::string& path, MatrixMarketLines& lines, const MatrixMarketHeader& header, const RowRange& range) {
  std::pair<std::int64_t, std::int64_t> before(-1, -1);
  for (const auto& [row, column, value] : read_entries<Scalar>(path, lines, header, range)) {
    const std::pair place(row, column);
    if (!range.contains(row) || column < 0 || column >= header.size || place <= before || !is_finite(value))
      std::abort();
    before = place;
  }
}

/// Does the reader take rank's part of the matrix, if it is spread over `ranks`?
bool takes(const std::string& path, int rank, int ranks) {
  try {
    MatrixMarketLines lines(path);
    const MatrixMarketHeader header = read_header(lines);
    const auto begin = [&](int r) { return r == ranks ? header.size : header.size / ranks * r; };
    const RowRange range{begin(rank), begin(rank + 1)};
    header.field == MatrixMarketHeader::Field::complex ? read<Complex<double>>(path, lines, header, range)
                                                       : read<double>(path, lines, header, range);
    return true;
  } catch (const InputError& error) {
    if (std::string_view(error.what()).empty()) std::abort();
    return false;
  }
}

}  // namespace
}  // namespace blockvec::solvers

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace blockvec::solvers;
  static blockvec::fuzz::InputFile file;
  const std::string& path = file.hold(data, size);
  const bool is_taken = takes(path, 0, 1);
  // What a gzipped file expands to is read only once: it may be a thousand times as long.
  if (!is_taken || (size > 0 && data[0] == 0x1f)) return 0;
  constexpr int ranks = 3;
  for (int rank = 0; rank < ranks; ++rank) {
    if (!takes(path, rank, ranks)) std::abort();
  }
  return 0;
}

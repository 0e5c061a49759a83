#include <fmt/core.h>

#include <algorithm>
#include <blockvec/solvers/collective.hpp>
#include <blockvec/solvers/matrix_market.hpp>
#include <vector>

#include "solvers/matrix_market/entries.hpp"

namespace blockvec::solvers {
namespace {

template <class Scalar>
class FileRows final : public RowSource<Scalar> {
 public:
  FileRows(std::string path, std::int64_t size, std::vector<MatrixEntry<Scalar>> entries)
      : path_(std::move(path)), size_(size), entries_(std::move(entries)) {}
  std::int64_t size() const override { return size_; }
  void append_row(std::int64_t row, RowEntries<Scalar>& entries) const override {
    auto entry = std::lower_bound(entries_.begin(), entries_.end(), row,
                                  [](const MatrixEntry<Scalar>& e, std::int64_t r) { return e.row < r; });
    for (; entry != entries_.end() && entry->row == row; ++entry) entries.add(entry->column, entry->value);
  }
  std::string describe() const override { return path_; }

 private:
  std::string path_;
  std::int64_t size_;
  std::vector<MatrixEntry<Scalar>> entries_;  // by row and column
};

template <class Scalar>
LocalMatrix<Scalar> read_rows(const std::string& path, MatrixMarketLines& lines, const MatrixMarketHeader& header,
                              const Communicator& communicator) {
  LocalMatrix<Scalar> result;
  result.rows = RowDistribution::uniform(header.size, communicator);
  try {
    const RowRange range{result.rows.begin(), result.rows.end()};
    result.source =
        std::make_unique<FileRows<Scalar>>(path, header.size, read_entries<Scalar>(path, lines, header, range));
  } catch (const std::bad_alloc&) {
    throw OutOfMemoryError(fmt::format("{}:{}: no memory for this rank's rows: up to {} bytes", path,
                                       lines.line_number(),
                                       static_cast<double>(header.entries) * 2 * sizeof(MatrixEntry<Scalar>)));
  }
  return result;
}

}  // namespace

MatrixMarketMatrix read_matrix_market(const std::string& path, const Communicator& communicator) {
  return collectively(communicator, [&]() -> MatrixMarketMatrix {
    MatrixMarketLines lines(path);
    const MatrixMarketHeader header = read_header(lines);
    if (header.field == MatrixMarketHeader::Field::complex)
      return read_rows<Complex<double>>(path, lines, header, communicator);
    return read_rows<double>(path, lines, header, communicator);
  });
}

}  // namespace blockvec::solvers

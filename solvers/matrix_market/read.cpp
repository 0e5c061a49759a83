#include <fmt/core.h>

#include <blockvec/solvers/collective.hpp>
#include <blockvec/solvers/matrix_market.hpp>

#include "solvers/matrix_market/entries.hpp"

namespace blockvec::solvers {
namespace {

template <class Scalar>
LocalMatrix<Scalar> read_rows(const std::string& path, MatrixMarketLines& lines, const MatrixMarketHeader& header,
                              const Communicator& communicator) {
  LocalMatrix<Scalar> result;
  result.rows = RowDistribution::uniform(header.size, communicator);
  result.is_dense = header.format == MatrixMarketHeader::Format::array;
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

RealOrComplexMatrix read_matrix_market(const std::string& path, const Communicator& communicator) {
  return collectively(communicator, [&]() -> RealOrComplexMatrix {
    MatrixMarketLines lines(path);
    const MatrixMarketHeader header = read_header(lines);
    if (header.field == MatrixMarketHeader::Field::complex)
      return read_rows<Complex<double>>(path, lines, header, communicator);
    return read_rows<double>(path, lines, header, communicator);
  });
}

}  // namespace blockvec::solvers

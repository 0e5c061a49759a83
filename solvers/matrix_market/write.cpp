#include <fmt/core.h>

#include <blockvec/solvers/collective.hpp>
#include <blockvec/solvers/matrix_market.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace blockvec::solvers {
namespace {

template <class Scalar>
constexpr std::string_view field_name = ScalarTraits<Scalar>::is_complex ? "complex" : "real";

template <class Scalar>
std::string value_text(Scalar value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return fmt::format("{:.17g} {:.17g}", value.real(), value.imag());
  } else {
    return fmt::format("{:.17g}", value);
  }
}

/// Appends to the file, or begins it anew.
template <class Body>
bool write_part(const std::string& path, bool anew, Body&& body) {
  errno = 0;
  std::ofstream file(path, anew ? std::ios::trunc : std::ios::app);
  if (file) body(file);
  file.close();
  if (!file) throw InputError(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  return true;
}

/// One rank after the other calls body(file); the first writes the header before.
template <class Body>
void write_in_turn(const std::string& path, const Communicator& communicator, const std::string& header, Body&& body) {
  collectively(communicator, [&] {
    return communicator.rank() != 0 || write_part(path, true, [&](std::ofstream& file) { file << header; });
  });
  for (int rank = 0; rank < communicator.size(); ++rank) {
    collectively(communicator, [&] { return rank != communicator.rank() || write_part(path, false, body); });
  }
}

/// The lower triangle of this rank's rows; `use` sees row, column and value.
template <class Scalar, class Use>
void for_each_lower(const RowDistribution& rows, const RowSource<Scalar>& source, Use&& use) {
  RowEntries<Scalar> entries;
  for (std::int64_t row = rows.begin(); row < rows.end(); ++row) {
    entries.clear();
    source.append_row(row, entries);
    for (std::size_t i = 0; i < entries.columns.size(); ++i) {
      if (entries.columns[i] <= row) use(row, entries.columns[i], entries.values[i]);
    }
  }
}

}  // namespace

template <class Scalar>
void write_matrix_market(const std::string& path, const RowDistribution& rows, const RowSource<Scalar>& source,
                         const Communicator& communicator) {
  std::int64_t entries = 0;
  for_each_lower(rows, source, [&](std::int64_t, std::int64_t, Scalar) { ++entries; });
  communicator.sum(std::span(&entries, 1));
  const std::string header = fmt::format("%%MatrixMarket matrix coordinate {} {}\n% {}\n{} {} {}\n", field_name<Scalar>,
                                         ScalarTraits<Scalar>::is_complex ? "hermitian" : "symmetric",
                                         source.describe(), source.size(), source.size(), entries);
  write_in_turn(path, communicator, header, [&](std::ofstream& file) {
    for_each_lower(rows, source, [&](std::int64_t row, std::int64_t column, Scalar value) {
      file << fmt::format("{} {} {}\n", row + 1, column + 1, value_text(value));
    });
  });
}

template <class Scalar, class Layout>
void write_matrix_market(const std::string& path, const BlockVector<Scalar, Layout>& v) {
  const std::string header =
      fmt::format("%%MatrixMarket matrix array {} general\n% eigenvectors, one a column\n{} {}\n", field_name<Scalar>,
                  v.global_rows(), v.width());
  const Communicator& communicator = v.context().communicator();
  write_in_turn(path, communicator, header, [](std::ofstream&) {});
  const auto view = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), v.view());
  for (std::size_t column = 0; column < view.extent(1); ++column) {
    for (int rank = 0; rank < communicator.size(); ++rank) {
      collectively(communicator, [&] {
        return rank != communicator.rank() || write_part(path, false, [&](std::ofstream& file) {
                 for (std::size_t row = 0; row < view.extent(0); ++row) file << value_text(view(row, column)) << '\n';
               });
      });
    }
  }
}

template void write_matrix_market(const std::string&, const RowDistribution&, const RowSource<double>&,
                                  const Communicator&);
template void write_matrix_market(const std::string&, const RowDistribution&, const RowSource<Complex<double>>&,
                                  const Communicator&);
template void write_matrix_market(const std::string&, const BlockVector<double, RowMajor>&);
template void write_matrix_market(const std::string&, const BlockVector<double, ColumnMajor>&);
template void write_matrix_market(const std::string&, const BlockVector<Complex<double>, RowMajor>&);
template void write_matrix_market(const std::string&, const BlockVector<Complex<double>, ColumnMajor>&);

}  // namespace blockvec::solvers

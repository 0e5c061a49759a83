#include <fmt/core.h>

#include <array>
#include <blockvec/solvers/collective.hpp>
#include <blockvec/solvers/petsc_binary.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <vector>

#include "solvers/hermitian_entries.hpp"
#include "solvers/petsc_binary/format.hpp"

namespace blockvec::solvers {
namespace {

/// This rank's rows as the file has them.
template <class Scalar>
struct FileParts {
  std::vector<std::int32_t> lengths, columns;
  std::vector<Scalar> values;
};

template <class Scalar>
FileParts<Scalar> parts_of(const std::string& path, const RowDistribution& rows, const RowSource<Scalar>& source) {
  FileParts<Scalar> result;
  RowEntries<Scalar> row_entries;
  std::vector<MatrixEntry<Scalar>> entries;
  for (std::int64_t row = rows.begin(); row < rows.end(); ++row) {
    row_entries.clear();
    entries.clear();
    source.append_row(row, row_entries);
    for (std::size_t i = 0; i < row_entries.columns.size(); ++i)
      entries.push_back({row, row_entries.columns[i], row_entries.values[i]});
    sort_and_sum(path, entries);
    result.lengths.push_back(static_cast<std::int32_t>(entries.size()));
    for (const MatrixEntry<Scalar>& entry : entries) {
      result.columns.push_back(static_cast<std::int32_t>(entry.column));
      result.values.push_back(entry.value);
    }
  }
  return result;
}

template <class Scalar>
void write_at(std::ostream& file, std::int64_t place, std::span<Scalar> numbers) {
  swap_to_big_endian(words(numbers));
  file.seekp(place);
  file.write(reinterpret_cast<const char*>(numbers.data()), static_cast<std::streamsize>(numbers.size_bytes()));
}

/// Calls body(file) and says why it could not be written.
template <class Body>
bool write_file(const std::string& path, std::ios::openmode mode, Body&& body) {
  errno = 0;
  std::fstream file(path, mode | std::ios::out | std::ios::binary);
  if (file) body(file);
  file.close();
  if (!file) throw InputError(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  return true;
}

}  // namespace

template <class Scalar>
void write_petsc_binary(const std::string& path, const RowDistribution& rows, const RowSource<Scalar>& source,
                        const Communicator& communicator) {
  auto parts = collectively(communicator, [&] { return parts_of(path, rows, source); });
  const auto entries = RowDistribution::from_local_rows(std::ssize(parts.columns), communicator);
  const std::int64_t first = entries.begin();
  const PetscPlaces places{source.size(), entries.global_rows()};
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (places.size > most || places.entries >= most) {
    throw InputError(fmt::format("{}: a matrix of {} rows and {} entries does not fit into indices of 32 bits", path,
                                 places.size, places.entries));
  }
  collectively(communicator, [&] {
    if (communicator.rank() != 0) return true;
    const auto size = static_cast<std::int32_t>(places.size);
    std::array<std::int32_t, 4> header{petsc_matrix_id, size, size, static_cast<std::int32_t>(places.entries)};
    return write_file(path, std::ios::trunc,
                      [&](std::ostream& file) { write_at(file, 0, std::span<std::int32_t>(header)); });
  });
  collectively(communicator, [&] {
    return write_file(path, std::ios::in, [&](std::ostream& file) {
      write_at(file, places.length(rows.begin()), std::span(parts.lengths));
      write_at(file, places.column(first), std::span(parts.columns));
      write_at(file, places.value<Scalar>(first), std::span(parts.values));
    });
  });
}

template void write_petsc_binary(const std::string&, const RowDistribution&, const RowSource<double>&,
                                 const Communicator&);
template void write_petsc_binary(const std::string&, const RowDistribution&, const RowSource<Complex<double>>&,
                                 const Communicator&);

}  // namespace blockvec::solvers

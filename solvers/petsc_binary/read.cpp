#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <blockvec/solvers/collective.hpp>
#include <blockvec/solvers/petsc_binary.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "solvers/entries_over_ranks.hpp"
#include "solvers/petsc_binary/format.hpp"
#include "solvers/same_file.hpp"

namespace blockvec::solvers {
namespace {

/// The largest number of entries that a header can say; it stands for all larger ones, too.
constexpr std::int64_t most_said = std::numeric_limits<std::int32_t>::max();

struct PetscHeader {
  std::int64_t size;     // rows, and columns
  std::int64_t entries;  // or most_said
};

void require_matrix(const PetscFile& file, std::int32_t id, std::int32_t next) {
  if (id == petsc_matrix_id) return;
  if (id == 0 && next == petsc_matrix_id) {
    file.fail(0, "the indices have 64 bits: only files of a PETSc with indices of 32 bits are read");
  }
  if (byte_swapped(id) == petsc_matrix_id) file.fail(0, "the file is little-endian: PETSc writes big-endian ones");
  file.fail(0, fmt::format("{} is not {}, the number that a matrix of PETSc begins with", id, petsc_matrix_id));
}

PetscHeader read_header(PetscFile& file) {
  std::array<std::int32_t, 4> header{};
  file.read(0, std::span<std::int32_t>(header));
  const auto [id, rows, columns, entries] = header;
  require_matrix(file, id, rows);
  if (rows < 0 || columns < 0) file.fail(4, fmt::format("a matrix cannot be {} x {}", rows, columns));
  if (rows != columns)
    file.fail(4, fmt::format("the matrix is {} x {}: only square ones have eigenvalues", rows, columns));
  if (entries == -1) file.fail(12, "the matrix is dense: only sparse ones are read");
  if (entries < 0) file.fail(12, fmt::format("a matrix cannot have {} entries", entries));
  return {rows, entries};
}

/// The matrix as far as one rank knows it by itself.
struct Opened {
  PetscFile file;
  PetscHeader header;
  RowRange range;
  std::vector<std::int32_t> lengths;  // of this rank's rows

  std::int64_t entries() const { return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}); }
};

Opened open_matrix(const std::string& path, const Communicator& communicator) {
  PetscFile file(path);
  const PetscHeader header = read_header(file);
  const PetscPlaces places{header.size, 0};
  if (places.length(header.size) > file.size()) {
    file.fail(file.size(), fmt::format("the file ends within the lengths of {} rows", header.size));
  }
  const auto rows = RowDistribution::uniform(header.size, communicator);
  const RowRange range{rows.begin(), rows.end()};
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(range.end - range.begin));
  file.read(places.length(range.begin), std::span(lengths));
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::int64_t row = range.begin + static_cast<std::int64_t>(i);
    if (lengths[i] < 0) file.fail(places.length(row), fmt::format("row {} cannot have {} entries", row, lengths[i]));
  }
  return {std::move(file), header, range, std::move(lengths)};
}

/// Does the file have what its row lengths promise, and are its values complex?
bool is_complex(const Opened& opened, const PetscPlaces& places, PetscScalar scalar) {
  const auto& [file, header, range, lengths] = opened;
  if (header.entries != std::min(places.entries, most_said)) {
    file.fail(12, fmt::format("{} entries are announced, the rows have {}", header.entries, places.entries));
  }
  const std::int64_t real_end = places.end<double>(), complex_end = places.end<Complex<double>>();
  if (scalar == PetscScalar::by_file_size) {
    if (file.size() == real_end) return false;
    if (file.size() == complex_end) return true;
    file.fail(file.size(),
              fmt::format("the file ends; a real matrix of {} rows and {} entries has {} bytes, a complex one {}",
                          places.size, places.entries, real_end, complex_end));
  }
  const std::int64_t end = scalar == PetscScalar::complex ? complex_end : real_end;
  if (file.size() < end) file.fail(file.size(), fmt::format("the file ends; the matrix has {} bytes", end));
  return scalar == PetscScalar::complex;
}

/// This rank's rows, whose entries begin with number `first`.
template <class Scalar>
std::vector<MatrixEntry<Scalar>> read_entries(const std::string& path, Opened& opened, const PetscPlaces& places,
                                              std::int64_t first) {
  auto& [file, header, range, lengths] = opened;
  const auto count = static_cast<std::size_t>(opened.entries());
  expect_memory(path, count * (4 + sizeof(Scalar) + 2 * sizeof(MatrixEntry<Scalar>)));
  std::vector<std::int32_t> columns(count);
  std::vector<Scalar> values(count);
  file.read(places.column(first), std::span(columns));
  file.read(places.value<Scalar>(first), std::span(values));
  std::vector<MatrixEntry<Scalar>> result;
  result.reserve(count);
  std::size_t next = 0;
  for (std::int64_t row = range.begin; row < range.end; ++row) {
    const std::size_t end = next + static_cast<std::size_t>(lengths[static_cast<std::size_t>(row - range.begin)]);
    for (; next < end; ++next) {
      const std::int64_t entry = first + static_cast<std::int64_t>(next);
      const std::int64_t column = columns[next];
      if (column < 0 || column >= header.size) {
        file.fail(places.column(entry), fmt::format("row {} has an entry in column {}, which is outside of 0 to {}",
                                                    row, column, header.size - 1));
      }
      if (!std::isfinite(magnitude(values[next]))) {
        file.fail(places.value<Scalar>(entry), fmt::format("the value {} in row {} and column {} is not finite",
                                                           value_text(values[next]), row, column));
      }
      result.push_back({row, column, values[next]});
    }
  }
  sort_and_sum(path, result);
  return result;
}

template <class Scalar>
LocalMatrix<Scalar> read_rows(const std::string& path, const Communicator& communicator, Opened& opened,
                              const PetscPlaces& places, std::int64_t first) {
  LocalMatrix<Scalar> result;
  result.rows = RowDistribution::uniform(places.size, communicator);
  auto entries = collectively(communicator, [&] { return read_entries<Scalar>(path, opened, places, first); });
  require_hermitian(path, result.rows, communicator, entries);
  result.source = std::make_unique<FileRows<Scalar>>(path, places.size, std::move(entries));
  return result;
}

}  // namespace

RealOrComplexMatrix read_petsc_binary(const std::string& path, const Communicator& communicator, PetscScalar scalar) {
  Opened opened = collectively(communicator, [&] { return open_matrix(path, communicator); });
  require_same_file(path, communicator, std::array{opened.file.size(), opened.header.size, opened.header.entries});
  const auto entries = RowDistribution::from_local_rows(opened.entries(), communicator);
  const PetscPlaces places{opened.header.size, entries.global_rows()};
  if (collectively(communicator, [&] { return is_complex(opened, places, scalar); })) {
    return read_rows<Complex<double>>(path, communicator, opened, places, entries.begin());
  }
  return read_rows<double>(path, communicator, opened, places, entries.begin());
}

}  // namespace blockvec::solvers

#include "solvers/sparse/compressed_rows.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <blockvec/instantiate.hpp>
#include <blockvec/kernels/error.hpp>
#include <blockvec/kernels/parallel.hpp>
#include <blockvec/scalar.hpp>
#include <iterator>
#include <limits>
#include <numeric>

#include "solvers/host_memory.hpp"
#include "solvers/is_finite.hpp"

namespace blockvec::solvers {
namespace {

constexpr std::int64_t rows_per_slice = 4096;

/// Reads rows one after the other into the same memory.
template <class Scalar>
class RowReader {
 public:
  explicit RowReader(const RowSource<Scalar>& source) : source_(source) {}

  /// Columns ascend, entries of one column are summed in the order in which they came.
  const RowEntries<Scalar>& read(std::int64_t row) {
    given_.clear();
    source_.append_row(row, given_);
    order_.resize(given_.columns.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return given_.columns[a] < given_.columns[b]; });
    sorted_.clear();
    for (const std::size_t index : order_) {
      const std::int64_t column = given_.columns[index];
      if (column < 0 || column >= source_.size()) {
        throw Error(
            fmt::format("row {} has an entry in column {} of a matrix with {} columns", row, column, source_.size()));
      }
      if (!sorted_.columns.empty() && sorted_.columns.back() == column) {
        sorted_.values.back() += given_.values[index];
      } else {
        sorted_.add(column, given_.values[index]);
      }
      if (!is_finite(sorted_.values.back()))
        throw NotFiniteError(fmt::format("entry ({}, {}) of the matrix is not finite", row, column));
    }
    return sorted_;
  }

 private:
  const RowSource<Scalar>& source_;
  RowEntries<Scalar> given_;
  RowEntries<Scalar> sorted_;
  std::vector<std::size_t> order_;
};

void sort_unique(std::vector<std::int64_t>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

template <class View>
void allocate(View& array, const char* label, std::size_t count) {
  try {
    array = View(Kokkos::view_alloc(std::string(label), Kokkos::WithoutInitializing), count);
  } catch (const std::exception&) {
    throw OutOfMemoryError(fmt::format("{}: no memory for {} bytes", label, count * sizeof(typename View::value_type)));
  }
}

/// Two arrays, one for each part.
template <class Scalar>
void allocate_row_begins(SplitRows<Scalar>& split, std::int64_t rows) {
  const auto count = static_cast<std::size_t>(rows) + 1;
  expect_memory("BlockVec::solvers::row_begin", 2 * count * sizeof(std::size_t));
  for (CompressedRows<Scalar>* part : {&split.own, &split.ghost}) {
    allocate(part->row_begin, "BlockVec::solvers::row_begin", count);
    part->row_begin(0) = 0;
  }
}

/// Turns the lengths of rows into where they begin, and makes room for their entries.
template <class Scalar>
void allocate_entries(SplitRows<Scalar>& split) {
  std::size_t entries = 0;
  for (CompressedRows<Scalar>* part : {&split.own, &split.ghost}) {
    const auto& begin = part->row_begin;
    std::partial_sum(begin.data(), begin.data() + begin.extent(0), begin.data());
    entries += begin(begin.extent(0) - 1);
  }
  expect_memory("BlockVec::solvers::values and columns", entries * (sizeof(Scalar) + sizeof(int)));
  for (CompressedRows<Scalar>* part : {&split.own, &split.ghost}) {
    const std::size_t count = part->row_begin(part->row_begin.extent(0) - 1);
    allocate(part->columns, "BlockVec::solvers::columns", count);
    allocate(part->values, "BlockVec::solvers::values", count);
  }
}

/// Writes one row of a part; what does not fit is counted only.
template <class Scalar>
class RowWriter {
 public:
  RowWriter(const CompressedRows<Scalar>& part, std::int64_t row)
      : part_(part),
        next_(part.row_begin(static_cast<std::size_t>(row))),
        end_(part.row_begin(static_cast<std::size_t>(row) + 1)) {}
  bool is_full() const { return next_ == end_; }
  void add(std::int64_t column, Scalar value) {
    if (next_ < end_) {
      part_.columns(next_) = static_cast<int>(column);
      part_.values(next_) = value;
    }
    ++next_;
  }

 private:
  const CompressedRows<Scalar>& part_;
  std::size_t next_;
  std::size_t end_;
};

}  // namespace

template <class Scalar>
SplitRows<Scalar> compress_rows(const RowDistribution& rows, const RowSource<Scalar>& source, int threads, Cut cut) {
  const std::int64_t local_rows = rows.local_rows();
  if (local_rows > std::numeric_limits<int>::max()) {
    throw Error(fmt::format("{} rows on one rank: local column numbers have 32 bits; use more ranks", local_rows));
  }
  const auto is_own = [&rows](std::int64_t column) { return column >= rows.begin() && column < rows.end(); };
  const bool together = cut == Cut::together;
  const std::int64_t slice_count = (local_rows + rows_per_slice - 1) / rows_per_slice;
  /// `read_slice(item, begin, end, reader)` for each range of this rank's rows, by threads.
  const auto for_each_slice = [&](auto&& read_slice) {
    kernels::parallel_for(threads, slice_count, [&](std::int64_t item, int) {
      RowReader<Scalar> reader(source);
      read_slice(item, item * rows_per_slice, std::min(local_rows, (item + 1) * rows_per_slice), reader);
    });
  };

  // Rows are read twice: first for their lengths, so that no entry is held twice and all memory is asked for before.
  SplitRows<Scalar> result;
  allocate_row_begins(result, local_rows);
  std::vector<std::vector<std::int64_t>> slice_ghosts(static_cast<std::size_t>(slice_count));
  for_each_slice([&](std::int64_t item, std::int64_t begin, std::int64_t end, RowReader<Scalar>& reader) {
    std::vector<std::int64_t> ghosts;
    for (std::int64_t row = begin; row < end; ++row) {
      const std::vector<std::int64_t>& columns = reader.read(rows.begin() + row).columns;
      const std::size_t before = ghosts.size();
      std::copy_if(columns.begin(), columns.end(), std::back_inserter(ghosts),
                   [&](std::int64_t column) { return !is_own(column); });
      const std::size_t ghost_entries = together ? 0 : ghosts.size() - before;
      result.own.row_begin(static_cast<std::size_t>(row) + 1) = columns.size() - ghost_entries;
      result.ghost.row_begin(static_cast<std::size_t>(row) + 1) = ghost_entries;
    }
    sort_unique(ghosts);
    slice_ghosts[static_cast<std::size_t>(item)] = std::move(ghosts);
  });
  for (std::vector<std::int64_t>& ghosts : slice_ghosts) {
    result.ghosts.insert(result.ghosts.end(), ghosts.begin(), ghosts.end());
    ghosts = std::vector<std::int64_t>();  // `{}` would keep the memory
  }
  sort_unique(result.ghosts);
  result.ghosts_before =
      std::lower_bound(result.ghosts.begin(), result.ghosts.end(), rows.begin()) - result.ghosts.begin();
  if (together && local_rows + std::ssize(result.ghosts) > std::numeric_limits<int>::max()) {
    throw Error(fmt::format("{} rows and {} of other ranks: local column numbers have 32 bits; use more ranks",
                            local_rows, result.ghosts.size()));
  }
  allocate_entries(result);

  for_each_slice([&](std::int64_t, std::int64_t begin, std::int64_t end, RowReader<Scalar>& reader) {
    for (std::int64_t row = begin; row < end; ++row) {
      const RowEntries<Scalar>& entries = reader.read(rows.begin() + row);
      RowWriter own(result.own, row);
      RowWriter ghost(result.ghost, row);
      for (std::size_t i = 0; i < entries.columns.size(); ++i) {
        const std::int64_t column = entries.columns[i];
        if (is_own(column)) {
          own.add(column - rows.begin(), entries.values[i]);
          continue;
        }
        const std::int64_t position =
            std::lower_bound(result.ghosts.begin(), result.ghosts.end(), column) - result.ghosts.begin();
        const std::int64_t behind = position < result.ghosts_before ? 0 : local_rows;
        if (together) {
          own.add(position - result.ghosts_before + behind, entries.values[i]);
        } else {
          ghost.add(position, entries.values[i]);
        }
      }
      if (own.is_full() && ghost.is_full()) continue;
      throw Error(fmt::format("row {} of the matrix has other entries when it is read again", rows.begin() + row));
    }
  });
  return result;
}

template <class Scalar>
CompressedRows<Scalar> wrap_rows(const kernels::CsrMatrix<typename ScalarTraits<Scalar>::Kernel, std::int64_t>& matrix,
                                 int threads) {
  const std::int64_t rows = matrix.rows, size = matrix.columns;
  if (rows != size) throw ShapeError(fmt::format("a matrix of {} x {}: expected a square one", rows, size));
  if (matrix.row_begin[0] != 0) throw ShapeError(fmt::format("the rows of a matrix begin at {}", matrix.row_begin[0]));
  for (std::int64_t row = 0; row < rows; ++row) {
    if (matrix.row_begin[row] <= matrix.row_begin[row + 1]) continue;
    throw ShapeError(fmt::format("row {} of a matrix ends before it begins", row));
  }
  const auto* const values = reinterpret_cast<const Scalar*>(matrix.value);  // complex numbers have one representation
  kernels::parallel_for(threads, (rows + rows_per_slice - 1) / rows_per_slice, [&](std::int64_t item, int) {
    for (std::int64_t row = item * rows_per_slice; row < std::min(rows, (item + 1) * rows_per_slice); ++row) {
      for (std::int64_t i = matrix.row_begin[row]; i < matrix.row_begin[row + 1]; ++i) {
        const std::int64_t column = matrix.column[i];
        if (column < 0 || column >= size) {
          throw Error(fmt::format("row {} has an entry in column {} of a matrix with {} columns", row, column, size));
        }
        if (!is_finite(values[i])) {
          throw NotFiniteError(fmt::format("entry ({}, {}) of the matrix is not finite", row, column));
        }
      }
    }
  });

  // Views of constant entries are of another type, and these are only read. A type and its unsigned one may alias.
  using Rows = CompressedRows<Scalar>;
  Rows wrapped;
  const auto entries = static_cast<std::size_t>(matrix.row_begin[rows]);
  auto* const begin = const_cast<std::size_t*>(reinterpret_cast<const std::size_t*>(matrix.row_begin));
  wrapped.row_begin = decltype(Rows::row_begin)(begin, static_cast<std::size_t>(rows) + 1);
  wrapped.columns = decltype(Rows::columns)(const_cast<std::int32_t*>(matrix.column), entries);
  wrapped.values = decltype(Rows::values)(const_cast<Scalar*>(values), entries);
  return wrapped;
}

#define BLOCKVEC_COMPRESS_ROWS(Scalar)                                                                  \
  template SplitRows<Scalar> compress_rows(const RowDistribution&, const RowSource<Scalar>&, int, Cut); \
  template CompressedRows<Scalar> wrap_rows(                                                            \
      const kernels::CsrMatrix<typename ScalarTraits<Scalar>::Kernel, std::int64_t>&, int);
BLOCKVEC_FOR_SCALARS(BLOCKVEC_COMPRESS_ROWS)

}  // namespace blockvec::solvers

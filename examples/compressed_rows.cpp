#include "compressed_rows.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <blockvec/kernels/error.hpp>
#include <blockvec/kernels/parallel.hpp>
#include <blockvec/scalar.hpp>
#include <cmath>
#include <limits>
#include <numeric>

namespace blockvec::examples {
namespace {

/// A contiguous share of the rows, with global columns: what one thread gathers at a time.
template <class Scalar>
struct Slice {
  std::vector<std::int64_t> columns;
  std::vector<Scalar> values;
  std::vector<std::int64_t> row_ends;
  std::int64_t own_entries = 0;
  std::int64_t own_offset = 0;
  std::int64_t ghost_offset = 0;
};

constexpr std::int64_t rows_per_slice = 4096;

template <class Scalar>
bool is_finite(Scalar value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return std::isfinite(value.real()) && std::isfinite(value.imag());
  } else {
    return std::isfinite(value);
  }
}

template <class Scalar>
void append_sorted(std::int64_t row, const RowEntries<Scalar>& entries, std::vector<std::size_t>& order,
                   std::int64_t size, Slice<Scalar>& slice) {
  order.resize(entries.columns.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Stable: entries of one column are summed in the order in which they came.
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return entries.columns[a] < entries.columns[b]; });
  const std::size_t row_begin = slice.columns.size();
  for (const std::size_t index : order) {
    const std::int64_t column = entries.columns[index];
    if (column < 0 || column >= size) {
      throw Error(fmt::format("row {} has an entry in column {} of a matrix with {} columns", row, column, size));
    }
    if (slice.columns.size() > row_begin && slice.columns.back() == column) {
      slice.values.back() += entries.values[index];
    } else {
      slice.columns.push_back(column);
      slice.values.push_back(entries.values[index]);
    }
    if (!is_finite(slice.values.back()))
      throw NotFiniteError(fmt::format("entry ({}, {}) of the matrix is not finite", row, column));
  }
  slice.row_ends.push_back(static_cast<std::int64_t>(slice.columns.size()));
}

void sort_unique(std::vector<std::int64_t>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

template <class View>
View allocate(const char* label, std::size_t count) {
  try {
    return View(Kokkos::view_alloc(std::string(label), Kokkos::WithoutInitializing), count);
  } catch (const std::exception&) {
    throw OutOfMemoryError(
        fmt::format("{}: cannot allocate {} bytes", label, count * sizeof(typename View::value_type)));
  }
}

template <class Scalar>
CompressedRows<Scalar> allocate_rows(std::int64_t rows, std::int64_t entries) {
  CompressedRows<Scalar> result;
  result.row_begin =
      allocate<decltype(result.row_begin)>("BlockVec::examples::row_begin", static_cast<std::size_t>(rows + 1));
  result.columns = allocate<decltype(result.columns)>("BlockVec::examples::columns", static_cast<std::size_t>(entries));
  result.values = allocate<decltype(result.values)>("BlockVec::examples::values", static_cast<std::size_t>(entries));
  result.row_begin(0) = 0;
  return result;
}

}  // namespace

template <class Scalar>
SplitRows<Scalar> compress_rows(const RowDistribution& rows, const RowSource<Scalar>& source, int threads, Cut cut) {
  const std::int64_t local_rows = rows.local_rows();
  if (local_rows > std::numeric_limits<int>::max()) {
    throw Error(fmt::format("{} rows on one rank: local column numbers have 32 bits; use more ranks", local_rows));
  }
  const auto is_own = [&rows](std::int64_t column) { return column >= rows.begin() && column < rows.end(); };
  const std::int64_t slice_count = (local_rows + rows_per_slice - 1) / rows_per_slice;
  std::vector<Slice<Scalar>> slices(static_cast<std::size_t>(slice_count));

  kernels::parallel_for(threads, slice_count, [&](std::int64_t item, int) {
    Slice<Scalar>& slice = slices[static_cast<std::size_t>(item)];
    RowEntries<Scalar> entries;
    std::vector<std::size_t> order;
    try {
      for (std::int64_t row = item * rows_per_slice; row < std::min(local_rows, (item + 1) * rows_per_slice); ++row) {
        entries.clear();
        source.append_row(rows.begin() + row, entries);
        append_sorted(rows.begin() + row, entries, order, source.size(), slice);
      }
    } catch (const std::bad_alloc&) {
      const std::size_t bytes = 2 * slice.columns.capacity() * (sizeof(std::int64_t) + sizeof(Scalar));
      throw OutOfMemoryError(fmt::format("matrix rows: cannot allocate about {} bytes more", bytes));
    }
    slice.own_entries = cut == Cut::together ? std::ssize(slice.columns)
                                             : std::count_if(slice.columns.begin(), slice.columns.end(), is_own);
  });

  SplitRows<Scalar> result;
  std::int64_t own_entries = 0;
  std::int64_t ghost_entries = 0;
  for (Slice<Scalar>& slice : slices) {
    slice.own_offset = own_entries;
    slice.ghost_offset = ghost_entries;
    own_entries += slice.own_entries;
    ghost_entries += static_cast<std::int64_t>(slice.columns.size()) - slice.own_entries;
    std::vector<std::int64_t> others;
    std::copy_if(slice.columns.begin(), slice.columns.end(), std::back_inserter(others),
                 [&](std::int64_t column) { return !is_own(column); });
    sort_unique(others);
    result.ghosts.insert(result.ghosts.end(), others.begin(), others.end());
  }
  sort_unique(result.ghosts);
  result.ghosts_before =
      std::lower_bound(result.ghosts.begin(), result.ghosts.end(), rows.begin()) - result.ghosts.begin();
  const bool together = cut == Cut::together;
  if (together && local_rows + std::ssize(result.ghosts) > std::numeric_limits<int>::max()) {
    throw Error(fmt::format("{} rows and {} of other ranks: local column numbers have 32 bits; use more ranks",
                            local_rows, result.ghosts.size()));
  }
  result.own = allocate_rows<Scalar>(local_rows, own_entries);
  result.ghost = allocate_rows<Scalar>(local_rows, ghost_entries);

  kernels::parallel_for(threads, slice_count, [&](std::int64_t item, int) {
    Slice<Scalar>& slice = slices[static_cast<std::size_t>(item)];
    auto own = static_cast<std::size_t>(slice.own_offset);
    auto ghost = static_cast<std::size_t>(slice.ghost_offset);
    std::size_t entry = 0;
    auto row = static_cast<std::size_t>(item * rows_per_slice);
    for (const std::int64_t row_end : slice.row_ends) {
      for (; entry < static_cast<std::size_t>(row_end); ++entry) {
        const std::int64_t column = slice.columns[entry];
        if (is_own(column)) {
          result.own.columns(own) = static_cast<int>(column - rows.begin());
          result.own.values(own++) = slice.values[entry];
        } else {
          const std::int64_t position =
              std::lower_bound(result.ghosts.begin(), result.ghosts.end(), column) - result.ghosts.begin();
          if (together) {
            const std::int64_t behind = position < result.ghosts_before ? 0 : local_rows;
            result.own.columns(own) = static_cast<int>(position - result.ghosts_before + behind);
            result.own.values(own++) = slice.values[entry];
          } else {
            result.ghost.columns(ghost) = static_cast<int>(position);
            result.ghost.values(ghost++) = slice.values[entry];
          }
        }
      }
      ++row;
      result.own.row_begin(row) = own;
      result.ghost.row_begin(row) = ghost;
    }
    slice = {};
  });
  return result;
}

template SplitRows<double> compress_rows(const RowDistribution&, const RowSource<double>&, int, Cut);
template SplitRows<Complex<double>> compress_rows(const RowDistribution&, const RowSource<Complex<double>>&, int, Cut);

}  // namespace blockvec::examples

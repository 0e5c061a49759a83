#include "solvers/dense/dense_rows.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <blockvec/instantiate.hpp>
#include <blockvec/kernels/error.hpp>
#include <blockvec/kernels/parallel.hpp>
#include <numeric>

#include "solvers/host_memory.hpp"
#include "solvers/is_finite.hpp"
#include "solvers/sparse/device_array.hpp"

namespace blockvec::solvers {
namespace {

/// One row of the matrix in two pieces of memory, those of own columns and of ghosts.
template <class Scalar>
struct SplitRow {
  Scalar *own, *ghost;
  std::int64_t begin, end;  // own columns

  Scalar& operator[](std::int64_t column) const {
    if (column < begin) return ghost[column];
    return column < end ? own[column - begin] : ghost[column - end + begin];
  }
};

template <class Scalar>
void fill_row(const SplitRow<Scalar>& to, std::int64_t row, const RowSource<Scalar>& source,
              RowEntries<Scalar>& entries) {
  const std::int64_t columns = source.size();
  std::fill_n(to.own, to.end - to.begin, Scalar(0));
  std::fill_n(to.ghost, columns - (to.end - to.begin), Scalar(0));
  entries.clear();
  source.append_row(row, entries);
  for (std::size_t i = 0; i < entries.columns.size(); ++i) {
    const std::int64_t column = entries.columns[i];
    if (column < 0 || column >= columns) {
      throw Error(fmt::format("row {} has an entry in column {} of a matrix with {} columns", row, column, columns));
    }
    to[column] += entries.values[i];
  }
  for (std::int64_t column = 0; column < columns; ++column) {
    if (!is_finite(to[column])) {
      throw NotFiniteError(fmt::format("entry ({}, {}) of the matrix is not finite", row, column));
    }
  }
}

template <class Scalar>
using HostBlock = DenseBlock<Scalar, Kokkos::HostSpace>;

/// Rows [begin, end) of this rank, to the first rows of blocks in host memory.
template <class Scalar>
void fill_rows(const RowDistribution& rows, const RowSource<Scalar>& source, int threads, std::int64_t begin,
               std::int64_t end, const HostBlock<Scalar>& own, const HostBlock<Scalar>& ghost) {
  constexpr std::int64_t together = 16;
  kernels::parallel_for(threads, (end - begin + together - 1) / together, [&](std::int64_t item, int) {
    RowEntries<Scalar> entries;
    for (std::int64_t i = item * together; i < std::min(end - begin, (item + 1) * together); ++i) {
      const SplitRow<Scalar> to{own.entries.data() + i * own.ld, ghost.entries.data() + i * ghost.ld, rows.begin(),
                                rows.end()};
      fill_row(to, rows.begin() + begin + i, source, entries);
    }
  });
}

#if BLOCKVEC_HAVE_CUDA_SPACE
/// Of rows that pass through the host's memory together on their way to a device.
constexpr std::int64_t bytes_together = std::int64_t{1} << 26;

/// The first `count` rows of a block in host memory, to rows from `begin` on.
template <class Scalar, class Space>
void copy_rows(const HostBlock<Scalar>& from, const DenseBlock<Scalar, Space>& to, std::int64_t begin,
               std::int64_t count) {
  const auto range = [&](std::int64_t first) {
    return std::pair(static_cast<std::size_t>(first * to.ld), static_cast<std::size_t>((first + count) * to.ld));
  };
  Kokkos::deep_copy(Kokkos::subview(to.entries, range(begin)), Kokkos::subview(from.entries, range(0)));
}
#endif

}  // namespace

template <class Scalar, class Space>
DenseBlock<Scalar, Space> DenseBlock<Scalar, Space>::allocate(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t line = 128 / sizeof(Scalar);
  const std::int64_t ld = (columns + line - 1) / line * line;
  const auto count = static_cast<std::size_t>(rows * ld);
  constexpr const char* label = "BlockVec::solvers::dense_rows";
  if constexpr (is_host_space<Space>) expect_memory(label, count * sizeof(Scalar));
  return {rows, columns, ld, allocate_array<Scalar, Space>(label, count)};
}

template <class Scalar, class Space>
DenseRows<Scalar, Space> DenseRows<Scalar, Space>::read(const RowDistribution& rows, const RowSource<Scalar>& source,
                                                        int threads) {
  using Block = DenseBlock<Scalar, Space>;
  const std::int64_t local_rows = rows.local_rows(), others = rows.global_rows() - local_rows;
  DenseRows result;
  if (local_rows > 0) {
    result.ghosts.resize(static_cast<std::size_t>(others));
    const auto behind = result.ghosts.begin() + rows.begin();
    std::iota(result.ghosts.begin(), behind, std::int64_t{0});
    std::iota(behind, result.ghosts.end(), rows.end());
    result.ghosts_before = rows.begin();
  }
  result.own = Block::allocate(local_rows, local_rows);
  result.ghost = Block::allocate(local_rows, others);
  if constexpr (is_host_space<Space>) {
    fill_rows(rows, source, threads, 0, local_rows, result.own, result.ghost);
  } else {
#if BLOCKVEC_HAVE_CUDA_SPACE
    const std::int64_t row_bytes = (result.own.ld + result.ghost.ld) * static_cast<std::int64_t>(sizeof(Scalar));
    const std::int64_t together = std::clamp<std::int64_t>(bytes_together / std::max<std::int64_t>(row_bytes, 1), 1,
                                                           std::max<std::int64_t>(local_rows, 1));
    const auto own = HostBlock<Scalar>::allocate(together, local_rows);
    const auto ghost = HostBlock<Scalar>::allocate(together, others);
    for (std::int64_t begin = 0; begin < local_rows; begin += together) {
      const std::int64_t end = std::min(local_rows, begin + together);
      fill_rows(rows, source, threads, begin, end, own, ghost);
      copy_rows(own, result.own, begin, end - begin);
      copy_rows(ghost, result.ghost, begin, end - begin);
    }
#endif
  }
  return result;
}

#define BLOCKVEC_DENSE_ROWS(Scalar, Space)   \
  template struct DenseBlock<Scalar, Space>; \
  template struct DenseRows<Scalar, Space>;
BLOCKVEC_FOR_SMALL_MATRICES(BLOCKVEC_DENSE_ROWS)

}  // namespace blockvec::solvers

#include "solvers/dense/dense_rows.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <blockvec/instantiate.hpp>
#include <blockvec/kernels/error.hpp>
#include <blockvec/kernels/packed.hpp>
#include <blockvec/kernels/parallel.hpp>
#include <numeric>

#include "solvers/host_memory.hpp"
#include "solvers/is_finite.hpp"
#include "solvers/sparse/device_array.hpp"

namespace blockvec::solvers {
namespace {

/// The bytes of the rows that pass through the host's memory together.
constexpr std::int64_t bytes_together = std::int64_t{1} << 26;

/// Pinned memory included.
template <class Space>
constexpr bool is_of_host = Kokkos::SpaceAccessibility<Kokkos::HostSpace, Space>::accessible;

template <class Scalar>
constexpr std::int64_t panel = kernels::packed_panel<typename ScalarTraits<Scalar>::Kernel>;

/// Where one row goes: ghosts one after the other, own columns in pieces that lie `distance` apart. What would stand
/// behind own_end is not kept.
template <class Scalar>
struct RowTarget {
  Scalar *own, *ghost;
  std::int64_t begin, own_end, end;  // own columns, global
  std::int64_t piece, distance;

  /// Calls f(first column, count, where they go).
  template <class F>
  void for_pieces(std::int64_t columns, F&& f) const {
    f(std::int64_t{0}, begin, ghost);
    for (std::int64_t first = begin; first < own_end; first += piece) {
      f(first, std::min(piece, own_end - first), own + (first - begin) / piece * distance);
    }
    f(end, columns - end, ghost + begin);
  }
  /// Null: not kept.
  Scalar* place(std::int64_t column) const {
    if (column < begin) return ghost + column;
    if (column >= end) return ghost + (column - end + begin);
    const std::int64_t own_column = column - begin;
    return column < own_end ? own + own_column / piece * distance + own_column % piece : nullptr;
  }
};

template <class Scalar>
void fill_row(const RowTarget<Scalar>& to, std::int64_t row, const RowSource<Scalar>& source,
              RowEntries<Scalar>& entries) {
  const std::int64_t columns = source.size();
  bool is_copied = true;
  to.for_pieces(columns, [&](std::int64_t first, std::int64_t count, Scalar* at) {
    is_copied = is_copied && (count == 0 || source.copy_entries(row, first, count, at));
  });
  if (!is_copied) {
    to.for_pieces(columns, [](std::int64_t, std::int64_t count, Scalar* at) { std::fill_n(at, count, Scalar(0)); });
    entries.clear();
    source.append_row(row, entries);
    for (std::size_t i = 0; i < entries.columns.size(); ++i) {
      const std::int64_t column = entries.columns[i];
      if (column < 0 || column >= columns) {
        throw Error(fmt::format("row {} has an entry in column {} of a matrix with {} columns", row, column, columns));
      }
      if (Scalar* const place = to.place(column)) *place += entries.values[i];
    }
  }
  to.for_pieces(columns, [&](std::int64_t first, std::int64_t count, const Scalar* at) {
    if (all_finite(at, count)) return;
    const auto* const found = std::find_if_not(at, at + count, is_finite<Scalar>);
    throw NotFiniteError(fmt::format("entry ({}, {}) of the matrix is not finite", row, first + (found - at)));
  });
}

/// Rows of this rank on their way: own columns as rows or, packed, in panels of `rows` rows; and ghosts.
template <class Scalar, class Space>
struct RowBatch {
  std::int64_t rows;
  DenseBlock<Scalar, Space> own, ghost;

  /// Rows [begin, end) of this rank.
  void fill(const RowDistribution& of, const RowSource<Scalar>& source, bool packed, int threads, std::int64_t begin,
            std::int64_t end) const {
    constexpr std::int64_t together = 16;
    kernels::parallel_for(threads, (end - begin + together - 1) / together, [&](std::int64_t item, int) {
      RowEntries<Scalar> entries;
      for (std::int64_t i = item * together; i < std::min(end - begin, (item + 1) * together); ++i) {
        const std::int64_t row = begin + i, all = of.local_rows();
        const std::int64_t kept = packed ? std::min(all, (row / panel<Scalar> + 1) * panel<Scalar>) : all;
        const std::int64_t piece = packed ? panel<Scalar> : std::max<std::int64_t>(all, 1);
        const RowTarget<Scalar> to{own.entries.data() + i * (packed ? piece : own.ld),
                                   ghost.entries.data() + i * ghost.ld,
                                   of.begin(),
                                   of.begin() + kept,
                                   of.end(),
                                   piece,
                                   rows * piece};
        fill_row(to, of.begin() + row, source, entries);
      }
    });
  }
};

/// Memory for some of this rank's rows.
template <class Scalar, class Space>
RowBatch<Scalar, Space> allocate_batch(std::int64_t rows, std::int64_t own_columns, std::int64_t ghosts, bool packed) {
  using Block = DenseBlock<Scalar, Space>;
  const std::int64_t whole_panels = (own_columns + panel<Scalar> - 1) / panel<Scalar> * panel<Scalar>;
  return {rows, Block::allocate(rows, packed ? whole_panels : own_columns), Block::allocate(rows, ghosts)};
}

/// Copies `count` numbers, on a device in the order of its instance, without waiting.
template <class Scalar, class Space, class Where>
void copy_part(const Context& context, const Kokkos::View<Scalar*, Where>& from, std::int64_t from_place,
               const Kokkos::View<Scalar*, Space>& to, std::int64_t to_place, std::int64_t count) {
  const auto part = [count](const auto& of, std::int64_t first) {
    return Kokkos::subview(of, std::pair(static_cast<std::size_t>(first), static_cast<std::size_t>(first + count)));
  };
  Kokkos::deep_copy(context.template execution_space<Space>(), part(to, to_place), part(from, from_place));
}

/// Copies a batch to rows [begin, end) of the matrix.
template <class Scalar, class Space, class Where>
void store(const Context& context, const RowBatch<Scalar, Where>& batch, const DenseRows<Scalar, Space>& to,
           std::int64_t begin, std::int64_t end) {
  copy_part(context, batch.ghost.entries, 0, to.ghost.entries, begin * to.ghost.ld, (end - begin) * to.ghost.ld);
  if (!to.own.packed) {
    return copy_part(context, batch.own.entries, 0, to.own.entries, begin * to.own.ld, (end - begin) * to.own.ld);
  }
  using Kernel = typename ScalarTraits<Scalar>::Kernel;
  for (std::int64_t first = 0; first < end; first += panel<Scalar>) {
    const std::int64_t row = std::max(begin, first);
    copy_part(context, batch.own.entries, first * batch.rows + (row - begin) * panel<Scalar>, to.own.entries,
              kernels::packed_place<Kernel>(to.own.rows, row, first), (end - row) * panel<Scalar>);
  }
}

}  // namespace

template <class Scalar, class Space>
DenseBlock<Scalar, Space> DenseBlock<Scalar, Space>::allocate(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t line = 128 / sizeof(Scalar);
  const std::int64_t ld = (columns + line - 1) / line * line;
  const auto count = static_cast<std::size_t>(rows * ld);
  constexpr const char* label = "BlockVec::solvers::dense_rows";
  if constexpr (is_of_host<Space>) expect_memory(label, count * sizeof(Scalar));
  return {rows, columns, ld, allocate_array<Scalar, Space>(label, count)};
}
template <class Scalar, class Space>
DenseBlock<Scalar, Space> DenseBlock<Scalar, Space>::allocate_packed(std::int64_t rows) {
  const auto count = static_cast<std::size_t>(kernels::packed_entries<typename ScalarTraits<Scalar>::Kernel>(rows));
  constexpr const char* label = "BlockVec::solvers::packed_rows";
  if constexpr (is_of_host<Space>) expect_memory(label, count * sizeof(Scalar));
  return {rows, rows, 0, allocate_array<Scalar, Space>(label, count), true};
}

template <class Scalar, class Space>
DenseRows<Scalar, Space> DenseRows<Scalar, Space>::read(const Context& context, const RowDistribution& rows,
                                                        const RowSource<Scalar>& source, DenseStorage storage) {
  using Block = DenseBlock<Scalar, Space>;
  const std::int64_t local_rows = rows.local_rows(), others = rows.global_rows() - local_rows;
  const bool packed = storage == DenseStorage::packed;
  DenseRows result;
  if (local_rows > 0) {
    result.ghosts.resize(static_cast<std::size_t>(others));
    const auto behind = result.ghosts.begin() + rows.begin();
    std::iota(result.ghosts.begin(), behind, std::int64_t{0});
    std::iota(behind, result.ghosts.end(), rows.end());
    result.ghosts_before = rows.begin();
  }
  result.own = packed ? Block::allocate_packed(local_rows) : Block::allocate(local_rows, local_rows);
  result.ghost = Block::allocate(local_rows, others);
  if constexpr (is_host_space<Space>) {
    if (!packed) {
      const RowBatch<Scalar, Space> all{local_rows, result.own, result.ghost};
      all.fill(rows, source, packed, context.threads(), 0, local_rows);
      return result;
    }
  }
  // The next rows are filled while the last ones travel.
  using Where = StagingSpaceOf<Space>;
  const std::int64_t row_bytes = (local_rows + others) * static_cast<std::int64_t>(sizeof(Scalar));
  const std::int64_t together = std::clamp<std::int64_t>(bytes_together / std::max<std::int64_t>(row_bytes, 1), 1,
                                                         std::max<std::int64_t>(local_rows, 1));
  const RowBatch<Scalar, Where> batches[] = {allocate_batch<Scalar, Where>(together, local_rows, others, packed),
                                             allocate_batch<Scalar, Where>(together, local_rows, others, packed)};
  const auto instance = context.template execution_space<Space>();
  for (std::int64_t begin = 0, turn = 0; begin < local_rows; begin += together, ++turn) {
    const std::int64_t end = std::min(local_rows, begin + together);
    const auto& batch = batches[turn % 2];
    batch.fill(rows, source, packed, context.threads(), begin, end);
    instance.fence();
    store(context, batch, result, begin, end);
  }
  instance.fence();
  return result;
}

#define BLOCKVEC_DENSE_ROWS(Scalar, Space)   \
  template struct DenseBlock<Scalar, Space>; \
  template struct DenseRows<Scalar, Space>;
BLOCKVEC_FOR_SMALL_MATRICES(BLOCKVEC_DENSE_ROWS)

}  // namespace blockvec::solvers

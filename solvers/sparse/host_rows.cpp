#include "solvers/sparse/host_rows.hpp"

#include <algorithm>
#include <blockvec/instantiate.hpp>
#include <blockvec/kernels/parallel.hpp>
#include <type_traits>

#include "solvers/sparse/sparse_product.hpp"

namespace blockvec::solvers {
namespace {

/// The rows of X between those of the ghosts before and behind them: X itself where there are none, else a copy. Points
/// to X's first row.
template <class Scalar, class Layout>
TallPointer<const Scalar> beside_ghosts(WorkspaceScope<>& scope, const BlockVector<Scalar, Layout>& x,
                                        const Scalar* ghosts, std::int64_t before, std::int64_t count) {
  if (count == 0) return {x.data(), x.ld()};
  constexpr bool by_rows = std::is_same_v<Layout, RowMajor>;
  const std::int64_t rows = x.local_rows(), width = x.width();
  const std::int64_t row_step = by_rows ? width : 1, column_step = by_rows ? 1 : rows + count;
  Scalar* const first = scope.take<Scalar>(static_cast<std::size_t>((rows + count) * width)) + before * row_step;
  const auto view = x.view();
  const auto copy_rows = [&](std::int64_t begin, std::int64_t end, std::int64_t place, const auto& entry) {
    constexpr std::int64_t together = 1024;
    kernels::parallel_for(x.context().threads(), (end - begin + together - 1) / together, [&](std::int64_t item, int) {
      const std::int64_t from = begin + item * together;
      const std::int64_t to = std::min(end, from + together);
      Scalar* const target = first + place * row_step;
      if (by_rows) {
        for (std::int64_t i = from; i < to; ++i) {
          for (std::int64_t j = 0; j < width; ++j) target[(i - begin) * row_step + j] = entry(i, j);
        }
      } else {
        for (std::int64_t j = 0; j < width; ++j) {
          for (std::int64_t i = from; i < to; ++i) target[i - begin + j * column_step] = entry(i, j);
        }
      }
    });
  };
  const auto ghost = [&](std::int64_t i, std::int64_t j) { return ghosts[i * width + j]; };
  copy_rows(0, before, -before, ghost);
  copy_rows(0, rows, 0, [&](std::int64_t i, std::int64_t j) { return view(i, j); });
  copy_rows(before, count, rows, ghost);
  return {first, by_rows ? width : column_step};
}

}  // namespace

template <class Scalar>
HostRows<Scalar>::HostRows(const Context& context, const RowDistribution& rows, SplitRows<Scalar> split)
    : ghosts_before_(split.ghosts_before),
      own_rows_(std::move(split.own)),
      ghost_rows_(std::move(split.ghost)),
      halo_(rows, context.communicator(), split.ghosts) {
  if (!context.is_reproducible()) local_.emplace(own_rows_);
}

template <class Scalar>
template <class Layout>
void HostRows<Scalar>::apply(Scalar alpha, Scalar shift, const BlockVector<Scalar, Layout>& x, Scalar beta,
                             const BlockVector<Scalar, Layout>& y) {
  const int threads = x.context().threads();
  const std::int64_t width = x.width();
  WorkspaceScope<> scope(x.context());
  auto* const ghosts = scope.take<Scalar>(static_cast<std::size_t>(halo_.ghosts() * width));
  halo_.exchange(x, ghosts);
  const TallPointer<Scalar> result{y.data(), y.ld()};
  if (!local_) {
    const TallPointer<const Scalar> whole = beside_ghosts(scope, x, ghosts, ghosts_before_, halo_.ghosts());
    return sparse_product<Layout, Layout>(threads, own_rows_, alpha, shift, whole, beta, result, width);
  }
  local_->apply(threads, alpha, shift, x, beta, y);
  if (ghost_rows_.entries() > 0) {
    sparse_product<RowMajor, Layout>(threads, ghost_rows_, alpha, Scalar(0), TallPointer<const Scalar>{ghosts, width},
                                     Scalar(1), result, width);
  }
}

#define BLOCKVEC_HOST_ROWS(Scalar)                                                                       \
  template class HostRows<Scalar>;                                                                       \
  template void HostRows<Scalar>::apply(Scalar, Scalar, const BlockVector<Scalar, RowMajor>&, Scalar,    \
                                        const BlockVector<Scalar, RowMajor>&);                           \
  template void HostRows<Scalar>::apply(Scalar, Scalar, const BlockVector<Scalar, ColumnMajor>&, Scalar, \
                                        const BlockVector<Scalar, ColumnMajor>&);
BLOCKVEC_FOR_SCALARS(BLOCKVEC_HOST_ROWS)

}  // namespace blockvec::solvers

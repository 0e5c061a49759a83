#include <fmt/core.h>

#include <algorithm>
#include <blockvec/kernels/error.hpp>
#include <blockvec/kernels/parallel.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <optional>
#include <type_traits>

#include "solvers/sparse/halo.hpp"
#include "solvers/sparse/local_product.hpp"
#include "solvers/sparse/sparse_product.hpp"

namespace blockvec::solvers {

template <class Scalar>
struct SparseOperator<Scalar>::Parts {
  Parts(const Context& operator_context, const RowDistribution& distribution, SplitRows<Scalar> split)
      : context(operator_context),
        rows(distribution),
        ghosts_before(split.ghosts_before),
        own_rows(std::move(split.own)),
        ghost_rows(std::move(split.ghost)),
        halo(rows, context.communicator(), split.ghosts) {
    if (!context.is_reproducible()) local.emplace(own_rows);
    nonzeros = own_rows.entries() + ghost_rows.entries();
    context.communicator().sum(std::span(&nonzeros, 1));
  }

  Context context;
  RowDistribution rows;
  std::int64_t ghosts_before;
  CompressedRows<Scalar> own_rows, ghost_rows;
  Halo halo;
  std::optional<LocalProduct<Scalar>> local;  // not for rows whose ghosts are among their own columns
  std::int64_t nonzeros = 0;
  std::int64_t applications = 0;
};

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
SparseOperator<Scalar>::SparseOperator(const Context& context, const RowDistribution& rows,
                                       const RowSource<Scalar>& source) {
  if (rows.global_rows() != source.size()) {
    throw ShapeError(fmt::format("SparseOperator: {} for a matrix of {} rows", rows.describe(), source.size()));
  }
  const auto cut = context.is_reproducible() ? Cut::together : Cut::own_and_ghost;
  parts_ = std::make_unique<Parts>(context, rows, compress_rows(rows, source, context.threads(), cut));
}

template <class Scalar>
SparseOperator<Scalar>::~SparseOperator() = default;
template <class Scalar>
SparseOperator<Scalar>::SparseOperator(SparseOperator&&) noexcept = default;

template <class Scalar>
const Context& SparseOperator<Scalar>::context() const {
  return parts_->context;
}
template <class Scalar>
const RowDistribution& SparseOperator<Scalar>::rows() const {
  return parts_->rows;
}
template <class Scalar>
std::int64_t SparseOperator<Scalar>::nonzeros() const {
  return parts_->nonzeros;
}
template <class Scalar>
std::int64_t SparseOperator<Scalar>::ghosts() const {
  return parts_->halo.ghosts();
}
template <class Scalar>
std::int64_t SparseOperator<Scalar>::applications() const {
  return parts_->applications;
}

template <class Scalar>
template <class Layout>
void SparseOperator<Scalar>::apply(Scalar alpha, Scalar shift, const BlockVector<Scalar, Layout>& x, Scalar beta,
                                   const BlockVector<Scalar, Layout>& y) {
  Parts& parts = *parts_;
  if (x.width() != y.width() || !(x.rows() == parts.rows) || !(y.rows() == parts.rows)) {
    throw ShapeError(
        fmt::format("SparseOperator::apply: X is {}, Y is {}: both must have the same width and the operator's {}",
                    x.describe(), y.describe(), parts.rows.describe()));
  }
  const std::int64_t width = x.width();
  const auto entries = static_cast<double>(parts.own_rows.entries() + parts.ghost_rows.entries());
  const double bytes =
      entries * static_cast<double>(sizeof(Scalar) + sizeof(int)) +
      static_cast<double>(x.local_rows()) *
          (sizeof(std::size_t) + static_cast<double>(width) * (beta == Scalar(0) ? 2 : 3) * sizeof(Scalar));
  const double flops = (ScalarTraits<Scalar>::is_complex ? 8 : 2) * entries * static_cast<double>(width);
  const Profile::Timer timer(parts.context.profile(), Operation::user_operator, bytes, flops);

  WorkspaceScope<> scope(parts.context);
  auto* const ghosts = scope.take<Scalar>(static_cast<std::size_t>(parts.halo.ghosts() * width));
  parts.halo.exchange(x, ghosts);
  parts.applications += width;
  if (parts.context.is_reproducible()) {
    const TallPointer<const Scalar> whole = beside_ghosts(scope, x, ghosts, parts.ghosts_before, parts.halo.ghosts());
    return sparse_product<Layout, Layout>(parts.context.threads(), parts.own_rows, alpha, shift, whole, beta,
                                          TallPointer<Scalar>{y.data(), y.ld()}, width);
  }
  parts.local->apply(parts.context.threads(), alpha, shift, x, beta, y);
  if (parts.ghost_rows.entries() > 0) {
    sparse_product<RowMajor, Layout>(parts.context.threads(), parts.ghost_rows, alpha, Scalar(0),
                                     TallPointer<const Scalar>{ghosts, width}, Scalar(1),
                                     TallPointer<Scalar>{y.data(), y.ld()}, width);
  }
}

template class SparseOperator<double>;
template class SparseOperator<Complex<double>>;
template void SparseOperator<double>::apply(double, double, const BlockVector<double, RowMajor>&, double,
                                            const BlockVector<double, RowMajor>&);
template void SparseOperator<double>::apply(double, double, const BlockVector<double, ColumnMajor>&, double,
                                            const BlockVector<double, ColumnMajor>&);
template void SparseOperator<Complex<double>>::apply(Complex<double>, Complex<double>,
                                                     const BlockVector<Complex<double>, RowMajor>&, Complex<double>,
                                                     const BlockVector<Complex<double>, RowMajor>&);
template void SparseOperator<Complex<double>>::apply(Complex<double>, Complex<double>,
                                                     const BlockVector<Complex<double>, ColumnMajor>&, Complex<double>,
                                                     const BlockVector<Complex<double>, ColumnMajor>&);

}  // namespace blockvec::solvers

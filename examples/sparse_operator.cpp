#include "sparse_operator.hpp"

#include <fmt/core.h>

#include <blockvec/kernels/error.hpp>

#include "halo.hpp"
#include "local_product.hpp"
#include "sparse_product.hpp"

namespace blockvec::examples {

template <class Scalar>
struct SparseOperator<Scalar>::Parts {
  Parts(const Context& operator_context, const RowDistribution& distribution, SplitRows<Scalar> split)
      : context(operator_context),
        rows(distribution),
        ghost_rows(std::move(split.ghost)),
        halo(rows, context.communicator(), split.ghosts),
        local(std::move(split.own)) {
    nonzeros = local.rows().entries() + ghost_rows.entries();
    context.communicator().sum(std::span(&nonzeros, 1));
  }

  Context context;
  RowDistribution rows;
  CompressedRows<Scalar> ghost_rows;
  Halo halo;
  LocalProduct<Scalar> local;
  std::int64_t nonzeros = 0;
  std::int64_t applications = 0;
};

template <class Scalar>
SparseOperator<Scalar>::SparseOperator(const Context& context, const RowDistribution& rows,
                                       const RowSource<Scalar>& source) {
  if (rows.global_rows() != source.size()) {
    throw ShapeError(fmt::format("SparseOperator: {} for a matrix of {} rows", rows.describe(), source.size()));
  }
  parts_ = std::make_unique<Parts>(context, rows, compress_rows(rows, source, context.threads()));
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
  const auto entries = static_cast<double>(parts.local.rows().entries() + parts.ghost_rows.entries());
  const double bytes =
      entries * static_cast<double>(sizeof(Scalar) + sizeof(int)) +
      static_cast<double>(x.local_rows()) *
          (sizeof(std::size_t) + static_cast<double>(width) * (beta == Scalar(0) ? 2 : 3) * sizeof(Scalar));
  const double flops = (ScalarTraits<Scalar>::is_complex ? 8 : 2) * entries * static_cast<double>(width);
  const Profile::Timer timer(parts.context.profile(), Operation::user_operator, bytes, flops);

  WorkspaceScope<> scope(parts.context);
  auto* const ghosts = scope.take<Scalar>(static_cast<std::size_t>(parts.halo.ghosts() * width));
  parts.halo.exchange(x, ghosts);
  parts.local.apply(parts.context.threads(), alpha, shift, x, beta, y);
  if (parts.ghost_rows.entries() > 0) {
    sparse_product<RowMajor, Layout>(parts.context.threads(), parts.ghost_rows, alpha, Scalar(0),
                                     TallPointer<const Scalar>{ghosts, width}, Scalar(1),
                                     TallPointer<Scalar>{y.data(), y.ld()}, width);
  }
  parts.applications += width;
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

}  // namespace blockvec::examples

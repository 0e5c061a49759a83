#include <fmt/core.h>

#include <blockvec/instantiate.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <blockvec/timer.hpp>
#include <span>
#include <type_traits>

#include "solvers/sparse/device_rows.hpp"
#include "solvers/sparse/host_rows.hpp"

namespace blockvec::solvers {
namespace {

template <class Scalar, class Space>
struct RankRowsOf {
  using Type = HostRows<Scalar>;
};
#if BLOCKVEC_HAVE_CUDA_SPACE
template <class Scalar>
struct RankRowsOf<Scalar, Kokkos::CudaSpace> {
  using Type = DeviceRows<Scalar>;
};
#endif

}  // namespace

template <class Scalar, class Space>
struct SparseOperator<Scalar, Space>::Parts {
  Parts(const Context& operator_context, const RowDistribution& distribution, SplitRows<Scalar> split)
      : context(operator_context),
        rows(distribution),
        local_entries(split.own.entries() + split.ghost.entries()),
        nonzeros(local_entries),
        rank_rows(context, rows, std::move(split)) {
    context.communicator().sum(std::span(&nonzeros, 1));
  }

  template <class Vector>
  void require_shapes(const char* function, const Vector& x, const Vector& y) const {
    if (x.width() == y.width() && x.rows() == rows && y.rows() == rows) return;
    throw ShapeError(
        fmt::format("SparseOperator::{}: X is {}, Y is {}: both must have the same width and the operator's {}",
                    function, x.describe(), y.describe(), rows.describe()));
  }
  /// Of a product that reads and writes so many blocks.
  double bytes(std::int64_t width, int blocks) const {
    return static_cast<double>(local_entries) * static_cast<double>(sizeof(Scalar) + sizeof(int)) +
           static_cast<double>(rows.local_rows()) *
               (sizeof(std::size_t) + static_cast<double>(width * blocks) * sizeof(Scalar));
  }
  /// Counts the products of so many steps, each of which reads and writes so many blocks, while the timer lives.
  OperationTimer<Space> count_steps(std::size_t steps, std::int64_t width, int blocks) {
    const auto products = static_cast<double>(steps);
    applications += width * static_cast<std::int64_t>(steps);
    return {context, Operation::user_operator, products * bytes(width, blocks), products * flops(width)};
  }
  double flops(std::int64_t width) const {
    return (ScalarTraits<Scalar>::is_complex ? 8 : 2) * static_cast<double>(local_entries) * static_cast<double>(width);
  }

  Context context;
  RowDistribution rows;
  std::int64_t local_entries, nonzeros;
  typename RankRowsOf<Scalar, Space>::Type rank_rows;
  std::int64_t applications = 0;
};

template <class Scalar, class Space>
SparseOperator<Scalar, Space>::SparseOperator(const Context& context, const RowDistribution& rows,
                                              const RowSource<Scalar>& source) {
  if (rows.global_rows() != source.size()) {
    throw ShapeError(fmt::format("SparseOperator: {} for a matrix of {} rows", rows.describe(), source.size()));
  }
  const auto cut = context.is_reproducible() ? Cut::together : Cut::own_and_ghost;
  parts_ = std::make_unique<Parts>(context, rows, compress_rows(rows, source, context.threads(), cut));
}

template <class Scalar, class Space>
SparseOperator<Scalar, Space> SparseOperator<Scalar, Space>::wrap(
    const Context& context, const RowDistribution& rows,
    const kernels::CsrMatrix<typename ScalarTraits<Scalar>::Kernel, std::int64_t>&
        matrix) requires(is_host_space<Space>) {
  if (context.communicator().size() > 1 || rows.global_rows() != matrix.rows) {
    throw ShapeError(fmt::format("SparseOperator::wrap: {} for a matrix of {} x {} on one rank", rows.describe(),
                                 matrix.rows, matrix.columns));
  }
  SplitRows<Scalar> split;
  split.own = wrap_rows<Scalar>(matrix, context.threads());
  return SparseOperator(std::make_unique<Parts>(context, rows, std::move(split)));
}
template <class Scalar, class Space>
SparseOperator<Scalar, Space>::SparseOperator(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

template <class Scalar, class Space>
SparseOperator<Scalar, Space>::~SparseOperator() = default;
template <class Scalar, class Space>
SparseOperator<Scalar, Space>::SparseOperator(SparseOperator&&) noexcept = default;

template <class Scalar, class Space>
const Context& SparseOperator<Scalar, Space>::context() const {
  return parts_->context;
}
template <class Scalar, class Space>
const RowDistribution& SparseOperator<Scalar, Space>::rows() const {
  return parts_->rows;
}
template <class Scalar, class Space>
std::int64_t SparseOperator<Scalar, Space>::nonzeros() const {
  return parts_->nonzeros;
}
template <class Scalar, class Space>
std::int64_t SparseOperator<Scalar, Space>::ghosts() const {
  return parts_->rank_rows.ghosts();
}
template <class Scalar, class Space>
std::int64_t SparseOperator<Scalar, Space>::applications() const {
  return parts_->applications;
}

template <class Scalar, class Space>
template <class Layout>
void SparseOperator<Scalar, Space>::apply(Scalar alpha, Scalar shift, const BlockVector<Scalar, Layout, Space>& x,
                                          Scalar beta, const BlockVector<Scalar, Layout, Space>& y) {
  Parts& parts = *parts_;
  parts.require_shapes("apply", x, y);
  const OperationTimer<Space> timer(parts.context, Operation::user_operator,
                                    parts.bytes(x.width(), beta == Scalar(0) ? 2 : 3), parts.flops(x.width()));
  parts.applications += x.width();
  parts.rank_rows.apply(alpha, shift, x, beta, y);
}

template <class Scalar, class Space>
template <class Layout>
void SparseOperator<Scalar, Space>::recur(Scalar shift, std::span<const RecurrenceStep<Scalar>> steps,
                                          const BlockVector<Scalar, Layout, Space>& newest,
                                          const BlockVector<Scalar, Layout, Space>& before) {
  if constexpr (is_host_space<Space>) {
    Parts& parts = *parts_;
    parts.require_shapes("recur", newest, before);
    const auto timer = parts.count_steps(steps.size(), newest.width(), 3);
    if (!steps.empty()) parts.rank_rows.recur(shift, steps, newest, before);
  } else {
    recur_by_products(*this, shift, steps, newest, before);
  }
}

template <class Scalar, class Space>
template <class Layout>
void SparseOperator<Scalar, Space>::apply_polynomial(const Polynomial<Scalar>& p,
                                                     const BlockVector<Scalar, Layout, Space>& x,
                                                     const BlockVector<Scalar, Layout, Space>& y) {
  p.require_shape();
  if constexpr (is_host_space<Space>) {
    Parts& parts = *parts_;
    parts.require_shapes("apply_polynomial", x, y);
    const auto timer = parts.count_steps(p.steps.size(), x.width(), p.weights.empty() ? 3 : 5);
    parts.rank_rows.apply_polynomial(p, x, y);
  } else {
    apply_polynomial_by_products(*this, p, x, y);
  }
}

#define BLOCKVEC_SPARSE_OPERATOR(Scalar, Space) template class SparseOperator<Scalar, Space>;
BLOCKVEC_FOR_SMALL_MATRICES(BLOCKVEC_SPARSE_OPERATOR)
#define BLOCKVEC_SPARSE_APPLY(Scalar, Layout, Space)                                                            \
  template void SparseOperator<Scalar, Space>::apply(Scalar, Scalar, const BlockVector<Scalar, Layout, Space>&, \
                                                     Scalar, const BlockVector<Scalar, Layout, Space>&);        \
  template void SparseOperator<Scalar, Space>::recur(Scalar, std::span<const RecurrenceStep<Scalar>>,           \
                                                     const BlockVector<Scalar, Layout, Space>&,                 \
                                                     const BlockVector<Scalar, Layout, Space>&);                \
  template void SparseOperator<Scalar, Space>::apply_polynomial(const Polynomial<Scalar>&,                      \
                                                                const BlockVector<Scalar, Layout, Space>&,      \
                                                                const BlockVector<Scalar, Layout, Space>&);
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_SPARSE_APPLY)

}  // namespace blockvec::solvers

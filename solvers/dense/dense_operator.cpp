#include <fmt/core.h>

#include <blockvec/instantiate.hpp>
#include <blockvec/operations.hpp>
#include <blockvec/solvers/dense_operator.hpp>
#include <blockvec/timer.hpp>
#include <type_traits>

#include "solvers/dense/dense_product.hpp"
#include "solvers/dense/dense_rows.hpp"
#include "solvers/sparse/device_halo.hpp"
#include "solvers/sparse/halo.hpp"

namespace blockvec::solvers {
namespace {

/// All rows of X that other ranks have, by messages as those of a sparse matrix.
template <class Scalar, class Space>
class GatheredRows {
 public:
  GatheredRows(const Context& context, const RowDistribution& rows, const std::vector<std::int64_t>& ghosts)
      : halo_(rows, context.communicator(), ghosts) {}
  template <class Layout>
  void begin(WorkspaceScope<Space>& scope, const BlockVector<Scalar, Layout, Space>& x) {
    rows_ = scope.template take<Scalar>(static_cast<std::size_t>(halo_.ghosts() * x.width()));
    halo_.exchange(x, rows_);
  }
  const Scalar* finish() { return rows_; }

 private:
  Halo halo_;
  Scalar* rows_ = nullptr;
};
#if BLOCKVEC_HAVE_CUDA_SPACE
template <class Scalar>
class GatheredRows<Scalar, Kokkos::CudaSpace> {
 public:
  using Space = Kokkos::CudaSpace;
  GatheredRows(const Context& context, const RowDistribution& rows, const std::vector<std::int64_t>& ghosts)
      : halo_(context, rows, ghosts) {}
  template <class Layout>
  void begin(WorkspaceScope<Space>&, const BlockVector<Scalar, Layout, Space>& x) {
    halo_.begin(x);
  }
  const Scalar* finish() { return halo_.finish(); }

 private:
  DeviceHalo<Scalar> halo_;
};
#endif

}  // namespace

template <class Scalar, class Space>
struct DenseOperator<Scalar, Space>::Parts {
  Parts(const Context& operator_context, const RowDistribution& distribution, const RowSource<Scalar>& source,
        DenseStorage storage)
      : context(operator_context),
        rows(distribution),
        a(DenseRows<Scalar, Space>::read(context, rows, source, storage)),
        gathered(context, rows, a.ghosts) {}

  Context context;
  RowDistribution rows;
  DenseRows<Scalar, Space> a;
  GatheredRows<Scalar, Space> gathered;
  std::int64_t applications = 0;
};

template <class Scalar, class Space>
DenseOperator<Scalar, Space>::DenseOperator(const Context& context, const RowDistribution& rows,
                                            const RowSource<Scalar>& source, DenseStorage storage) {
  if (rows.global_rows() != source.size()) {
    throw ShapeError(fmt::format("DenseOperator: {} for a matrix of {} rows", rows.describe(), source.size()));
  }
  parts_ = std::make_unique<Parts>(context, rows, source, storage);
}

template <class Scalar, class Space>
DenseOperator<Scalar, Space>::~DenseOperator() = default;
template <class Scalar, class Space>
DenseOperator<Scalar, Space>::DenseOperator(DenseOperator&&) noexcept = default;

template <class Scalar, class Space>
const Context& DenseOperator<Scalar, Space>::context() const {
  return parts_->context;
}
template <class Scalar, class Space>
const RowDistribution& DenseOperator<Scalar, Space>::rows() const {
  return parts_->rows;
}
template <class Scalar, class Space>
std::int64_t DenseOperator<Scalar, Space>::nonzeros() const {
  return parts_->rows.global_rows() * parts_->rows.global_rows();
}
template <class Scalar, class Space>
std::int64_t DenseOperator<Scalar, Space>::applications() const {
  return parts_->applications;
}

template <class Scalar, class Space>
template <class Layout>
void DenseOperator<Scalar, Space>::apply(Scalar alpha, Scalar shift, const BlockVector<Scalar, Layout, Space>& x,
                                         Scalar beta, const BlockVector<Scalar, Layout, Space>& y) {
  Parts& parts = *parts_;
  if (x.width() != y.width() || !(x.rows() == parts.rows) || !(y.rows() == parts.rows)) {
    throw ShapeError(
        fmt::format("DenseOperator::apply: X is {}, Y is {}: both must have the same width and the operator's {}",
                    x.describe(), y.describe(), parts.rows.describe()));
  }
  if (shift != Scalar(0)) {
    axpby(-alpha * shift, x, beta, y);
    return apply(alpha, Scalar(0), x, Scalar(1), y);
  }
  const DenseRows<Scalar, Space>& a = parts.a;
  const std::int64_t width = x.width();
  const double products = static_cast<double>(x.local_rows()) * static_cast<double>(x.global_rows());
  const double own = static_cast<double>(a.own.rows) * static_cast<double>(a.own.columns);
  const double bytes =
      sizeof(Scalar) *
      (products - own + own * own_reads(a.own, width) +
       static_cast<double>(width) *
           (static_cast<double>(x.global_rows()) + static_cast<double>(x.local_rows()) * (beta == Scalar(0) ? 1 : 2)));
  const double flops = (ScalarTraits<Scalar>::is_complex ? 8 : 2) * products * static_cast<double>(width);
  const OperationTimer<Space> timer(parts.context, Operation::user_operator, bytes, flops);
  parts.applications += width;
  WorkspaceScope<Space> scope(parts.context);
  parts.gathered.begin(scope, x);
  if (parts.context.is_reproducible()) {
    return multiply_in_order(alpha, a, x, parts.gathered.finish(), beta, y);
  }
  multiply_own(alpha, a.own, x, beta, y);
  const Scalar* const ghosts = parts.gathered.finish();
  if (a.ghost.rows > 0 && a.ghost.columns > 0) add_ghosts(alpha, a.ghost, ghosts, y);
}

#define BLOCKVEC_DENSE_OPERATOR(Scalar, Space) template class DenseOperator<Scalar, Space>;
BLOCKVEC_FOR_SMALL_MATRICES(BLOCKVEC_DENSE_OPERATOR)
#define BLOCKVEC_DENSE_APPLY(Scalar, Layout, Space)                                                                    \
  template void DenseOperator<Scalar, Space>::apply(Scalar, Scalar, const BlockVector<Scalar, Layout, Space>&, Scalar, \
                                                    const BlockVector<Scalar, Layout, Space>&);
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_DENSE_APPLY)

}  // namespace blockvec::solvers

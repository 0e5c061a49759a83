#pragma once

#include <blockvec/block_vector.hpp>
#include <blockvec/double_double_matrix.hpp>
#include <blockvec/kernels/cuda.hpp>
#include <blockvec/kernels/tall_skinny.hpp>
#include <blockvec/small_matrix.hpp>
#include <cstdint>
#include <span>

#include "blockvec/double_double_products.hpp"

/// The kernels as block vectors call them: where they run and what workspace they ask for follows from the space.
namespace blockvec {

template <class Scalar>
using KernelScalar = typename ScalarTraits<Scalar>::Kernel;

template <class Scalar>
KernelScalar<Scalar> kernel_value(Scalar value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return {value.real(), value.imag()};
  } else {
    return value;
  }
}

template <class Scalar, class Space>
kernels::Matrix<KernelScalar<Scalar>> kernel_matrix(const SmallMatrix<Scalar, Space>& c) {
  return {reinterpret_cast<KernelScalar<Scalar>*>(c.data()), c.rows(), c.columns(), c.ld(),
          kernels::Layout::column_major};
}

/// Scratch memory for one call, and the threads or the stream that it runs on.
template <class Space>
auto kernel_execution(WorkspaceScope<Space>& scope, std::size_t bytes) {
  const std::span workspace(scope.template take<std::byte>(bytes), bytes);
  if constexpr (is_host_space<Space>) {
    return kernels::HostExecution{scope.context().threads(), workspace};
  } else {
    const Context& context = scope.context();
    return kernels::CudaExecution{context.template execution_space<Space>().cuda_stream(), workspace,
                                  kernels::SinglePrecision::split, context.template ticket<Space>()};
  }
}

/// Whether a product under this condition may leave its output alone: on the host it is known when the product is
/// asked for, on a device when its kernels run, which then look at it themselves. Null: there is no condition.
template <class Space>
bool is_ruled_out(const unsigned* condition) {
  return is_host_space<Space> && condition != nullptr && *condition == 0;
}

/// The same execution under a condition.
inline kernels::HostExecution under(const unsigned*, const kernels::HostExecution& execution) { return execution; }
inline kernels::CudaExecution under(const unsigned* condition, kernels::CudaExecution execution) {
  execution.condition = condition;
  return execution;
}

/// C = V^H W for this rank's rows; where *condition is zero C stays as it is.
template <class Scalar, class Layout, class Space>
void local_inner_product(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                         const SmallMatrix<Scalar, Space>& c, const unsigned* condition = nullptr) {
  using Kernel = KernelScalar<Scalar>;
  if (is_ruled_out<Space>(condition)) return;
  WorkspaceScope<Space> scope(v.context());
  const auto bytes = [&] {
    if constexpr (is_host_space<Space>) {
      return kernels::tsmttsm_workspace<Kernel>(v.local_rows(), v.width(), w.width(), kernel_layout<Layout>);
    } else {
      return kernels::cuda_tsmttsm_workspace<Kernel>(v.local_rows(), v.width(), w.width());
    }
  }();
  kernels::tsmttsm<Kernel>(kernels::Op::conjugate_transpose, Kernel(1), v.matrix(), w.matrix(), Kernel(0),
                           kernel_matrix(c), under(condition, kernel_execution(scope, bytes)));
}

/// The same in double-double.
template <class Scalar, class Layout, class Space>
void local_inner_product_dd(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                            const DoubleDoubleMatrix<Scalar, Space>& c) {
  using Kernel = KernelScalar<Scalar>;
  if constexpr (is_host_space<Space>) {
    WorkspaceScope<Space> scope(v.context());
    const std::size_t bytes =
        kernels::tsmttsm_dd_workspace<Kernel>(v.local_rows(), v.width(), w.width(), v.context().threads());
    kernels::tsmttsm_dd<Kernel>(kernels::Op::conjugate_transpose, v.matrix(), w.matrix(), kernel_matrix(c.high),
                                kernel_matrix(c.low), kernel_execution(scope, bytes));
  } else {
    detail::inner_product_dd_in_teams(v, w, c, detail::RunTeams<Space>{v.context()});
  }
}

/// What a product of V with a small matrix of `columns` columns runs with.
template <class Scalar, class Layout, class Space>
auto tsmm_execution(WorkspaceScope<Space>& scope, const BlockVector<Scalar, Layout, Space>& v, std::int64_t columns) {
  using Kernel = KernelScalar<Scalar>;
  if constexpr (is_host_space<Space>) {
    return kernel_execution(scope, kernels::tsmm_workspace<Kernel>(v.local_rows(), v.width(), columns,
                                                                   kernel_layout<Layout>, v.context().threads()));
  } else {
    return kernel_execution(scope, kernels::cuda_tsmm_workspace<Kernel>(v.local_rows(), v.width(), columns));
  }
}

}  // namespace blockvec

#include <blockvec/conditional_sweep.hpp>
#include <blockvec/kernels/tall_skinny.hpp>
#include <blockvec/operations.hpp>
#include <string>

#include "blockvec/checks.hpp"
#include "blockvec/instantiate.hpp"
#include "blockvec/kernel_calls.hpp"
#include "blockvec/timer.hpp"

namespace blockvec {

template <class Scalar, class Layout, class Space>
void conditional_sweep(const BlockVector<Scalar, Layout, Space>& all, const SmallMatrix<Scalar, Space>& c,
                       const unsigned* changes, const NextProducts<Scalar, Space>* next) {
  constexpr const char* name = "conditional_sweep";
  const std::int64_t k = all.local_rows(), b = c.columns(), m = all.width() - b;
  if (m < 0) {
    throw ShapeError(std::string(name) + ": V = " + all.describe() + ": C has " + std::to_string(b) +
                     " columns, expected no more than V");
  }
  require_small(name, "C", c, all.width(), b, all);
  if (next != nullptr) require_small(name, "P", next->p, all.width(), b, all);
  if (!is_ruled_out<Space>(changes)) {
    const OperationTimer<Space> timer(all.context(), Operation::gram_schmidt_sweep,
                                      Cost<Scalar>::sweep_bytes(k, m, b, true),
                                      Cost<Scalar>::product_flops(k, m + b, b));
    WorkspaceScope<Space> scope(all.context());
    kernels::tsmm_inplace<KernelScalar<Scalar>>(all.matrix(), kernel_matrix(c), kernels::Triangle::general,
                                                under(changes, tsmm_execution(scope, all, b)), m);
  }
  if (next == nullptr) return;
  const auto w = all.columns(m, m + b);
  const OperationTimer<Space> timer(all.context(), Operation::inner_product,
                                    Cost<Scalar>::inner_product_bytes(k, m + b, b, same_block(all, w)),
                                    Cost<Scalar>::product_flops(k, m + b, b));
  local_inner_product(all, w, next->p, next->condition);
}

#define BLOCKVEC_CONDITIONAL_SWEEP(Scalar, Layout, Space)                                                       \
  template void conditional_sweep(const BlockVector<Scalar, Layout, Space>&, const SmallMatrix<Scalar, Space>&, \
                                  const unsigned*, const NextProducts<Scalar, Space>*);
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_CONDITIONAL_SWEEP)

}  // namespace blockvec

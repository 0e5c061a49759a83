#include <blockvec/conditional_sweep.hpp>
#include <blockvec/kernels/tall_skinny.hpp>
#include <blockvec/operations.hpp>
#include <blockvec/timer.hpp>
#include <span>
#include <string>

#include "blockvec/checks.hpp"
#include "blockvec/instantiate.hpp"
#include "blockvec/kernel_calls.hpp"
#include "blockvec/sweep.hpp"

namespace blockvec {
namespace {

// Calls body(V, W) where a device changes W and forms its products in one pass. Returns whether that is so.
template <class Scalar, class Layout, class Space, class Body>
bool in_one_pass(const BlockVector<Scalar, Layout, Space>& all, std::int64_t b, Body&& body) {
  if constexpr (is_host_space<Space>) {
    return false;
  } else {
    const std::int64_t m = all.width() - b;
    const auto v = all.columns(0, m), w = all.columns(m, m + b);
    const std::span<const BlockVector<Scalar, Layout, Space>> pieces(&v, m > 0 ? 1 : 0);
    if (!sweeps_in_one_pass(pieces, w, true, true)) return false;
    body(pieces, w);
    return true;
  }
}

}  // namespace

template <class Scalar, class Layout, class Space>
void conditional_sweep(const BlockVector<Scalar, Layout, Space>& all, const SmallMatrix<Scalar, Space>& c,
                       const unsigned* condition, const SmallMatrix<Scalar, Space>* p) {
  using Kernel = KernelScalar<Scalar>;
  constexpr const char* name = "conditional_sweep";
  const std::int64_t k = all.local_rows(), b = c.columns(), m = all.width() - b;
  if (m < 0) {
    throw ShapeError(std::string(name) + ": V = " + all.describe() + ": C has " + std::to_string(b) +
                     " columns, expected no more than V");
  }
  require_small(name, "C", c, all.width(), b, all);
  if (p != nullptr) require_small(name, "P", *p, all.width(), b, all);
  if (is_ruled_out<Space>(condition)) return;
  const OperationTimer<Space> timer(all.context(), Operation::gram_schmidt_sweep,
                                    Cost<Scalar>::passes_bytes(k, conditional_sweep_words(all, b, p != nullptr)),
                                    Cost<Scalar>::product_flops(k, (p != nullptr ? 2 : 1) * (m + b), b));
  WorkspaceScope<Space> scope(all.context());
  if (p != nullptr && in_one_pass(all, b, [&](const auto pieces, const auto& w) {
        const SweepPieces<Scalar, Layout, Space> v(pieces);
        const auto bytes = kernels::cuda_gram_schmidt_sweep_workspace<Kernel>(k, v.widths(), b);
        kernels::gram_schmidt_sweep<Kernel>(v.matrices(), kernel_matrix(c), w.matrix(), kernel_matrix(*p),
                                            kernel_execution(scope, bytes), {condition, condition});
      })) {
    return;
  }
  kernels::tsmm_inplace<Kernel>(all.matrix(), kernel_matrix(c), kernels::Triangle::general,
                                under(condition, tsmm_execution(scope, all, b)), m);
  if (p != nullptr) local_inner_product(all, all.columns(m, m + b), *p, condition);
}

template <class Scalar, class Layout, class Space>
void conditional_inner_product(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                               const SmallMatrix<Scalar, Space>& p, const unsigned* condition) {
  require_same_rows("conditional_inner_product", v, w);
  require_small("conditional_inner_product", "P", p, v.width(), w.width(), v);
  if (is_ruled_out<Space>(condition)) return;
  const std::int64_t k = v.local_rows(), m = v.width(), b = w.width();
  const OperationTimer<Space> timer(v.context(), Operation::inner_product,
                                    Cost<Scalar>::inner_product_bytes(k, m, b, same_block(v, w)),
                                    Cost<Scalar>::product_flops(k, m, b));
  local_inner_product(v, w, p, condition);
}

template <class Scalar, class Layout, class Space>
std::int64_t conditional_sweep_words(const BlockVector<Scalar, Layout, Space>& all, std::int64_t b,
                                     bool with_products) {
  const std::int64_t change = all.width() + b;
  return !with_products || in_one_pass(all, b, [](auto, const auto&) {}) ? change : change + all.width();
}

#define BLOCKVEC_CONDITIONAL_SWEEP(Scalar, Layout, Space)                                                       \
  template void conditional_sweep(const BlockVector<Scalar, Layout, Space>&, const SmallMatrix<Scalar, Space>&, \
                                  const unsigned*, const SmallMatrix<Scalar, Space>*);                          \
  template void conditional_inner_product(const BlockVector<Scalar, Layout, Space>&,                            \
                                          const BlockVector<Scalar, Layout, Space>&,                            \
                                          const SmallMatrix<Scalar, Space>&, const unsigned*);                  \
  template std::int64_t conditional_sweep_words(const BlockVector<Scalar, Layout, Space>&, std::int64_t, bool);
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_CONDITIONAL_SWEEP)

}  // namespace blockvec

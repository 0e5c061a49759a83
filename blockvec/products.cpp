#include <blockvec/kernels/tall_skinny.hpp>
#include <blockvec/operations.hpp>
#include <blockvec/small_on_host.hpp>
#include <blockvec/timer.hpp>

#include "blockvec/checks.hpp"
#include "blockvec/instantiate.hpp"
#include "blockvec/kernel_calls.hpp"
#include "blockvec/sweep.hpp"

namespace blockvec {

namespace {

/// Whether a change on a device is an update. As a sweep it would multiply W by the identity.
[[maybe_unused]] constexpr bool is_update(std::size_t pieces, bool applies) { return pieces == 1 && !applies; }

}  // namespace

template <class Scalar, class Layout, class Space>
void gram_schmidt_sweep(std::span<const std::type_identity_t<BlockVector<Scalar, Layout, Space>>> v,
                        const std::type_identity_t<SmallMatrix<Scalar, Space>>* s,
                        const BlockVector<Scalar, Layout, Space>& w,
                        const std::type_identity_t<SmallMatrix<Scalar, Space>>* x, kernels::Triangle triangle) {
  require_sweep<Scalar, Layout, Space, Space>(v, s, w, x);
  if constexpr (is_host_space<Space>) {
    if (v.size() <= most_pieces) return local_sweep<Scalar, Layout, Space>(v, s, w, x, triangle, nullptr, nullptr);
  }
  if (s != nullptr) {
    for_pieces<Scalar, Layout, Space, Space>(
        v, *s, [&](const auto& piece, const auto& rows) { update(Scalar(-1), piece, rows, Scalar(1), w); });
  }
  if (x != nullptr) multiply_in_place(w, *x, triangle);
}

template <class Scalar, class Layout, class Space>
requires(!is_host_space<Space>) void gram_schmidt_sweep(
    std::span<const std::type_identity_t<BlockVector<Scalar, Layout, Space>>> v,
    const std::type_identity_t<SmallMatrix<Scalar>>* s, const BlockVector<Scalar, Layout, Space>& w,
    const std::type_identity_t<SmallMatrix<Scalar>>* x, kernels::Triangle triangle) {
  require_sweep<Scalar, Layout, Space, Kokkos::HostSpace>(v, s, w, x);
  if (s != nullptr && v.size() <= most_pieces && !is_update(v.size(), x != nullptr)) {
    return sweep_on_device<Scalar, Layout, Space>(v, s, w, x, triangle, nullptr);
  }
  WorkspaceScope<Space> scope(w.context());
  const auto there = [&](const SmallMatrix<Scalar>* a) {
    return a != nullptr ? detail::on_device(scope, *a) : SmallMatrix<Scalar, Space>();
  };
  const SmallMatrix<Scalar, Space> s_there = there(s), x_there = there(x);
  gram_schmidt_sweep(v, s != nullptr ? &s_there : nullptr, w, x != nullptr ? &x_there : nullptr, triangle);
}

template <class Scalar, class Layout, class Space>
std::int64_t sweep_words(std::span<const std::type_identity_t<BlockVector<Scalar, Layout, Space>>> v,
                         const BlockVector<Scalar, Layout, Space>& w, const SweepSteps& steps) {
  const std::int64_t m = total_width(v), b = w.width();
  const bool changes = steps.subtracts || steps.applies, multiplies = steps.forms_p || steps.forms_g;
  const bool uses_v = steps.subtracts || steps.forms_p;
  if (v.size() > most_pieces) {
    const auto apart = static_cast<std::int64_t>(v.size());
    return (steps.subtracts ? m + 2 * apart * b : 0) + (steps.applies ? 2 * b : 0) +
           (steps.forms_p ? m + apart * b : 0) + (steps.forms_g ? b : 0);
  }
  if constexpr (is_host_space<Space>) {
    if (!w.context().is_reproducible()) return (uses_v ? m : 0) + (changes ? 2 * b : multiplies ? b : 0);
    // One pass for W, another for all products.
    return (steps.subtracts ? m : 0) + (changes ? 2 * b : 0) + (steps.forms_p ? m : 0) + (steps.forms_g ? b : 0);
  } else {
    using Pieces = std::span<const BlockVector<Scalar, Layout, Space>>;
    const auto v_if = [&](bool wanted) { return wanted ? v : Pieces(); };
    const auto change_words = [&] {
      if (!changes) return std::int64_t(0);
      return is_update(v.size(), steps.applies) ? m + 2 * b : words_on_device(v_if(steps.subtracts), w, true, false);
    };
    if (w.context().is_reproducible()) {  // one product after the other
      return change_words() + (steps.forms_p ? m + static_cast<std::int64_t>(v.size()) * b : 0) +
             (steps.forms_g ? b : 0);
    }
    if (changes && multiplies && sweeps_in_one_pass(v_if(uses_v), w, true, true)) {
      return words_on_device(v_if(uses_v), w, true, true);
    }
    return change_words() + (multiplies ? words_on_device(v_if(steps.forms_p), w, false, true) : 0);
  }
}

template <class Scalar, class Layout, class Space>
void update(Scalar alpha, const BlockVector<Scalar, Layout, Space>& v, const SmallMatrix<Scalar, Space>& c, Scalar beta,
            const BlockVector<Scalar, Layout, Space>& w) {
  constexpr const char* name = "update";
  require_same_rows(name, v, w);
  require_apart(name, v, w);
  require_small(name, "C", c, v.width(), w.width(), v, w);
  const std::int64_t k = v.local_rows();
  const OperationTimer<Space> timer(v.context(), Operation::update,
                                    Cost<Scalar>::update_bytes(k, v.width(), w.width(), beta != Scalar(0)),
                                    Cost<Scalar>::product_flops(k, v.width(), w.width()));
  WorkspaceScope<Space> scope(v.context());
  kernels::tsmm<KernelScalar<Scalar>>(kernel_value(alpha), v.matrix(), kernel_matrix(c), kernel_value(beta), w.matrix(),
                                      kernels::Triangle::general, tsmm_execution(scope, v, w.width()));
}

template <class Scalar, class Layout, class Space>
void multiply_in_place(const BlockVector<Scalar, Layout, Space>& v, const SmallMatrix<Scalar, Space>& c,
                       kernels::Triangle triangle, std::int64_t first) {
  constexpr const char* name = "multiply_in_place";
  if (first < 0 || c.rows() != v.width() || c.columns() > v.width() - first) {
    throw ShapeError(std::string(name) + ": V = " + v.describe() + ": C is " + std::to_string(c.rows()) + " x " +
                     std::to_string(c.columns()) + " for columns from " + std::to_string(first) + " on, expected " +
                     std::to_string(v.width()) + " rows and no more columns than V has there");
  }
  require_same_context(name, "C", c, v);
  const std::int64_t k = v.local_rows();
  const OperationTimer<Space> timer(v.context(), Operation::multiply_in_place,
                                    Cost<Scalar>::multiply_in_place_bytes(k, v.width(), c.columns()),
                                    Cost<Scalar>::product_flops(k, v.width(), c.columns()));
  WorkspaceScope<Space> scope(v.context());
  kernels::tsmm_inplace<KernelScalar<Scalar>>(v.matrix(), kernel_matrix(c), triangle,
                                              tsmm_execution(scope, v, c.columns()), first);
}

template <class Scalar>
double Cost<Scalar>::inner_product_bytes(std::int64_t rows, std::int64_t m, std::int64_t b, bool same) {
  return kernels::tsmttsm_bytes<typename ScalarTraits<Scalar>::Kernel>(rows, m, b, same);
}
template <class Scalar>
double Cost<Scalar>::update_bytes(std::int64_t rows, std::int64_t m, std::int64_t b, bool reads_output) {
  return kernels::tsmm_bytes<typename ScalarTraits<Scalar>::Kernel>(rows, m, b, reads_output);
}
template <class Scalar>
double Cost<Scalar>::multiply_in_place_bytes(std::int64_t rows, std::int64_t m, std::int64_t n) {
  return update_bytes(rows, m, n, false);
}
template <class Scalar>
double Cost<Scalar>::sweep_bytes(std::int64_t rows, std::int64_t m, std::int64_t b, bool writes) {
  return update_bytes(rows, m, b, writes);
}
template <class Scalar>
double Cost<Scalar>::product_flops(std::int64_t rows, std::int64_t m, std::int64_t b) {
  return kernels::product_flops<typename ScalarTraits<Scalar>::Kernel>(rows, m, b);
}
template <class Scalar>
double Cost<Scalar>::passes_bytes(std::int64_t rows, std::int64_t words_per_row) {
  return static_cast<double>(rows) * static_cast<double>(words_per_row) * static_cast<double>(sizeof(Scalar));
}

#define BLOCKVEC_COST(Scalar) template struct Cost<Scalar>;
BLOCKVEC_FOR_SCALARS(BLOCKVEC_COST)

#define BLOCKVEC_PRODUCTS(Scalar, Layout, Space)                                                                     \
  template void update(Scalar, const BlockVector<Scalar, Layout, Space>&, const SmallMatrix<Scalar, Space>&, Scalar, \
                       const BlockVector<Scalar, Layout, Space>&);                                                   \
  template void gram_schmidt_sweep(std::span<const BlockVector<Scalar, Layout, Space>>,                              \
                                   const SmallMatrix<Scalar, Space>*, const BlockVector<Scalar, Layout, Space>&,     \
                                   const SmallMatrix<Scalar, Space>*, kernels::Triangle);                            \
  template std::int64_t sweep_words(std::span<const BlockVector<Scalar, Layout, Space>>,                             \
                                    const BlockVector<Scalar, Layout, Space>&, const SweepSteps&);                   \
  template void multiply_in_place(const BlockVector<Scalar, Layout, Space>&, const SmallMatrix<Scalar, Space>&,      \
                                  kernels::Triangle, std::int64_t);
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_PRODUCTS)

#if BLOCKVEC_HAVE_CUDA_SPACE
#define BLOCKVEC_PRODUCTS_ON_HOST(Scalar, Layout)                                                                     \
  template void gram_schmidt_sweep(std::span<const BlockVector<Scalar, Layout, Kokkos::CudaSpace>>,                   \
                                   const SmallMatrix<Scalar>*, const BlockVector<Scalar, Layout, Kokkos::CudaSpace>&, \
                                   const SmallMatrix<Scalar>*, kernels::Triangle);
#define BLOCKVEC_PRODUCTS_OF_LAYOUTS(Scalar) \
  BLOCKVEC_PRODUCTS_ON_HOST(Scalar, RowMajor) BLOCKVEC_PRODUCTS_ON_HOST(Scalar, ColumnMajor)
BLOCKVEC_FOR_SCALARS(BLOCKVEC_PRODUCTS_OF_LAYOUTS)
#endif

}  // namespace blockvec

#include <blockvec/orth/orthogonalizer.hpp>

#include "blockvec/instantiate.hpp"
#include "orth/checks.hpp"
#include "orth/orthonormalize.hpp"
#include "orth/projection.hpp"
#include "orth/record.hpp"

namespace blockvec::orth {
template <class Scalar>
RealOf<Scalar> rank_tolerance(std::int64_t m, std::int64_t b) {
  return 8 * std::sqrt(static_cast<RealOf<Scalar>>(m + b)) * epsilon<Scalar>;
}

template <class Scalar, class Layout, class Space>
Result Orthogonalizer::project(const std::type_identity_t<Basis<Scalar, Layout, Space>>& v,
                               const BlockVector<Scalar, Layout, Space>& w,
                               const std::type_identity_t<SmallMatrix<Scalar, Space>>* s,
                               const std::type_identity_t<Metric<Scalar, Layout, Space>>* metric) {
  return context_.collective([&]() -> Result {
    require_operands("project", context_, v, w);
    require_metric("project", v, w, metric);
    require_coefficients("project", "S", s, v.width(), w.width());
    if (w.width() == 0) return {};
    Call<Scalar, Layout, Space> call(context_, options_, draws_, v, w, metric);
    project_block(call);
    finish<Scalar, Layout, Space>(call, s, nullptr);
    record(context_, "project", {options_.between, options_.within, true, false}, call.findings.result, w.width());
    return std::move(call.findings.result);
  });
}

template <class Scalar, class Layout, class Space>
Result Orthogonalizer::normalize(const BlockVector<Scalar, Layout, Space>& w,
                                 const std::type_identity_t<SmallMatrix<Scalar, Space>>* r,
                                 const std::type_identity_t<Metric<Scalar, Layout, Space>>* metric) {
  return project_and_normalize<Scalar, Layout, Space>({}, w, nullptr, r, metric);
}

template <class Scalar, class Layout, class Space>
Result Orthogonalizer::project_and_normalize(const std::type_identity_t<Basis<Scalar, Layout, Space>>& v,
                                             const BlockVector<Scalar, Layout, Space>& w,
                                             const std::type_identity_t<SmallMatrix<Scalar, Space>>* s,
                                             const std::type_identity_t<SmallMatrix<Scalar, Space>>* r,
                                             const std::type_identity_t<Metric<Scalar, Layout, Space>>* metric) {
  return context_.collective([&]() -> Result {
    require_operands("project_and_normalize", context_, v, w);
    require_metric("project_and_normalize", v, w, metric);
    require_coefficients("project_and_normalize", "S", s, v.width(), w.width());
    require_coefficients("project_and_normalize", "R", r, w.width(), w.width());
    if (w.width() == 0) return {};
    Call<Scalar, Layout, Space> call(context_, options_, draws_, v, w, metric);
    Result result = orthonormalize(call, s, r);
    record(context_, v.width() > 0 ? "project_and_normalize" : "normalize",
           {options_.between, options_.within, v.width() > 0, true}, result, w.width());
    require_full_rank(options_, w, v, result);
    return result;
  });
}

template <class Scalar, class Layout, class Space>
RealOf<Scalar> orthogonality_loss(const BlockVector<Scalar, Layout, Space>& v) {
  using Small = SmallMatrix<Scalar, Space>;
  WorkspaceScope<Space> scope(v.context());
  const Small gram = v.context().collective([&] {
    const Small product = Small::scratch(scope, v.width(), v.width());
    inner_product(v, v, product);
    return product;
  });
  const Small identity = Small::scratch(scope, v.width(), v.width());
  dense::set_identity(identity);
  dense::axpby(Scalar(-1), identity, Scalar(1), gram);
  return dense::frobenius_norm(gram);
}

#define BLOCKVEC_ORTH_SCALAR(Scalar) template RealOf<Scalar> rank_tolerance<Scalar>(std::int64_t, std::int64_t);
BLOCKVEC_FOR_SCALARS(BLOCKVEC_ORTH_SCALAR)

#define BLOCKVEC_ORTH(Scalar, Layout, Space)                                                                          \
  template Result Orthogonalizer::project(const Basis<Scalar, Layout, Space>&,                                        \
                                          const BlockVector<Scalar, Layout, Space>&,                                  \
                                          const SmallMatrix<Scalar, Space>*, const Metric<Scalar, Layout, Space>*);   \
  template Result Orthogonalizer::normalize(const BlockVector<Scalar, Layout, Space>&,                                \
                                            const SmallMatrix<Scalar, Space>*, const Metric<Scalar, Layout, Space>*); \
  template Result Orthogonalizer::project_and_normalize(                                                              \
      const Basis<Scalar, Layout, Space>&, const BlockVector<Scalar, Layout, Space>&,                                 \
      const SmallMatrix<Scalar, Space>*, const SmallMatrix<Scalar, Space>*, const Metric<Scalar, Layout, Space>*);    \
  template RealOf<Scalar> orthogonality_loss(const BlockVector<Scalar, Layout, Space>&);
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_ORTH)

}  // namespace blockvec::orth

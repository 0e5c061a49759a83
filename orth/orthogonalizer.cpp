#include <algorithm>
#include <blockvec/orth/orthogonalizer.hpp>
#include <memory>
#include <optional>

#include "blockvec/instantiate.hpp"
#include "orth/checks.hpp"
#include "orth/orthonormalize.hpp"
#include "orth/projection.hpp"
#include "orth/pythagorean_factor.hpp"
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

namespace {

/// Q = X R^-1 by the Cholesky factor of X^H X, if that changes Q by rounding errors of its columns alone: R and its
/// bound of ||D R^-1||_2^2 (Trust). Else nothing, and Q is as it was.
template <class Scalar, class Layout, class Space>
std::optional<RealOf<Scalar>> divide_by_factor(const BlockVector<Scalar, Layout, Space>& x,
                                               const BlockVector<Scalar, Layout, Space>& q,
                                               const SmallMatrix<Scalar>& r, Result& result) {
  using Real = RealOf<Scalar>;
  const Context& context = x.context();
  const std::int64_t b = x.width(), reductions = context.reductions();
  const auto limits = pythagorean_limits<Scalar>(0, b, true);
  WorkspaceScope<> scope(context);
  const auto gram = SmallMatrix<Scalar>::scratch(scope, b, b), inverse = SmallMatrix<Scalar>::scratch(scope, b, b);
  const auto squares = SmallMatrix<Real>::scratch(scope, 1, b);
  inner_product(x, x, gram);
  result.reductions = context.reductions() - reductions;
  result.passes = 1;
  dense::diagonal(gram, squares);
  if (!dense::within(squares, limits.low, limits.high)) return {};
  const auto found = dense::cholesky(gram, limits.tolerance, r, &squares, false);
  if (!found.finite || found.rank < b) return {};
  dense::triangular_inverse(r, inverse);
  const Real a = dense::amplification(squares, inverse);
  if (!(a <= limits.direct && limits.noise * a <= 1)) return {};
  WorkspaceScope<Space> there(context);
  const auto c = SmallMatrix<Scalar, Space>::scratch(there, b, b);
  detail::assign(inverse, c);
  update(Scalar(1), x, c, Scalar(0), q);
  result.rank = b;
  result.condition_estimate = static_cast<double>(found.condition_estimate);
  result.sweeps = 1;
  result.passes += 2;
  return a;
}

}  // namespace

template <class Scalar, class Layout, class Space>
Result Orthogonalizer::normalize_into(const BlockVector<Scalar, Layout, Space>& x,
                                      const BlockVector<Scalar, Layout, Space>& q,
                                      const std::type_identity_t<SmallMatrix<Scalar, Space>>* r) {
  return context_.collective([&]() -> Result {
    using Real = RealOf<Scalar>;
    require_operands("normalize_into", context_, {}, q);
    if (!x.context().same(context_) || !(x.rows() == q.rows()) || x.width() != q.width() || x.shares_columns(q)) {
      throw ShapeError("orth::normalize_into: X = " + x.describe() + " and Q = " + q.describe() +
                       ": expected the same shape, context and distribution of rows, and Q apart from X");
    }
    require_coefficients("normalize_into", "R", r, x.width(), x.width());
    const std::int64_t b = x.width();
    if (b == 0) return {};
    const bool is_cholesky = options_.within == Within::cholqr || options_.within == Within::cholqr2;
    Result first;
    if (is_cholesky && options_.escalate && options_.adaptive) {
      WorkspaceScope<> scope(context_);
      WorkspaceScope<Space> there(context_);
      const auto factor = SmallMatrix<Scalar>::scratch(scope, b, b);
      if (const auto a = divide_by_factor(x, q, factor, first)) {
        first.method = {options_.between, options_.within, false, true};
        if (*a <= Trust<Real>::inner_limit) {
          if (r != nullptr) detail::assign(factor, *r);
          record(context_, "normalize", first.method, first, b);
          return first;
        }
        const auto rest = SmallMatrix<Scalar, Space>::scratch(there, b, b);
        Result second = normalize(q, &rest);
        if (r != nullptr) {
          const auto left = SmallMatrix<Scalar>::scratch(scope, b, b),
                     product = SmallMatrix<Scalar>::scratch(scope, b, b);
          detail::assign(rest, left);
          dense::multiply(Scalar(1), left, false, factor, false, Scalar(0), product);
          detail::assign(product, *r);
        }
        second.condition_estimate = std::max(second.condition_estimate, first.condition_estimate);
        second.sweeps += first.sweeps;
        second.reductions += first.reductions;
        second.passes += first.passes;
        return second;
      }
    }
    copy(x, q);
    Result result = normalize(q, r);
    result.reductions += first.reductions;
    result.passes += first.passes + 2;
    return result;
  });
}

namespace {

template <class Scalar, class Layout, class Space>
void require_call(const Context& context, const Basis<Scalar, Layout, Space>& v,
                  const BlockVector<Scalar, Layout, Space>& w, const SmallMatrix<Scalar, Space>* s,
                  const SmallMatrix<Scalar, Space>* r, const Metric<Scalar, Layout, Space>* metric) {
  constexpr const char* verb = "project_and_normalize";
  require_operands(verb, context, v, w);
  require_metric(verb, v, w, metric);
  require_coefficients(verb, "S", s, v.width(), w.width());
  require_coefficients(verb, "R", r, w.width(), w.width());
}

/// The second half of a call: from what has been queued, if anything, to the result.
template <class Scalar, class Layout, class Space>
Result complete(Call<Scalar, Layout, Space>& call, const Queued<Scalar, Layout, Space>& queued,
                const SmallMatrix<Scalar, Space>* s, const SmallMatrix<Scalar, Space>* r) {
  const auto& block = call.block;
  Result result = orthonormalize(call, queued, s, r);
  record(block.context, block.m > 0 ? "project_and_normalize" : "normalize",
         {block.options.between, block.options.within, block.m > 0, true}, result, block.b);
  require_full_rank(block.options, block.w, block.v, result);
  return result;
}

}  // namespace

template <class Scalar, class Layout, class Space>
Result Orthogonalizer::project_and_normalize(const std::type_identity_t<Basis<Scalar, Layout, Space>>& v,
                                             const BlockVector<Scalar, Layout, Space>& w,
                                             const std::type_identity_t<SmallMatrix<Scalar, Space>>* s,
                                             const std::type_identity_t<SmallMatrix<Scalar, Space>>* r,
                                             const std::type_identity_t<Metric<Scalar, Layout, Space>>* metric) {
  return context_.collective([&]() -> Result {
    require_call(context_, v, w, s, r, metric);
    if (w.width() == 0) return {};
    const auto queued = queue_sweeps(Block<Scalar, Layout, Space>(context_, options_, v, w, metric));
    Call<Scalar, Layout, Space> call(context_, options_, draws_, v, w, metric);  // a device works meanwhile
    return complete(call, queued, s, r);
  });
}

/// What get() needs: the operands and what has been queued, or else the result.
template <class Scalar, class Layout, class Space>
struct Submitted<Scalar, Layout, Space>::State {
  Orthogonalizer* orthogonalizer;
  Basis<Scalar, Layout, Space> v;
  BlockVector<Scalar, Layout, Space> w;
  std::optional<SmallMatrix<Scalar, Space>> s, r;
  Queued<Scalar, Layout, Space> queued;
  Result result;
  bool is_there = true;         // the result
  bool left_to_device = false;  // known after get()
};

template <class Scalar, class Layout, class Space>
Submitted<Scalar, Layout, Space> Orthogonalizer::submit(
    const std::type_identity_t<Basis<Scalar, Layout, Space>>& v, const BlockVector<Scalar, Layout, Space>& w,
    const std::type_identity_t<SmallMatrix<Scalar, Space>>* s,
    const std::type_identity_t<SmallMatrix<Scalar, Space>>* r,
    const std::type_identity_t<Metric<Scalar, Layout, Space>>* metric) {
  using Handle = Submitted<Scalar, Layout, Space>;
  return context_.collective([&]() -> Handle {
    require_call(context_, v, w, s, r, metric);
    const auto kept = [](const auto* small) { return small != nullptr ? std::optional(*small) : std::nullopt; };
    auto queued = w.width() > 0 ? queue_sweeps(Block<Scalar, Layout, Space>(context_, options_, v, w, metric),
                                               Verdicts::at_the_end)
                                : Queued<Scalar, Layout, Space>();
    using State = typename Handle::State;
    std::unique_ptr<State> state(new State{this, v, w, kept(s), kept(r), std::move(queued), {}});
    if (!state->queued) state->result = project_and_normalize<Scalar, Layout, Space>(v, w, s, r, metric);
    return Handle(std::move(state));
  });
}

template <class Scalar, class Layout, class Space>
Submitted<Scalar, Layout, Space>::Submitted(std::unique_ptr<State> state) : state_(std::move(state)) {}
template <class Scalar, class Layout, class Space>
Submitted<Scalar, Layout, Space>::Submitted(Submitted&&) noexcept = default;
template <class Scalar, class Layout, class Space>
Submitted<Scalar, Layout, Space>& Submitted<Scalar, Layout, Space>::operator=(Submitted&&) noexcept = default;
template <class Scalar, class Layout, class Space>
Submitted<Scalar, Layout, Space>::~Submitted() = default;

template <class Scalar, class Layout, class Space>
Result Submitted<Scalar, Layout, Space>::get() {
  if (state_ == nullptr || !state_->is_there) throw Error("orth: get() of a result that is not there any more");
  State& state = *state_;
  if (!state.queued) {
    state.is_there = false;
    state.left_to_device = true;
    return std::move(state.result);
  }
  const Orthogonalizer& given = *state.orthogonalizer;
  return given.context_.collective([&] {
    Call<Scalar, Layout, Space> call(given.context_, given.options_, state.orthogonalizer->draws_, state.v, state.w);
    const auto set = [](const auto& small) { return small ? &*small : nullptr; };
    state.left_to_device = false;
    const auto result = complete(call, state.queued, set(state.s), set(state.r));
    state.left_to_device = call.findings.left_to_device;
    return result;
  });
}

template <class Scalar, class Layout, class Space>
bool Submitted<Scalar, Layout, Space>::left_to_device() const {
  return state_ != nullptr && state_->left_to_device;
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
  template Result Orthogonalizer::normalize_into(const BlockVector<Scalar, Layout, Space>&,                           \
                                                 const BlockVector<Scalar, Layout, Space>&,                           \
                                                 const SmallMatrix<Scalar, Space>*);                                  \
  template Result Orthogonalizer::project_and_normalize(                                                              \
      const Basis<Scalar, Layout, Space>&, const BlockVector<Scalar, Layout, Space>&,                                 \
      const SmallMatrix<Scalar, Space>*, const SmallMatrix<Scalar, Space>*, const Metric<Scalar, Layout, Space>*);    \
  template Submitted<Scalar, Layout, Space> Orthogonalizer::submit(                                                   \
      const Basis<Scalar, Layout, Space>&, const BlockVector<Scalar, Layout, Space>&,                                 \
      const SmallMatrix<Scalar, Space>*, const SmallMatrix<Scalar, Space>*, const Metric<Scalar, Layout, Space>*);    \
  template class Submitted<Scalar, Layout, Space>;                                                                    \
  template RealOf<Scalar> orthogonality_loss(const BlockVector<Scalar, Layout, Space>&);
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_ORTH)

}  // namespace blockvec::orth

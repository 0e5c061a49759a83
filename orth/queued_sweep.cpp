#include "orth/queued_sweep.hpp"

#include <blockvec/conditional_sweep.hpp>
#include <blockvec/operations.hpp>
#include <cstring>
#include <string>

#include "blockvec/instantiate.hpp"

namespace blockvec::orth {

template <class Scalar, class Layout, class Space>
QueuedSweep<Scalar> queued_sweep(WorkspaceScope<>& scope, const BlockVector<Scalar, Layout, Space>& all, std::int64_t m,
                                 const PythagoreanLimits<RealOf<Scalar>>& limits) {
  using Small = SmallMatrix<Scalar>;
  using Factor = PythagoreanFactor<Scalar, Space>;
  const Context& context = all.context();
  const std::int64_t b = all.width() - m;
  if (m < 0 || b < 1 || b > most_pythagorean_columns) {
    throw ShapeError("queued_sweep: V = " + all.describe() + " and a basis of " + std::to_string(m) +
                     " columns, expected 1 to " + std::to_string(most_pythagorean_columns) + " columns behind it");
  }
  const std::size_t bytes = Factor::bytes(m, b);
  // Taken first: on the host all three scopes share one stack.
  auto* const here = context.collective([&] { return scope.take<std::byte>(bytes); });
  {
    WorkspaceScope<Space> there(context);
    WorkspaceScope<StagingSpaceOf<Space>> staging(context);
    std::byte* staged = nullptr;
    const auto factor = context.collective([&] {
      staged = staging.template take<std::byte>(bytes);
      const auto made = Factor::scratch(there, m, b);
      inner_product(all, all.columns(m, m + b), made.p);
      return made;
    });
    factorize_pythagorean(factor, limits, staged);
    conditional_sweep(all, factor.c, &factor.status->certified);
    context.template fence<Space>();
    std::memcpy(here, staged, bytes);
  }
  auto* const numbers = reinterpret_cast<Scalar*>(here);
  const auto matrix = [&](std::int64_t first, std::int64_t rows) {
    return Small(context,
                 typename Small::View(numbers + first, static_cast<std::size_t>(rows), static_cast<std::size_t>(b)));
  };
  const Small p = matrix(0, m + b);
  return {*reinterpret_cast<const typename Factor::Status*>(here + Factor::status_at(m, b)), p.block(0, m, 0, b),
          p.block(m, m + b, 0, b), matrix((m + b) * b, b)};
}

#define BLOCKVEC_QUEUED_SWEEP(Scalar, Layout, Space)                                                      \
  template QueuedSweep<Scalar> queued_sweep(WorkspaceScope<>&, const BlockVector<Scalar, Layout, Space>&, \
                                            std::int64_t, const PythagoreanLimits<RealOf<Scalar>>&);
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_QUEUED_SWEEP)

}  // namespace blockvec::orth

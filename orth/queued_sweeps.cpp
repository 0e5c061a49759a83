#include "orth/queued_sweep.hpp"

#include <blockvec/conditional_sweep.hpp>
#include <blockvec/operations.hpp>
#include <string>

#include "blockvec/instantiate.hpp"

namespace blockvec::orth {

template <class Scalar, class Layout, class Space>
QueuedSweep<Scalar, Layout, Space>::QueuedSweep(const BlockVector<Scalar, Layout, Space>& all, std::int64_t m,
                                                const PythagoreanLimits<RealOf<Scalar>>& limits)
    : context_(all.context()), m_(m), b_(all.width() - m), staging_(context_), there_(context_) {
  if (m < 0 || b_ < 1 || b_ > most_pythagorean_columns) {
    throw ShapeError("queued sweep: V = " + all.describe() + " and a basis of " + std::to_string(m) +
                     " columns, expected 1 to " + std::to_string(most_pythagorean_columns) + " columns behind it");
  }
  const auto factor = context_.collective([&] {
    here_ = staging_.template take<std::byte>(Factor::bytes(m_, b_));
    const auto made = Factor::scratch(there_, m_, b_);
    inner_product(all, all.columns(m_, m_ + b_), made.p);
    return made;
  });
  factorize_pythagorean(factor, limits, here_);
  conditional_sweep(all, factor.c, &factor.status->certified);
}

template <class Scalar, class Layout, class Space>
SweepResults<Scalar> QueuedSweep<Scalar, Layout, Space>::results() const {
  using Small = SmallMatrix<Scalar>;
  context_.template fence<Space>();
  auto* const numbers = reinterpret_cast<Scalar*>(here_);
  const auto matrix = [&](std::int64_t first, std::int64_t rows) {
    return Small(context_,
                 typename Small::View(numbers + first, static_cast<std::size_t>(rows), static_cast<std::size_t>(b_)));
  };
  const Small p = matrix(0, m_ + b_);
  return {*reinterpret_cast<const typename Factor::Status*>(here_ + Factor::status_at(m_, b_)), p.block(0, m_, 0, b_),
          p.block(m_, m_ + b_, 0, b_), matrix((m_ + b_) * b_, b_)};
}

#define BLOCKVEC_QUEUED_SWEEP(Scalar, Layout, Space) template class QueuedSweep<Scalar, Layout, Space>;
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_QUEUED_SWEEP)

}  // namespace blockvec::orth

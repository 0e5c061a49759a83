#include "orth/queued_columns.hpp"

#include <blockvec/conditional_sweep.hpp>
#include <blockvec/operations.hpp>
#include <blockvec/transfer.hpp>
#include <cmath>

#include "blockvec/instantiate.hpp"
#include "orth/dense/host_dense.hpp"
#include "orth/team.hpp"

namespace blockvec::orth {
namespace {

// From the products of a column to the coefficients of its change. All threads come to the same verdict: each adds up
// all squares, in one order.
template <class Scalar>
struct ColumnStep {
  using Real = RealOf<Scalar>;

  const Scalar* p;  // products with the columns before it and with itself
  Scalar* c;        // the column becomes [W_before w_j] c
  Scalar* r;        // the column of R
  Real* before;
  ColumnStatus* status;
  ColumnLimits<Real> limits;
  Real known_square;
  int j, pass;
  bool is_known, is_first;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team, std::byte*) const {
    const int thread = team.team_rank(), threads = team.team_size();
    const bool went_on = is_first || status->goes_on != 0;
    const Real square = is_known ? known_square : real_part(p[j]);
    Real part = 0;
    for (int i = 0; i < j; ++i) part += dense::square(p[i]);
    const Real left = square - part;
    const Real whole = square > limits.least_whole ? square : limits.least_whole;
    const bool is_long = std::sqrt(square) > limits.least_length;
    const bool is_finite = left - left == 0;  // a metric may bring in NaN or Inf, which is for the host to tell
    const bool fits =
        is_long && is_finite && (!limits.is_last || (left >= whole / 2 && std::sqrt(left) > limits.least_length));
    team.team_barrier();  // the status has been read
    if (thread == 0 && went_on) {
      *status = {fits ? 1U : 0U, j, pass};
      if (pass == 1) *before = square;
    }
    if (!went_on || !fits) return;
    const Real length = limits.is_last ? std::sqrt(left) : Real(1);
    for (int i = thread; i < j; i += threads) {
      r[i] = pass == 1 ? p[i] : r[i] + p[i];
      c[i] = -p[i] / length;
    }
    if (thread != 0) return;
    r[j] = Scalar(length);
    c[j] = Scalar(1 / length);
  }
};

}  // namespace

template <class Scalar, class Layout, class Space>
QueuedColumns<Scalar, Layout, Space>::QueuedColumns(const Tall& w)
    : w_(w),
      b_(w.width()),
      staging_(w.context()),
      there_(w.context()),
      memory_(there_.template take<std::byte>(bytes(b_))),
      here_(is_host_space<Space> ? memory_ : staging_.template take<std::byte>(bytes(b_))),
      p_(SmallMatrix<Scalar, Space>::scratch(there_, b_, 1)),
      c_(SmallMatrix<Scalar, Space>::scratch(there_, b_, 1)) {}

template <class Scalar, class Layout, class Space>
void QueuedColumns<Scalar, Layout, Space>::project(std::int64_t j, int pass, const Tall& image,
                                                   const ColumnLimits<Real>& limits, const Real* square) {
  const auto with_before = w_.columns(0, j + 1);
  if (square == nullptr) inner_product(with_before, image, p_.block(0, j + 1, 0, 1));
  auto* const status = reinterpret_cast<ColumnStatus*>(memory_ + status_at(b_));
  run_in_team<Space>(w_.context(), 0,
                     ColumnStep<Scalar>{p_.data(), c_.data(), reinterpret_cast<Scalar*>(memory_) + j * b_,
                                        reinterpret_cast<Real*>(memory_ + before_at(b_)) + j, status, limits,
                                        square != nullptr ? *square : Real(0), static_cast<int>(j), pass,
                                        square != nullptr, is_first_});
  is_first_ = false;
  conditional_sweep(with_before, c_.block(0, j + 1, 0, 1), &status->goes_on);
}

template <class Scalar, class Layout, class Space>
ColumnResults<Scalar> QueuedColumns<Scalar, Layout, Space>::results() const {
  const Context& context = w_.context();
  if constexpr (!is_host_space<Space>) {
    detail::copy_lines<Space>(context, memory_, bytes(b_), here_, bytes(b_), bytes(b_), 1);
    context.template fence<Space>();
  }
  const auto b = static_cast<std::size_t>(b_);
  using Small = SmallMatrix<Scalar>;
  using RealSmall = SmallMatrix<Real>;
  return {*reinterpret_cast<const ColumnStatus*>(here_ + status_at(b_)),
          Small(context, typename Small::View(reinterpret_cast<Scalar*>(here_), b, b)),
          RealSmall(context, typename RealSmall::View(reinterpret_cast<Real*>(here_ + before_at(b_)), 1, b))};
}

#define BLOCKVEC_QUEUED_COLUMNS(Scalar, Layout, Space) template class QueuedColumns<Scalar, Layout, Space>;
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_QUEUED_COLUMNS)

}  // namespace blockvec::orth

#include "orth/queued_sweeps.hpp"

#include <blockvec/conditional_sweep.hpp>
#include <blockvec/operations.hpp>
#include <optional>
#include <string>
#include <utility>

#include "blockvec/instantiate.hpp"

namespace blockvec::orth {
namespace {

// A word that the host polls has a line of its own.
constexpr std::size_t line = 128;

}  // namespace

template <class Scalar, class Layout, class Space>
QueuedSweeps<Scalar, Layout, Space>::QueuedSweeps(const BlockVector<Scalar, Layout, Space>& all, std::int64_t m,
                                                  const PythagoreanLimits<RealOf<Scalar>>& limits, Another another,
                                                  Verdicts verdicts)
    : QueuedSweeps(all.context(), m, all.width() - m) {  // so the destructor waits for what an error leaves behind
  if (m < 0 || b_ < 1 || b_ > most_pythagorean_columns) {
    throw ShapeError("queued sweeps: V = " + all.describe() + " and a basis of " + std::to_string(m) +
                     " columns, expected 1 to " + std::to_string(most_pythagorean_columns) + " columns behind it");
  }
  context_.collective([&] {
    const std::size_t bytes = Factor::whole_bytes(m_, b_);
    const int most = another == Another::none ? 1 : 2;
    here_ = KeptMemory<Staging>(context_, line + static_cast<std::size_t>(most) * bytes);
    there_ = KeptMemory<Space>(context_, static_cast<std::size_t>(most) * bytes);
    *word() = 0;
    std::optional<Factor> second;
    const bool profiles = context_.profile().enabled();
    const auto factor_of = [&](int sweep) {
      return Factor::in(there_.data() + static_cast<std::size_t>(sweep) * bytes, context_, m_, b_);
    };
    const bool looks = another == Another::may &&
                       (verdicts == Verdicts::on_the_way || profiles || !context_.template sums_in_order<Space>());
    const auto look = [&] {
      await_word();
      is_open_ = results_of(0).status.continues != 0;
    };
    const auto first = factor_of(0);
    inner_product(all, all.columns(m_, m_ + b_), first.p);
    factorize_pythagorean(first, limits, another, {report_of(0), word(), most == 1 || looks});
    if (looks && profiles) look();
    const bool may_finish = another != Another::must && !(looks && profiles && is_open_);
    if (may_finish) conditional_sweep(all, first.c, &first.status->finishes);
    is_apart_ = conditional_sweep_words(all, b_, true) > conditional_sweep_words(all, b_, false);
    if (most == 2 && is_open_) {
      second = factor_of(1);
      conditional_sweep(all, first.c, &first.status->continues, is_apart_ ? nullptr : &second->p);
    }
    if (looks && !profiles) look();
    if (!second || !is_open_) return;
    queued_ = 2;
    if (is_apart_) {
      const auto w = all.columns(m_, m_ + b_);
      const bool may_project = !looks || results_of(0).status.tidies_next == 0;
      const bool may_tidy = another == Another::may && (!looks || !may_project);
      if (may_project) conditional_inner_product(all, w, second->p, &first.status->projects_next);
      if (may_tidy) {
        conditional_inner_product(w, w, second->p.block(m_, m_ + b_, 0, b_), &first.status->tidies_next);
      }
    }
    InnerProducts<Scalar, Layout, Space>(context_).add_share(second->p).reduce();
    factorize_pythagorean(*second, limits, Another::none, {report_of(1), word()}, first.status);
    conditional_sweep(all, second->c, &second->status->finishes);
    if (m > 0 && another == Another::may) {
      conditional_sweep(all.columns(m, m + b_), second->c.block(m, m + b_, 0, b_), &second->status->tidies);
    }
  });
}

template <class Scalar, class Layout, class Space>
QueuedSweeps<Scalar, Layout, Space>::~QueuedSweeps() {
  if (!here_ || is_heard_) return;
  try {
    context_.template fence<Space>();
  } catch (...) {
    // A device that has failed says so again to whoever asks next.
  }
}

template <class Scalar, class Layout, class Space>
std::byte* QueuedSweeps<Scalar, Layout, Space>::report_of(int sweep) const {
  return here_.data() + line + static_cast<std::size_t>(sweep) * Factor::whole_bytes(m_, b_);
}

template <class Scalar, class Layout, class Space>
void QueuedSweeps<Scalar, Layout, Space>::await_word() const {
  context_.template await<Space>(word());
  *word() = 0;  // nothing that is queued writes it again
}

template <class Scalar, class Layout, class Space>
SweepResults<Scalar> QueuedSweeps<Scalar, Layout, Space>::results_of(int sweep) const {
  const auto factor = PythagoreanFactor<Scalar, Kokkos::HostSpace>::in(report_of(sweep), context_, m_, b_);
  const bool leaves_out = sweep > 0 && is_apart_ && results_of(0).status.tidies_next != 0;
  return {*factor.status, factor.p.block(0, leaves_out ? 0 : m_, 0, b_), factor.p.block(m_, m_ + b_, 0, b_), factor.r};
}

template <class Scalar, class Layout, class Space>
typename QueuedSweeps<Scalar, Layout, Space>::Results QueuedSweeps<Scalar, Layout, Space>::results() const {
  if (!is_open_ && is_heard_) throw Error("queued sweeps: their results have been asked for before");
  if (is_open_) await_word();
  const bool is_counted = !std::exchange(is_heard_, true);  // a graph's launches are not
  Results results{{results_of(0), {}}, 1};
  if (queued_ == 1) return results;
  if (results.sweeps[0].status.continues == 0) {
    if (is_counted) context_.discount_reduction();
    return results;
  }
  results.sweeps[1] = results_of(1);
  results.formed = 2;
  return results;
}

#define BLOCKVEC_QUEUED_SWEEPS(Scalar, Layout, Space) template class QueuedSweeps<Scalar, Layout, Space>;
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_QUEUED_SWEEPS)

}  // namespace blockvec::orth

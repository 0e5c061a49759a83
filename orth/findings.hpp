#pragma once

#include <algorithm>
#include <blockvec/orth/orthogonalizer.hpp>
#include <cstdint>
#include <limits>

namespace blockvec::orth {

/// What a call has met, and what it cost.
struct Findings {
  Findings(WorkspaceScope<>& scope, std::int64_t columns_)
      : columns(columns_),
        lost(scope.take<bool>(static_cast<std::size_t>(columns_))),
        reductions_before(scope.context().reductions()) {
    std::fill_n(lost, columns, false);
  }

  void note(Reason reason) {
    if (result.reason <= Reason::badly_scaled) result.reason = reason;
  }
  template <class Real>
  void note_condition(Real estimate) {
    result.condition_estimate = std::max(result.condition_estimate, static_cast<double>(estimate));
  }
  /// A factorisation told so many columns apart.
  void note_rank(std::int64_t rank) { visible_rank = std::min(visible_rank, rank); }
  void note_lost(std::int64_t column) {
    lost[column] = true;
    note(Reason::rank_deficient);
  }
  void begin(const Method& method, const Options& options) {
    result.method = method;
    const bool other = (method.has_between && method.between != options.between) ||
                       (method.has_within && method.within != options.within);
    if (other) note(Reason::not_here);
  }
  std::int64_t lost_columns() const { return std::count(lost, lost + columns, true); }
  bool has_lost() const { return lost_columns() > 0; }
  /// Costs, at the end.
  void finish(const Context& context) {
    result.reductions = context.reductions() - reductions_before;
    result.passes = static_cast<double>(words) / static_cast<double>(columns);
  }

  Result result;
  std::int64_t columns;
  bool* lost;  ///< columns found dependent; they are zero in W
  std::int64_t visible_rank = std::numeric_limits<std::int64_t>::max();  ///< columns that factorisations told apart
  std::int64_t words = 0;                                                ///< of tall data moved, a row
  std::int64_t reductions_before;
  bool left_to_device = false;  ///< what has been queued is all that was done to W
  bool broken = false;          ///< a method that is not to escalate did not go through, or not for all columns
};

}  // namespace blockvec::orth

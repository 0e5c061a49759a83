#pragma once

#include <blockvec/communicator.hpp>
#include <cstdint>
#include <vector>

namespace blockvec::solvers {

/// A number for, or from, another rank.
struct NeighbourCount {
  int rank;
  std::int64_t count;
};

/// Hands each number to its rank. `mine` names other ranks; what comes back names those that had one for this rank,
/// ascending. Numbers are passed on over powers of two, so a rank has two messages for each doubling of the ranks,
/// however many ranks there are. Collective. Source: Bruck et al. 1997 (IEEE Trans. Parallel Distrib. Syst. 8, 1143).
std::vector<NeighbourCount> exchange_counts(const Communicator& communicator, const std::vector<NeighbourCount>& mine);

}  // namespace blockvec::solvers

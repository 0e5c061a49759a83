#pragma once

#include <algorithm>
#include <cstdint>

namespace blockvec::solvers {

/// Ritz pairs that a restart keeps: those to be found, half of what lies between them and the end of the basis, and
/// room for two more blocks.
template <class Space>
std::int64_t kept_at_restart(const Space& space, std::int64_t to_find, std::int64_t block) {
  const std::int64_t active = space.active();
  if (space.next() == 0) return active;
  const std::int64_t wished = to_find + std::max(block, (active - to_find) / 2);
  return std::max(std::min(wished, active - 2 * space.next()), std::min(to_find, active));
}

}  // namespace blockvec::solvers

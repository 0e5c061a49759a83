#pragma once

#include <cstdint>
#include <limits>

namespace blockvec::solvers {

/// How many steps are left before the one with which a residual may come down to what is asked for, if it is `ratio`
/// times that now and a step takes at most a factor of `most` > 1 from it. 0 for a ratio that is no number.
template <class Real>
std::int64_t steps_before(Real ratio, Real most) {
  if (!(ratio <= std::numeric_limits<Real>::max())) return 0;
  std::int64_t steps = 0;
  for (Real left = ratio / most; left > 1; left /= most) ++steps;
  return steps;
}

}  // namespace blockvec::solvers

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <blockvec/solvers/result.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

namespace blockvec::solvers {

/// The nearest ones to the target, nearest first.
inline std::vector<double> nearest(std::vector<double> values, double target, std::int64_t wanted) {
  std::stable_sort(values.begin(), values.end(),
                   [&](double a, double b) { return std::abs(a - target) < std::abs(b - target); });
  values.resize(static_cast<std::size_t>(wanted));
  return values;
}

/// Converged with these eigenvalues, each an own one, to `limit`, and orthonormal vectors. They come in the order of
/// measure(); where the last level is cut, only what this makes of them is known.
template <class Vector>
void expect_inside(const Result<Vector>& result, std::vector<double> exact, double limit,
                   const std::function<double(double)>& measure) {
  EXPECT_TRUE(result.converged()) << result.why;
  ASSERT_EQ(result.eigenvalues.size(), exact.size());
  EXPECT_EQ(result.vectors.width(), std::ssize(exact));
  for (std::size_t i = 0; i < exact.size(); ++i)
    EXPECT_NEAR(measure(result.eigenvalues[i]), measure(exact[i]), limit) << i;
  // Also where two are as far on either side of the target.
  auto found = result.eigenvalues;
  std::sort(found.begin(), found.end());
  std::sort(exact.begin(), exact.end());
  for (std::size_t i = 0; i < exact.size() && !result.last_level_cut; ++i) EXPECT_NEAR(found[i], exact[i], limit);
  const auto n = static_cast<double>(result.vectors.global_rows());
  EXPECT_LE(result.orthogonality_loss, 64 * (static_cast<double>(exact.size()) + 1) * std::sqrt(n) *
                                           static_cast<double>(epsilon<RealOf<typename Vector::Scalar>>));
}

}  // namespace blockvec::solvers

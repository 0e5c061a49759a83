#pragma once

#include <algorithm>
#include <cmath>

#include "solvers/chebyshev_polynomial.hpp"

namespace blockvec::solvers {

/// How likely a block Krylov space from random columns hides an eigenvalue of its operator. The space has polynomials
/// of all degrees below `steps` in the operator, applied to each of the columns. So the largest Ritz value is at least
/// the Rayleigh quotient of T_(steps - 1), spread over what lies below this value. An eigenvector above it can then
/// have but a small part in every column: this bounds its square, and columns are drawn independently. In the manner of
/// Kuczynski, Wozniakowski 1992 (SIAM J. Matrix Anal. Appl. 13, 1094), from what the run has shown.
struct ChanceOfMore {
  double rows;       ///< dimensions that the columns are drawn from
  int width, steps;  ///< of the block; of Krylov, without a restart
  double least;      ///< no eigenvalue is less

  /// An upper bound on the probability that an eigenvalue is `level` or more, where the largest Ritz value is `top`.
  double above(double level, double top) const {
    const double gap = level - top, range = std::max(top - least, 0.1);
    if (!(gap > 0)) return 1;
    const double growth = chebyshev(steps - 1, 1 + 2 * gap / range);
    constexpr double two_over_pi = 0.6366;  // |g|^2 <= x has at most the probability sqrt(2 x / pi) for a normal g
    const double of_a_column = std::sqrt(two_over_pi * rows * range / gap) / growth;
    double chance = 1;
    for (int column = 0; column < width; ++column) chance *= std::min(of_a_column, 1.0);
    return chance;
  }
};

}  // namespace blockvec::solvers

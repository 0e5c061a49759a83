#include "problems/bethe_ansatz.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace blockvec::examples {

double hulthen_energy_per_site() { return 0.25 - std::numbers::ln2; }

double bethe_energy_per_site(int sites) {
  const auto roots = static_cast<std::size_t>(sites / 2);
  std::vector<double> x(roots, 0.0);
  std::vector<double> next(roots);
  constexpr int most_iterations = 10000;
  for (int iteration = 0; iteration < most_iterations; ++iteration) {
    double change = 0;
    for (std::size_t j = 0; j < roots; ++j) {
      double phase = std::numbers::pi * (static_cast<double>(j) - 0.5 * static_cast<double>(roots - 1));
      for (std::size_t k = 0; k < roots; ++k) phase += std::atan(x[j] - x[k]);
      next[j] = 0.5 * std::tan(phase / sites);
      change = std::fmax(change, std::abs(next[j] - x[j]) / (1 + std::abs(next[j])));
    }
    x.swap(next);
    if (change < 4 * std::numeric_limits<double>::epsilon()) break;
  }
  double energy = 0.25 * sites;
  for (const double root : x) energy -= 2 / (4 * root * root + 1);
  return energy / sites;
}

}  // namespace blockvec::examples

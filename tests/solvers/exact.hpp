#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "tests/solvers/dense.hpp"

/// Spectra that are known in closed form, ascending, multiplicities included.
namespace blockvec::solvers {

inline std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

/// All sums of one value of each list.
inline std::vector<double> sums(const std::vector<std::vector<double>>& lists) {
  std::vector<double> result{0};
  for (const auto& list : lists) {
    std::vector<double> next;
    for (const double value : list) {
      for (const double sum : result) next.push_back(sum + value);
    }
    result = next;
  }
  return sorted(result);
}

inline std::vector<double> exact_laplacian(const std::vector<std::int64_t>& grid) {
  std::vector<std::vector<double>> lists;
  for (const std::int64_t n : grid) {
    auto& list = lists.emplace_back();
    for (std::int64_t k = 1; k <= n; ++k)
      list.push_back(2 - 2 * std::cos(std::numbers::pi * static_cast<double>(k) / static_cast<double>(n + 1)));
  }
  return sums(lists);
}

/// The clean Anderson model.
inline std::vector<double> exact_lattice(const std::vector<std::int64_t>& grid) {
  std::vector<std::vector<double>> lists;
  for (const std::int64_t n : grid) {
    auto& list = lists.emplace_back();
    for (std::int64_t k = 0; k < n; ++k)
      list.push_back(-2 * std::cos(2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n)));
  }
  return sums(lists);
}

inline std::vector<double> exact_graphene(std::int64_t nx, std::int64_t ny) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < nx; ++i) {
    for (std::int64_t j = 0; j < ny; ++j) {
      const double a = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(nx);
      const double b = 2 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(ny);
      const double value = std::hypot(1 + std::cos(a) + std::cos(b), std::sin(a) + std::sin(b));
      result.push_back(value);
      result.push_back(-value);
    }
  }
  return sorted(result);
}

/// Graphene with p/q flux quanta a hexagon, nx a multiple of q: plane waves over cells of q hexagons leave q x q
/// matrices M that lead from one sublattice to the other, whose singular values come with both signs.
inline std::vector<double> exact_graphene(std::int64_t nx, std::int64_t ny, std::int64_t p, std::int64_t q) {
  const auto wave = [](double turns) {
    const double angle = 2 * std::numbers::pi * turns;
    return Complex<double>(std::cos(angle), std::sin(angle));
  };
  std::vector<double> result;
  const auto size = static_cast<std::size_t>(q);
  for (std::int64_t a = 0; a < nx / q; ++a) {
    for (std::int64_t l = 0; l < ny; ++l) {
      HostMatrix<Complex<double>> both("both", 2 * size, 2 * size);  // 0, M^H above M, 0
      const auto add = [&](std::size_t i, std::size_t j, Complex<double> value) {
        both(size + i, j) -= value;
        both(j, size + i) -= Kokkos::conj(value);
      };
      for (std::size_t j = 0; j < size; ++j) {
        const double turns = static_cast<double>(static_cast<std::int64_t>(j) * p) / static_cast<double>(q);
        add(j, j, 1.0 + wave(turns - static_cast<double>(l) / static_cast<double>(ny)));
        add(j, (j + size - 1) % size, j == 0 ? wave(-static_cast<double>(a * q) / static_cast<double>(nx)) : 1.0);
      }
      const auto values = spectrum(both);
      result.insert(result.end(), values.begin(), values.end());
    }
  }
  return sorted(result);
}

/// The XX chain with `up` spins up: free fermions in the levels cos(k) (Lieb, Schultz, Mattis 1961); on a ring, the
/// boundary condition of the fermions turns with their number's parity.
inline std::vector<double> exact_xx(int sites, int up, bool periodic) {
  std::vector<double> levels;
  for (int j = 0; j < sites; ++j) {
    const double shift = up % 2 == 0 ? 0.5 : 0;
    levels.push_back(periodic ? std::cos(2 * std::numbers::pi * (j + shift) / sites)
                              : std::cos(std::numbers::pi * (j + 1) / (sites + 1)));
  }
  std::vector<double> result;
  for (unsigned set = 0; set < 1U << sites; ++set) {
    if (__builtin_popcount(set) != up) continue;
    double energy = 0;
    for (int j = 0; j < sites; ++j) energy += (set >> j & 1U) != 0 ? levels[static_cast<std::size_t>(j)] : 0;
    result.push_back(energy);
  }
  return sorted(result);
}

}  // namespace blockvec::solvers

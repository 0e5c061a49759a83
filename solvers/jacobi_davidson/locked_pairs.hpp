#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace blockvec::solvers {

/// The numbers of the `most` values with the lowest ranks, in order.
template <class Real, class Rank>
std::vector<std::int64_t> lowest_first(const std::vector<Real>& values, std::int64_t most, const Rank& rank) {
  std::vector<std::int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return rank(values[static_cast<std::size_t>(a)]) < rank(values[static_cast<std::size_t>(b)]);
  });
  order.resize(std::min(order.size(), static_cast<std::size_t>(most)));
  return order;
}

/// What is known of locked pairs, in the order of their columns: values of sign * A, and residuals as they were locked.
template <class Real>
struct LockedPairs {
  std::vector<Real> values;
  std::vector<double> residuals;

  /// What a checkpoint keeps (state_archive.hpp).
  template <class Archive>
  void state(Archive& archive) {
    archive(values, residuals);
  }

  std::int64_t count() const { return std::ssize(values); }
  void add(Real value, double residual) {
    values.push_back(value);
    residuals.push_back(residual);
  }
  /// Those in these columns.
  LockedPairs chosen(std::span<const std::int64_t> columns) const {
    LockedPairs result;
    for (const std::int64_t j : columns)
      result.add(values[static_cast<std::size_t>(j)], residuals[static_cast<std::size_t>(j)]);
    return result;
  }
};

}  // namespace blockvec::solvers

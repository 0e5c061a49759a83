#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

/// Whether one way of doing something is faster than another, against the noise of repeated runs.
namespace bench {

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Relative spread of the medians of three thirds of some runs: at least three.
inline double noise_of(const std::vector<double>& seconds) {
  std::vector<double> medians;
  const auto third = static_cast<std::ptrdiff_t>(seconds.size() / 3);
  for (std::ptrdiff_t i = 0; i < 3; ++i)
    medians.push_back(median({seconds.begin() + i * third, seconds.begin() + (i + 1) * third}));
  const auto [least, most] = std::minmax_element(medians.begin(), medians.end());
  return *most / *least - 1;
}

enum class Verdict { faster, same, slower };

inline const char* name_of(Verdict verdict) {
  return verdict == Verdict::faster ? "faster" : verdict == Verdict::slower ? "slower" : "same";
}

struct Comparison {
  Verdict verdict;
  double noise;  ///< of the noisier one
};

/// What `seconds` are beside `reference`, both of runs that took turns: same if their medians differ by no more than
/// the noise.
inline Comparison compare(const std::vector<double>& seconds, const std::vector<double>& reference) {
  const double noise = std::max(noise_of(seconds), noise_of(reference));
  const double ratio = median(reference) / median(seconds);
  return {ratio > 1 + noise ? Verdict::faster : 1 / ratio > 1 + noise ? Verdict::slower : Verdict::same, noise};
}

/// What is to be said of one entry beside another.
struct Finding {
  std::size_t entry, reference;
  Comparison comparison;
};

/// The rows that tuning writes. `seconds` are runs, taking turns, of what calls choose today, of what the model chooses
/// where that is a row of the table (`by_row`), and of others. A row that is slower than the model's choice is said to
/// be so, and gives its place to that one; then the best of all, if it is faster than what calls choose, or else that
/// it is the same.
inline std::vector<Finding> findings(const std::vector<std::vector<double>>& seconds, bool by_row) {
  std::vector<Finding> found;
  std::size_t chosen = 0;
  if (by_row) {
    const Comparison row = compare(seconds[0], seconds[1]);
    if (row.verdict == Verdict::slower) {
      found.push_back({0, 1, row});
      chosen = 1;
    }
  }
  std::size_t best = chosen;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (median(seconds[i]) < median(seconds[best])) best = i;
  }
  const Comparison gain = compare(seconds[best], seconds[chosen]);
  if (gain.verdict == Verdict::faster) {
    found.push_back({best, chosen, gain});
  } else if (found.empty()) {
    found.push_back({chosen, chosen, {Verdict::same, gain.noise}});
  }
  return found;
}

}  // namespace bench

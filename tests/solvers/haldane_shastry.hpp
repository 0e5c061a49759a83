#pragma once

#include <algorithm>
#include <blockvec/solvers/row_source.hpp>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace blockvec::solvers {

/// A ring of spins 1/2 that are all coupled, by J_ij = (pi / N)^2 / sin^2(pi (i - j) / N): half of its matrix in the
/// basis of all 2^N states is not zero where N is small. Haldane 1988 (Phys. Rev. Lett. 60, 635), Shastry 1988
/// (Phys. Rev. Lett. 60, 639).
class HaldaneShastry {
 public:
  explicit HaldaneShastry(int spins) : spins_(spins) {}
  std::int64_t size() const { return std::int64_t{1} << spins_; }

  RowFunction<double> matrix() const {
    return RowFunction<double>(size(), [ring = *this](std::int64_t row, RowEntries<double>& entries) {
      double diagonal = 0;
      for (int i = 0; i < ring.spins_; ++i) {
        for (int j = 0; j < i; ++j) {
          const bool is_parallel = (row >> i & 1) == (row >> j & 1);
          const double coupling = ring.unit() / std::pow(std::sin(std::numbers::pi * (i - j) / ring.spins_), 2);
          diagonal += (is_parallel ? 0.25 : -0.25) * coupling;
          if (!is_parallel) entries.add(row ^ (std::int64_t{1} << i | std::int64_t{1} << j), coupling / 2);
        }
      }
      entries.add(row, diagonal);
    });
  }

  /// All eigenvalues, ascending. One level for each set of numbers m of 1..N-1 without neighbours; of the numbers
  /// 0..N, each run of those that are not in the set makes the level as many times as large as it is long.
  std::vector<double> eigenvalues() const {
    std::vector<double> values;
    for (std::int64_t set = 0; set < size(); set += 2) {  // bit m: m belongs to the set
      if ((set & set << 1) != 0) continue;
      double sum = spins_ * (static_cast<double>(spins_) * spins_ - 1) / 24;
      std::int64_t copies = 1, run = 0;
      for (int m = 0; m <= spins_; ++m) {
        const bool is_member = (set >> m & 1) != 0;
        if (is_member) sum += m * static_cast<double>(m - spins_);
        run = is_member ? 0 : run + 1;
        const bool ends = m == spins_ || (set >> (m + 1) & 1) != 0;
        if (run > 0 && ends) copies *= run;
      }
      values.insert(values.end(), static_cast<std::size_t>(copies), unit() * sum);
    }
    std::sort(values.begin(), values.end());
    return values;
  }

 private:
  double unit() const { return std::pow(std::numbers::pi / spins_, 2); }

  int spins_;
};

}  // namespace blockvec::solvers

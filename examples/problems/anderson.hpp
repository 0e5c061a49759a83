#pragma once

#include <array>
#include <blockvec/solvers/row_source.hpp>
#include <vector>

namespace blockvec::examples {

/// Anderson's model on a periodic cubic lattice: hopping -1 between neighbours, on each site an energy drawn uniformly
/// from
/// [-disorder/2, disorder/2]. The energy is a function of (seed, site), so that it does not depend on ranks and
/// threads. Site (x, y, z) is row x + nx (y + ny z). Clean eigenvalues: -2 sum over dimensions of cos(2 pi k / n). Both
/// neighbours along a direction count always: for length 2 they are the same site and add up (-2), for length 1 they
/// are the site itself (-2 on the diagonal), which keeps that formula.
class Anderson final : public solvers::RowSource<double> {
 public:
  /// Throws InputError unless there are 3 positive lengths and disorder >= 0 is finite.
  Anderson(const std::vector<std::int64_t>& grid, double disorder, std::uint64_t seed);

  std::int64_t size() const override { return lengths_[0] * lengths_[1] * lengths_[2]; }
  void append_row(std::int64_t row, solvers::RowEntries<double>& entries) const override;
  std::string describe() const override;

  double site_energy(std::int64_t site) const;

 private:
  std::array<std::int64_t, 3> lengths_;
  double disorder_;
  std::uint64_t seed_;
};

}  // namespace blockvec::examples

#include "problems/anderson.hpp"

#include <Random123/philox.h>
#include <fmt/core.h>

#include <blockvec/solvers/input_error.hpp>
#include <cmath>

#include "problems/grid.hpp"

namespace blockvec::examples {

Anderson::Anderson(const std::vector<std::int64_t>& grid, double disorder, std::uint64_t seed)
    : lengths_(grid_lengths("anderson", grid, 3, 3)), disorder_(disorder), seed_(seed) {
  if (!(disorder >= 0) || !std::isfinite(disorder)) {
    throw solvers::InputError(fmt::format("anderson: --disorder {}: must be finite and not negative", disorder));
  }
}

double Anderson::site_energy(std::int64_t site) const {
  const r123::Philox2x64::ctr_type counter = {{static_cast<std::uint64_t>(site), 0}};
  const r123::Philox2x64::key_type key = {{seed_}};
  const std::uint64_t bits = r123::Philox2x64()(counter, key)[0];
  const double uniform = std::ldexp(static_cast<double>(bits >> 11), -53);  // in [0, 1)
  return disorder_ * (uniform - 0.5);
}

void Anderson::append_row(std::int64_t row, solvers::RowEntries<double>& entries) const {
  entries.add(row, site_energy(row));
  std::int64_t stride = 1;
  for (const std::int64_t length : lengths_) {
    const std::int64_t position = row / stride % length;
    const std::int64_t first = row - position * stride;
    entries.add(first + (position + 1) % length * stride, -1);
    entries.add(first + (position + length - 1) % length * stride, -1);
    stride *= length;
  }
}

std::string Anderson::describe() const {
  return fmt::format("Anderson model, {} periodic lattice, disorder {}", grid_text(lengths_, 3), disorder_);
}

}  // namespace blockvec::examples

#include "problems/heisenberg.hpp"

#include <fmt/core.h>

#include <bit>
#include <blockvec/solvers/input_error.hpp>
#include <cmath>

namespace blockvec::examples {

SpinChain::SpinChain(int sites, int up, bool periodic, double delta)
    : sites_(sites), up_(up), periodic_(periodic), delta_(delta) {
  if (sites < 1 || sites > max_sites) {
    throw solvers::InputError(fmt::format("heisenberg: --sites {}: must be between 1 and {}", sites, max_sites));
  }
  if (up < 0 || up > sites)
    throw solvers::InputError(fmt::format("heisenberg: --up {}: must be between 0 and --sites {}", up, sites));
  if (!std::isfinite(delta)) throw solvers::InputError(fmt::format("heisenberg: --delta {}: must be finite", delta));
  for (std::size_t n = 0; n < binomials_.size(); ++n) {
    binomials_[n][0] = 1;
    for (std::size_t k = 1; k <= n; ++k) binomials_[n][k] = binomials_[n - 1][k - 1] + binomials_[n - 1][k];
  }
}

std::int64_t SpinChain::rank(std::uint64_t state) const {
  std::int64_t result = 0;
  for (int k = 1; state != 0; ++k, state &= state - 1) result += binomial(std::countr_zero(state), k);
  return result;
}

std::uint64_t SpinChain::state(std::int64_t rank) const {
  std::uint64_t result = 0;
  int k = up_;
  for (int site = sites_ - 1; k > 0; --site) {
    if (rank >= binomial(site, k)) {
      rank -= binomial(site, k);
      result |= std::uint64_t{1} << site;
      --k;
    }
  }
  return result;
}

void SpinChain::append_row(std::int64_t row, solvers::RowEntries<double>& entries) const {
  const std::uint64_t spins = state(row);
  double diagonal = 0;
  int ups_below = 0;  // set bits below site i
  for (int i = 0; i + 1 < sites_; ++i) {
    const std::uint64_t pair = spins >> i & 3U;
    if (pair == 1 || pair == 2) {
      diagonal -= 0.25 * delta_;
      // The pair's one up spin is number ups_below + 1 and moves by one site, all others stay.
      const std::int64_t distance = binomial(i, ups_below);
      entries.add(pair == 1 ? row + distance : row - distance, 0.5);
    } else {
      diagonal += 0.25 * delta_;
    }
    ups_below += static_cast<int>(pair & 1U);
  }
  if (periodic_ && sites_ > 1) {
    const std::uint64_t ends = std::uint64_t{1} << (sites_ - 1) | 1U;
    const std::uint64_t pair = spins & ends;
    if (pair != 0 && pair != ends) {
      diagonal -= 0.25 * delta_;
      entries.add(rank(spins ^ ends), 0.5);
    } else {
      diagonal += 0.25 * delta_;
    }
  }
  entries.add(row, diagonal);
}

std::int64_t SpinChain::nonzeros() const {
  if (up_ == 0 || up_ == sites_) return size();
  // Both bonds of two spins on a ring have the same entries.
  const int bonds = is_ring() && sites_ > 2 ? sites_ : sites_ - 1;
  return size() + 2 * bonds * binomial(sites_ - 2, up_ - 1);
}

std::string SpinChain::describe() const {
  const std::string model = delta_ == 1 ? "Heisenberg" : delta_ == 0 ? "XX" : fmt::format("XXZ (delta = {})", delta_);
  return fmt::format("{} {} of {} spins, {} up", model, periodic_ ? "ring" : "chain", sites_, up_);
}

}  // namespace blockvec::examples

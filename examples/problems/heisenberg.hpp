#pragma once

#include <array>
#include <blockvec/solvers/row_source.hpp>

namespace blockvec::examples {

/// A chain of spins 1/2 with `up` of them pointing up (a sector of fixed S_z):
///     H = sum over bonds (i, i+1) of  S^x S^x + S^y S^y + delta S^z S^z.
/// delta = 1 is the Heisenberg antiferromagnet with J = 1, delta = 0 the XX chain, which is free fermions (Lieb,
/// Schultz, Mattis 1961). A basis state is an integer with bit i set where spin i is up; states are numbered in
/// increasing order, by sums of binomial coefficients, so a row needs no table of states. Periodic: the last spin is
/// also bound to the first. Two spins on a ring share two bonds, which add up; one spin has none.
class SpinChain final : public solvers::RowSource<double> {
 public:
  /// Throws InputError unless 1 <= sites <= 62, 0 <= up <= sites and delta is finite.
  SpinChain(int sites, int up, bool periodic, double delta);

  int sites() const { return sites_; }
  int up() const { return up_; }
  bool is_ring() const { return periodic_ && sites_ > 1; }
  double delta() const { return delta_; }

  std::int64_t size() const override { return binomial(sites_, up_); }
  void append_row(std::int64_t row, solvers::RowEntries<double>& entries) const override;
  std::string describe() const override;

  /// Entries of the matrix: the diagonal, and one for each state and bond that exchanges its spins.
  std::int64_t nonzeros() const;

  /// The state's number, and the state of a number.
  std::int64_t rank(std::uint64_t state) const;
  std::uint64_t state(std::int64_t rank) const;
  /// The binomial coefficient of n <= max_sites over k <= max_sites + 1.
  std::int64_t binomial(int n, int k) const {
    return binomials_[static_cast<std::size_t>(n)][static_cast<std::size_t>(k)];
  }
  static constexpr int max_sites = 62;

 private:
  int sites_;
  int up_;
  bool periodic_;
  double delta_;
  std::array<std::array<std::int64_t, max_sites + 2>, max_sites + 1> binomials_{};
};

}  // namespace blockvec::examples

#pragma once

#include <Kokkos_Core.hpp>
#include <bit>
#include <cstdint>
#include <string>

#include "problems/heisenberg.hpp"

namespace blockvec::examples {

/// How many bits are set.
KOKKOS_INLINE_FUNCTION int count_ups(std::uint64_t spins) {
#ifdef __CUDA_ARCH__
  return __popcll(spins);
#else
  return std::popcount(spins);
#endif
}

/// The lowest `count` < 64 bits.
KOKKOS_INLINE_FUNCTION std::uint64_t lowest_bits(int count) { return (std::uint64_t{1} << count) - 1; }

/// Bit i is set where bits i and i + 1 of `spins` differ: the bonds that exchange their spins, among `sites` neighbours
/// in a row.
KOKKOS_INLINE_FUNCTION std::uint64_t antiparallel_bonds(std::uint64_t spins, int sites) {
  return sites < 2 ? 0 : (spins ^ spins >> 1) & lowest_bits(sites - 1);
}

/// States of a chain that agree in the spins of the high sites: `rows` rows from `begin` on, in which the states of the
/// low sites ascend.
struct SpinTile {
  std::uint64_t high;   ///< spins of the high sites
  std::int64_t begin;   ///< first row
  std::int64_t across;  ///< first row of the tile in which the last spin is turned and one low spin the other way
  std::int32_t ups;     ///< among the low sites
  std::int32_t rows;
};

/// The tables by which rows of a spin chain's Hamiltonian are written down without a matrix, in memory that SpinTiles
/// owns; what kernels take by value. The first `low_sites` spins are the low sites, the others the high ones. Tables of
/// 2^low_sites short numbers lead from states of low sites to their places in a tile and back (Lin 1990, Phys. Rev. B
/// 42, 6561). All that lies in different tiles follows from binomial coefficients: an exchange at sites i and i + 1
/// with u ups below moves a state by binomial(i, u) rows.
struct SpinTables {
  static constexpr int binomial_columns = 64;

  int low_sites = 0;
  int high_sites = 0;
  int most_rows = 0;  ///< of a tile
  bool is_ring = false;
  double delta = 0;
  std::int64_t tile_count = 0;
  const SpinTile* tiles = nullptr;            ///< on the host in the order of their rows
  const std::int32_t* first_state = nullptr;  ///< in `states`, by their ups
  const std::uint16_t* states = nullptr;      ///< of the low sites: by their ups, then ascending
  const std::uint16_t* places = nullptr;      ///< of the low sites' states: their rows in a tile
  const std::int64_t* binomials = nullptr;    ///< n over k at n * binomial_columns + k

  /// Spins of the low sites in row `index` of a tile.
  KOKKOS_FUNCTION unsigned low_spins(const SpinTile& tile, int index) const {
    return states[first_state[tile.ups] + index];
  }
  /// Rows by which an exchange of the antiparallel spins at bond `bond` of the high sites moves each row of a tile.
  KOKKOS_FUNCTION std::int64_t distance(const SpinTile& tile, int bond) const {
    const std::int64_t rows = binomial(low_sites + bond, tile.ups + count_ups(tile.high & lowest_bits(bond)));
    return (tile.high >> bond & 1U) != 0 ? rows : -rows;
  }
  /// The same for the bond between the last low and the first high site.
  KOKKOS_FUNCTION std::int64_t distance_at_border(const SpinTile& tile) const {
    return (tile.high & 1U) == 0 ? binomial(low_sites - 1, tile.ups - 1) : -binomial(low_sites - 1, tile.ups);
  }

 private:
  KOKKOS_FUNCTION std::int64_t binomial(int n, int k) const { return k < 0 ? 0 : binomials[n * binomial_columns + k]; }
};

/// The tables of a chain in the memory of Space: 32 bytes a tile, 4 bytes a state of the low sites, 32 KiB.
template <class Space>
class SpinTiles {
 public:
  static constexpr int most_low_sites = 16;

  SpinTiles() = default;
  /// 0 <= low_sites <= most_low_sites, low_sites < sites. Throws OutOfMemoryError naming the bytes.
  SpinTiles(const SpinChain& chain, int low_sites);

  /// Valid as long as this object or a copy of it.
  const SpinTables& tables() const { return tables_; }

 private:
  template <class Number>
  using Table = Kokkos::View<Number*, Space>;

  SpinTables tables_;
  Table<SpinTile> tiles_;
  Table<std::int32_t> first_state_;
  Table<std::uint16_t> states_, places_;
  Table<std::int64_t> binomials_;
};

}  // namespace blockvec::examples

#pragma once

#include <Kokkos_Core.hpp>
#include <blockvec/space.hpp>
#include <cstddef>
#include <cstdint>

#include "problems/spin_tiles.hpp"

namespace blockvec::examples {

/// Neighbouring columns of a row, which a thread reads and writes as one.
template <int columns, std::size_t alignment>
struct alignas(alignment) SpinColumns {
  /// Read and written as one; the host's compilers would copy it first.
  static constexpr bool in_one_piece = alignment > alignof(double);

  double of[columns] = {};

  KOKKOS_FORCEINLINE_FUNCTION void store(double* entry) const {
    if constexpr (in_one_piece) {
      *reinterpret_cast<SpinColumns*>(entry) = *this;
    } else {
      for (int j = 0; j < columns; ++j) entry[j] = of[j];
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION void scale(double factor) {
    for (int j = 0; j < columns; ++j) of[j] *= factor;
  }
  KOKKOS_FORCEINLINE_FUNCTION void add(const double* entry) { add_multiple(1, entry); }
  KOKKOS_FORCEINLINE_FUNCTION void add_multiple(double factor, const double* entry) {
    if constexpr (in_one_piece) {
      const SpinColumns other = *reinterpret_cast<const SpinColumns*>(entry);
      for (int j = 0; j < columns; ++j) of[j] += factor * other.of[j];
    } else {
      for (int j = 0; j < columns; ++j) of[j] += factor * entry[j];
    }
  }
};

/// Y = alpha (H - shift) X + beta Y for strips of `width` neighbouring columns whose rows are without gaps in
/// themselves. A team takes a tile: first it finds the tiles whose rows are neighbours, row by row, by exchanges among
/// the high sites. Those rows are streams. Exchanges among the low sites stay in the tile, which a team keeps in
/// scratch memory where `is_staged`. `columns` columns of a row are one thread's.
template <class Space, int width, int columns, bool is_staged>
struct SpinProduct {
  static_assert(width % columns == 0);
  using Part = SpinColumns<columns, is_host_space<Space> ? alignof(double) : columns * sizeof(double)>;
  static constexpr int parts = width / columns;  ///< of a row
  static constexpr std::size_t alignment = 32;

  SpinTables tables;  ///< by pointers: compilers of devices and of the host lay out Views differently
  const double* x;
  double* y;
  std::int64_t x_row, y_row;      ///< from one row to the next
  std::int64_t x_strip, y_strip;  ///< from one strip to the next
  int strips;
  double alpha, shift, beta;

  /// A team takes this much scratch memory for its tile, and that much for links.
  std::size_t tile_bytes() const {
    return is_staged ? static_cast<std::size_t>(tables.most_rows) * width * sizeof(double) + alignment : 0;
  }
  std::size_t link_bytes() const {
    return static_cast<std::size_t>(tables.high_sites) * sizeof(std::int64_t) + alignment;
  }

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto* const links = static_cast<std::int64_t*>(
        team.team_scratch(0).get_shmem_aligned(tables.high_sites * sizeof(std::int64_t), alignment));
    double* own = nullptr;
    if constexpr (is_staged) {
      own = static_cast<double*>(team.team_scratch(0).get_shmem_aligned(
          static_cast<std::size_t>(tables.most_rows) * width * sizeof(double), alignment));
    }
    multiply(team, team.league_rank() / strips, team.league_rank() % strips, links, own);
  }

  /// One tile's rows. `links` has room for a number a high site, `room` for a tile's rows where they are staged.
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void multiply(const Team& team, std::int64_t index, int strip, std::int64_t* links,
                                            double* room) const {
    const SpinTile tile = tables.tiles[index];
    const double* const from = x + strip * x_strip;
    double* const to = y + strip * y_strip;
    const double* own = from + tile.begin * x_row;
    std::int64_t own_row = x_row;
    const int items = tile.rows * parts;
    if constexpr (is_staged) {
      for (int item = team.team_rank(); item < items; item += team.team_size()) {
        Part part{};
        part.add(own + item / parts * x_row + item % parts * columns);
        part.store(room + item * columns);
      }
    }
    const std::uint64_t exchanges = antiparallel_bonds(tile.high, tables.high_sites);
    for (int bond = team.team_rank(); bond < tables.high_sites - 1; bond += team.team_size()) {
      if ((exchanges >> bond & 1U) != 0)
        links[count_ups(exchanges & lowest_bits(bond))] = (tile.begin + tables.distance(tile, bond)) * x_row;
    }
    team.team_barrier();
    if constexpr (is_staged) {
      own = room;
      own_row = width;
    }
    const Tile t{tile, from, own, own_row, links, count_ups(exchanges)};
    for (int item = team.team_rank(); item < items; item += team.team_size())
      multiply_row(t, to, item / parts, item % parts * columns);
  }

 private:
  struct Tile {
    const SpinTile& tile;
    const double* x;
    const double* own;
    std::int64_t own_row;
    const std::int64_t* links;
    int link_count;
  };

  KOKKOS_FORCEINLINE_FUNCTION void multiply_row(const Tile& t, double* to, int index, int column) const {
    const SpinTile& tile = t.tile;
    const int low_sites = tables.low_sites, high_sites = tables.high_sites;
    const unsigned low = tables.low_spins(tile, index);
    const double* const above = t.x + index * x_row + column;
    Part sum{};
    for (int link = 0; link < t.link_count; ++link) sum.add(above + t.links[link]);

    int antiparallel = t.link_count;
    if (low_sites > 0 && ((low >> (low_sites - 1) ^ tile.high) & 1U) != 0) {
      sum.add(above + (tile.begin + tables.distance_at_border(tile)) * x_row);
      ++antiparallel;
    }
    if (tables.is_ring && ((low ^ tile.high >> (high_sites - 1)) & 1U) != 0) {
      sum.add(t.x + (tile.across + tables.places[low ^ 1U]) * x_row + column);
      ++antiparallel;
    }
    const auto exchanges = static_cast<unsigned>(antiparallel_bonds(low, low_sites));
    constexpr int together = 4;
    for (int first = 0; first < low_sites - 1; first += together) {
      for (int bond = first; bond < first + together; ++bond) {
        if ((exchanges >> bond & 1U) != 0) sum.add(t.own + tables.places[low ^ 3U << bond] * t.own_row + column);
      }
    }
    antiparallel += count_ups(exchanges);

    const int bonds = low_sites + high_sites - 1 + (tables.is_ring ? 1 : 0);
    const auto diagonal = static_cast<double>(0.25 * tables.delta * (bonds - 2 * antiparallel)) - shift;
    double* const place = to + (tile.begin + index) * y_row + column;
    sum.scale(0.5 * alpha);
    sum.add_multiple(alpha * diagonal, t.own + index * t.own_row + column);
    if (beta != 0) sum.add_multiple(beta, place);
    sum.store(place);
  }
};

}  // namespace blockvec::examples

#include "problems/spin_tiles.hpp"

#include <algorithm>
#include <blockvec/kernels/error.hpp>
#include <blockvec/space.hpp>
#include <exception>

namespace blockvec::examples {
namespace {

template <class Number>
using HostTable = Kokkos::View<Number*, Kokkos::HostSpace>;

template <class Number, class Space>
Kokkos::View<Number*, Space> allocate(const std::string& label, std::int64_t count) {
  const auto size = static_cast<std::size_t>(count);
  try {
    return Kokkos::View<Number*, Space>(Kokkos::view_alloc(label, Kokkos::WithoutInitializing), size);
  } catch (const std::exception&) {
    throw OutOfMemoryError(label + ": no memory for " + std::to_string(size * sizeof(Number)) + " bytes");
  }
}

/// The table itself, or a copy in device memory that is complete.
template <class Space, class Number>
Kokkos::View<Number*, Space> moved(const HostTable<Number>& table) {
  if constexpr (is_host_space<Space>) {
    return table;
  } else {
    const auto result = allocate<Number, Space>(table.label(), static_cast<std::int64_t>(table.extent(0)));
    Kokkos::deep_copy(result, table);
    return result;
  }
}

/// The tiles of a chain, in the order of their rows.
HostTable<SpinTile> make_tiles(const SpinChain& chain, int low_sites) {
  const int high_sites = chain.sites() - low_sites;
  const int most_ups = std::min(low_sites, chain.up());
  std::int64_t count = 0;
  for (int ups = std::max(0, chain.up() - high_sites); ups <= most_ups; ++ups)
    count += chain.binomial(high_sites, chain.up() - ups);
  const auto tiles = allocate<SpinTile, Kokkos::HostSpace>("spin tiles", count);
  const std::uint64_t last_spin = std::uint64_t{1} << (high_sites - 1);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < tiles.extent(0); ++i) {
    const std::uint64_t state = chain.state(begin);
    SpinTile tile{};
    tile.high = state >> low_sites;
    tile.begin = begin;
    tile.ups = count_ups(state & lowest_bits(low_sites));
    tile.rows = static_cast<std::int32_t>(chain.binomial(low_sites, tile.ups));
    const int ups_across = tile.ups + ((tile.high & last_spin) != 0 ? 1 : -1);
    if (chain.is_ring() && ups_across >= 0 && ups_across <= low_sites)
      tile.across = chain.rank((tile.high ^ last_spin) << low_sites | lowest_bits(ups_across));
    tiles(i) = tile;
    begin += tile.rows;
  }
  return tiles;
}

}  // namespace

template <class Space>
SpinTiles<Space>::SpinTiles(const SpinChain& chain, int low_sites) {
  const HostTable<SpinTile> tiles = make_tiles(chain, low_sites);
  // Exchanges among the high sites lead to tiles with as many ups. A device takes these at about the same time, so that
  // its cache holds them; the host's threads take neighbouring rows.
  if constexpr (!is_host_space<Space>) {
    std::stable_sort(tiles.data(), tiles.data() + tiles.extent(0),
                     [](const SpinTile& a, const SpinTile& b) { return a.ups > b.ups; });
  }
  tables_.low_sites = low_sites;
  tables_.high_sites = chain.sites() - low_sites;
  tables_.is_ring = chain.is_ring();
  tables_.delta = chain.delta();
  tables_.tile_count = static_cast<std::int64_t>(tiles.extent(0));
  for (std::size_t i = 0; i < tiles.extent(0); ++i)
    tables_.most_rows = std::max(tables_.most_rows, static_cast<int>(tiles(i).rows));

  const std::int64_t states = std::int64_t{1} << low_sites;
  const auto first_state = allocate<std::int32_t, Kokkos::HostSpace>("spin states' begin", low_sites + 1);
  std::int64_t first = 0;
  for (int ups = 0; ups <= low_sites; ++ups) {
    first_state(static_cast<std::size_t>(ups)) = static_cast<std::int32_t>(first);
    first += chain.binomial(low_sites, ups);
  }
  const auto state = allocate<std::uint16_t, Kokkos::HostSpace>("spin states", states);
  const auto place = allocate<std::uint16_t, Kokkos::HostSpace>("places of spin states", states);
  for (std::int64_t low = 0; low < states; ++low) {
    const std::int64_t at = chain.rank(static_cast<std::uint64_t>(low));
    const auto begin =
        static_cast<std::int64_t>(first_state(static_cast<std::size_t>(count_ups(static_cast<std::uint64_t>(low)))));
    place(static_cast<std::size_t>(low)) = static_cast<std::uint16_t>(at);
    state(static_cast<std::size_t>(begin + at)) = static_cast<std::uint16_t>(low);
  }

  constexpr int binomial_columns = SpinTables::binomial_columns;
  const auto binomials =
      allocate<std::int64_t, Kokkos::HostSpace>("binomials", std::int64_t{chain.sites()} * binomial_columns);
  for (int n = 0; n < chain.sites(); ++n) {
    for (int k = 0; k < binomial_columns; ++k)
      binomials(static_cast<std::size_t>(n * binomial_columns + k)) = k <= n ? chain.binomial(n, k) : 0;
  }
  tiles_ = moved<Space>(tiles);
  first_state_ = moved<Space>(first_state);
  states_ = moved<Space>(state);
  places_ = moved<Space>(place);
  binomials_ = moved<Space>(binomials);
  tables_.tiles = tiles_.data();
  tables_.first_state = first_state_.data();
  tables_.states = states_.data();
  tables_.places = places_.data();
  tables_.binomials = binomials_.data();
}

template class SpinTiles<Kokkos::HostSpace>;
#if BLOCKVEC_HAVE_CUDA_SPACE
template class SpinTiles<Kokkos::CudaSpace>;
#endif

}  // namespace blockvec::examples

#include "problems/spin_chain_operator.hpp"

#include <gtest/gtest.h>

#include <array>
#include <blockvec/blockvec.hpp>
#include <blockvec/solvers/lanczos.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "problems/bethe_ansatz.hpp"
#include "problems/spin_product.hpp"
#include "problems/spin_tiles.hpp"
#include "tests/solvers/dense.hpp"
#include "tests/support/cases.hpp"

namespace blockvec::examples {
namespace {

using blockvec::testing::Case;

struct Factors {
  double alpha, shift, beta;
};
constexpr Factors factors[] = {{1, 0, 0}, {-0.75, 0.3, 0}, {2, -1.25, -1}, {0.5, 0, 0.4}, {0, 1, 3}};

std::vector<SpinChain> chains() {
  std::vector<SpinChain> result;
  for (const bool is_ring : {false, true}) {
    for (const double delta : {1.0, 0.0, -0.6}) {
      for (const auto& [sites, up] : std::vector<std::array<int, 2>>{
               {1, 0}, {1, 1}, {2, 1}, {2, 2}, {3, 1}, {4, 2}, {5, 0}, {5, 3}, {7, 3}, {8, 4}, {9, 8}, {11, 2}}) {
        result.emplace_back(sites, up, is_ring, delta);
      }
    }
  }
  result.emplace_back(12, 6, true, 1);
  result.emplace_back(13, 6, false, 0.5);
  result.emplace_back(14, 7, true, 2);
  result.emplace_back(24, 3, true, 1);
  result.emplace_back(62, 2, true, 1);
  return result;
}

/// Rounding errors of an entry of a product: its terms in absolute value, times as many roundings as there are.
template <class Entry>
double bound(const SpinChain& chain, const solvers::RowEntries<double>& entries, const Factors& f, std::int64_t row,
             std::int64_t column, const Entry& x, const Entry& y) {
  double sum = std::abs(f.shift * x(row, column));
  for (std::size_t i = 0; i < entries.columns.size(); ++i)
    sum += std::abs(entries.values[i] * x(entries.columns[i], column));
  const double terms = std::abs(f.alpha) * sum + (f.beta == 0 ? 0 : std::abs(f.beta * y(row, column)));
  // The diagonal is itself a sum over the bonds.
  const double bonds = 0.25 * std::abs(chain.delta()) * chain.sites() * std::abs(f.alpha * x(row, column));
  return static_cast<double>(entries.columns.size() + 4) * epsilon<double> * (terms + bonds);
}

/// Compares multiply(factors, X, Y) with the stored matrix.
template <class Vector, class Multiply>
void expect_stored_product(const SpinChain& chain, std::int64_t width, const Multiply& multiply) {
  using Host = BlockVector<double, typename Vector::Layout>;
  const Context context = Context::self(2);
  const auto rows = RowDistribution::uniform(chain.size(), context.communicator());
  solvers::SparseOperator<double> stored(context, rows, chain);
  EXPECT_LE(stored.nonzeros(), chain.nonzeros());
  const Host x(context, rows, width), old(context, rows, width), expected(context, rows, width);
  fill_random(x, 1);
  fill_random(old, 2);
  for (const Factors& f : factors) {
    SCOPED_TRACE(chain.describe() + ", width " + std::to_string(width) + ", alpha " + std::to_string(f.alpha));
    copy(old, expected);
    stored.apply(f.alpha, f.shift, x, f.beta, expected);
    // beta = 0 never reads Y.
    if (f.beta == 0) fill(old, std::numeric_limits<double>::quiet_NaN());
    const auto y = old.template converted_to_space<typename Vector::Space>();
    multiply(f, x.template converted_to_space<typename Vector::Space>(), y);
    const auto result = y.template converted_to_space<Kokkos::HostSpace>();
    solvers::RowEntries<double> entries;
    for (std::int64_t i = 0; i < chain.size(); ++i) {
      entries.clear();
      chain.append_row(i, entries);
      for (std::int64_t j = 0; j < width; ++j) {
        ASSERT_NEAR(result.view()(i, j), expected.view()(i, j), bound(chain, entries, f, i, j, x.view(), old.view()))
            << "row " << i << ", column " << j;
      }
    }
    fill_random(old, 2);
  }
}

template <class C>
class SpinChainOperatorTest : public ::testing::Test {};
template <class Space>
using CasesIn = ::testing::Types<Case<double, RowMajor, Space>, Case<double, ColumnMajor, Space>>;
TYPED_TEST_SUITE(SpinChainOperatorTest, blockvec::testing::InEverySpace<CasesIn>, blockvec::testing::CaseName);

TYPED_TEST(SpinChainOperatorTest, MultipliesAsTheStoredMatrix) {
  using Vector = typename TypeParam::Vector;
  for (const SpinChain& chain : chains()) {
    for (std::int64_t width = 1; width <= 9; ++width) {
      if (chain.size() > 1000 && width > 5) continue;
      expect_stored_product<Vector>(chain, width, [&](const Factors& f, const Vector& x, const Vector& y) {
        SpinChainOperator<typename TypeParam::Space> a(x.context(), x.rows(), chain);
        a.apply(f.alpha, f.shift, x, f.beta, y);
      });
    }
  }
}

TYPED_TEST(SpinChainOperatorTest, MultipliesInTilesOfAnySize) {
  using Vector = typename TypeParam::Vector;
  for (const auto& [sites, up] : std::vector<std::array<int, 2>>{{9, 4}, {10, 7}, {12, 6}}) {
    const SpinChain chain(sites, up, true, 0.5);
    for (int low_sites = 1; low_sites < sites; ++low_sites) {
      expect_stored_product<Vector>(chain, 17, [&](const Factors& f, const Vector& x, const Vector& y) {
        SpinChainOperator<typename TypeParam::Space> a(x.context(), x.rows(), chain, low_sites);
        a.apply(f.alpha, f.shift, x, f.beta, y);
      });
    }
  }
}

/// What teams of a device do, by teams of one thread on the host.
template <int width, int columns, bool is_staged>
void expect_product_of_teams(const SpinChain& chain, int low_sites) {
  using Space = Kokkos::HostSpace;
  using Vector = BlockVector<double, RowMajor, Space>;
  const SpinTiles<Space> tiles(chain, low_sites);
  const SpinTables& tables = tiles.tables();
  expect_stored_product<Vector>(chain, 2 * width, [&](const Factors& f, const Vector& x, const Vector& y) {
    const SpinProduct<Space, width, columns, is_staged> product{tables, x.data(), y.data(), x.ld(),  y.ld(), width,
                                                                width,  2,        f.alpha,  f.shift, f.beta};
    Kokkos::TeamPolicy<ExecutionSpaceOf<Space>> policy(static_cast<int>(2 * tables.tile_count), 1);
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(product.tile_bytes() + product.link_bytes())));
    Kokkos::parallel_for("teams", policy, product);
    Kokkos::fence();
  });
}

TEST(SpinProduct, IsTheSameByTeams) {
  const SpinChain chain(11, 5, true, 0.7);
  for (const int low_sites : {1, 4, 7}) {
    expect_product_of_teams<8, 4, true>(chain, low_sites);
    expect_product_of_teams<4, 2, false>(chain, low_sites);
    expect_product_of_teams<3, 1, true>(chain, low_sites);
  }
}

TEST(SpinChainOperator, HasTheEntriesOfTheStoredMatrix) {
  const Context context = Context::self(1);
  for (int sites = 4; sites <= 8; ++sites) {
    const SpinChain chain(sites, sites / 2, true, 0.75);
    const auto rows = RowDistribution::uniform(chain.size(), context.communicator());
    const BlockVector<double> unit(context, rows, chain.size()), image(context, rows, chain.size());
    for (std::int64_t i = 0; i < chain.size(); ++i) unit.view()(i, i) = 1;
    SpinChainOperator<> a(context, rows, chain);
    a.apply(1, 0, unit, 0, image);
    // All entries are exact: nothing is rounded.
    const auto matrix = solvers::dense(chain);
    std::int64_t nonzeros = chain.size();
    for (std::int64_t i = 0; i < chain.size(); ++i) {
      for (std::int64_t j = 0; j < chain.size(); ++j) {
        EXPECT_EQ(image.view()(i, j), matrix(i, j)) << sites << " sites, " << i << " " << j;
        EXPECT_EQ(image.view()(i, j), image.view()(j, i)) << sites << " sites, " << i << " " << j;
        if (i != j && image.view()(i, j) != 0) ++nonzeros;
      }
    }
    EXPECT_EQ(a.nonzeros(), nonzeros);
  }
}

TEST(SpinChainOperator, HasTheGroundStateOfTheBetheAnsatz) {
  const Context context = Context::self(2);
  const SpinChain chain(16, 8, true, 1);
  const auto rows = RowDistribution::uniform(chain.size(), context.communicator());
  using Vector = BlockVector<double, RowMajor>;
  const solvers::LanczosOptions options{.wanted = 2, .block = 2};
  const auto result = solvers::block_lanczos<Vector>({SpinChainOperator<>(context, rows, chain)}, options);
  ASSERT_TRUE(result.converged());
  EXPECT_NEAR(result.eigenvalues[0], 16 * bethe_energy_per_site(16), options.tolerance * result.norm_estimate);
}

/// Distances between rows of a chain that no test can hold.
TEST(SpinTiles, KnowRowsBeyond32Bits) {
  const SpinChain chain(36, 18, true, 1);
  const SpinTiles<Kokkos::HostSpace> tiles(chain, 16);
  const SpinTables& tables = tiles.tables();
  std::int64_t rows = 0;
  for (std::int64_t i = 0; i < tables.tile_count; ++i) {
    const SpinTile& tile = tables.tiles[i];
    ASSERT_EQ(tile.begin, rows);
    rows += tile.rows;
    if (i % 997 != 0) continue;
    const int place = tile.rows / 2;
    const std::uint64_t state = chain.state(tile.begin + place);
    ASSERT_EQ(state, tile.high << 16 | tables.low_spins(tile, place));
    for (int bond = 0; bond < 19; ++bond) {
      if ((tile.high >> bond & 1U) == (tile.high >> (bond + 1) & 1U)) continue;
      const std::uint64_t exchanged = state ^ std::uint64_t{3} << (16 + bond);
      EXPECT_EQ(tile.begin + place + tables.distance(tile, bond), chain.rank(exchanged));
    }
    if ((state >> 15 & 1U) != (state >> 16 & 1U)) {
      EXPECT_EQ(tile.begin + place + tables.distance_at_border(tile), chain.rank(state ^ std::uint64_t{3} << 15));
    }
    if ((state & 1U) != (state >> 35 & 1U)) {
      const unsigned low = tables.low_spins(tile, place) ^ 1U;
      EXPECT_EQ(tile.across + tables.places[low], chain.rank(state ^ (std::uint64_t{1} << 35 | 1U)));
    }
  }
  EXPECT_EQ(rows, chain.size());
}

TEST(SpinChainOperator, RefusesOtherShapes) {
  const Context context = Context::self(1);
  const SpinChain chain(6, 3, true, 1);
  const auto rows = RowDistribution::uniform(20, context.communicator());
  const auto others = RowDistribution::uniform(21, context.communicator());
  EXPECT_THROW(SpinChainOperator<>(context, others, chain), ShapeError);
  const SpinChainOperator<> a(context, rows, chain);
  const BlockVector<double> x(context, rows, 2), wide(context, rows, 3), long_one(context, others, 2);
  EXPECT_THROW(a.apply(1, 0, x, 0, wide), ShapeError);
  EXPECT_THROW(a.apply(1, 0, long_one, 0, x), ShapeError);
}

}  // namespace
}  // namespace blockvec::examples

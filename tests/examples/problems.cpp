#include <fmt/core.h>
#include <gtest/gtest.h>

#include <bit>
#include <blockvec/solvers/input_error.hpp>
#include <limits>

#include "problems/anderson.hpp"
#include "problems/bethe_ansatz.hpp"
#include "problems/graphene.hpp"
#include "problems/heisenberg.hpp"
#include "problems/laplacian.hpp"
#include "tests/solvers/dense.hpp"
#include "tests/solvers/exact.hpp"

namespace blockvec::examples {
namespace {

using namespace solvers;

using Grid = std::vector<std::int64_t>;

template <class Scalar>
void expect_hermitian(const RowSource<Scalar>& source) {
  const auto a = dense(source);
  for (std::size_t i = 0; i < a.extent(0); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      if constexpr (ScalarTraits<Scalar>::is_complex) {
        EXPECT_EQ(a(i, j), Kokkos::conj(a(j, i))) << i << " " << j;
      } else {
        EXPECT_EQ(a(i, j), a(j, i)) << i << " " << j;
      }
    }
  }
}

template <class Scalar>
void expect_spectrum(const RowSource<Scalar>& source, const std::vector<double>& exact) {
  SCOPED_TRACE(source.describe());
  expect_hermitian(source);
  const std::vector<double> values = spectrum(source);
  ASSERT_EQ(values.size(), exact.size());
  // The exact values are sums of terms of size 1.
  const double norm = std::max({1.0, std::abs(exact.front()), std::abs(exact.back())});
  for (std::size_t i = 0; i < exact.size(); ++i)
    EXPECT_NEAR(values[i], exact[i], spectrum_tolerance(exact.size(), norm)) << i;
}

template <class Body>
std::string message_of(Body&& body) {
  try {
    body();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Laplacian, HasItsSpectrum) {
  for (const Grid& grid :
       {Grid{1}, Grid{2}, Grid{17}, Grid{4, 4}, Grid{7, 1}, Grid{3, 5}, Grid{4, 4, 4}, Grid{2, 3, 5}}) {
    expect_spectrum(Laplacian(grid), exact_laplacian(grid));
  }
}

TEST(Laplacian, RefusesGrids) {
  EXPECT_EQ(message_of([] { Laplacian({4, 0}); }), "laplacian: --grid 4 0: lengths must be positive");
  EXPECT_EQ(message_of([] { Laplacian({}); }), "laplacian: --grid takes 1 to 3 lengths, got 0");
  EXPECT_EQ(message_of([] {
              Laplacian({4000000000, 4000000000});
            }),
            "laplacian: --grid 4000000000 4000000000: more points than 64-bit row numbers");
  // Twice the points are addressed: 2^62 of them are too many, and one length can be as well.
  EXPECT_EQ(message_of([] { Laplacian({std::int64_t{1} << 62}); }),
            "laplacian: --grid 4611686018427387904: more points than 64-bit row numbers");
  EXPECT_EQ(message_of([] {
              Laplacian({1, 6000000000000000000, 1});
            }),
            "laplacian: --grid 1 6000000000000000000 1: more points than 64-bit row numbers");
  EXPECT_EQ(Laplacian({(std::int64_t{1} << 62) - 1, 1}).size(), (std::int64_t{1} << 62) - 1);
}

TEST(Anderson, CleanLatticeHasItsSpectrum) {
  for (const Grid& grid : {Grid{4, 4, 4}, Grid{3, 5, 4}, Grid{1, 1, 1}, Grid{2, 2, 2}, Grid{1, 2, 6}}) {
    expect_spectrum(Anderson(grid, 0, 1), exact_lattice(grid));
  }
}

TEST(Anderson, DisorderIsUniformAndDependsOnSeedAndSiteOnly) {
  const Anderson model({10, 10, 10}, 3, 7);
  const Anderson same({10, 10, 10}, 3, 7);
  const Anderson other({10, 10, 10}, 3, 8);
  double sum = 0;
  int equal = 0;
  for (std::int64_t site = 0; site < model.size(); ++site) {
    const double energy = model.site_energy(site);
    EXPECT_EQ(energy, same.site_energy(site));
    EXPECT_LE(std::abs(energy), 1.5);
    equal += energy == other.site_energy(site) ? 1 : 0;
    sum += energy;
  }
  EXPECT_EQ(equal, 0);
  // The mean of n uniform numbers has the standard deviation W / sqrt(12 n); six of them are never met by chance.
  EXPECT_LE(std::abs(sum) / 1000, 6 * 3 / std::sqrt(12.0 * 1000));
  expect_hermitian(Anderson({3, 4, 5}, 3, 7));
  EXPECT_EQ(message_of([] { Anderson({3, 4, 5}, -1, 1); }), "anderson: --disorder -1: must be finite and not negative");
  EXPECT_EQ(message_of([] { Anderson({3, 4}, 1, 1); }), "anderson: --grid takes 3 lengths, got 2");
}

TEST(Graphene, HasItsSpectrum) {
  for (const auto& [nx, ny] : {std::pair<std::int64_t, std::int64_t>{6, 6}, {5, 4}, {1, 1}, {2, 2}, {1, 3}, {2, 5}}) {
    expect_spectrum(Graphene<double>({nx, ny}), exact_graphene(nx, ny));
    expect_spectrum(Graphene<Complex<double>>({nx, ny}, 0, 1), exact_graphene(nx, ny));
    expect_spectrum(Graphene<Complex<double>>({nx, ny}, 3, 1), exact_graphene(nx, ny));
  }
}

// Closed walks of length 6 on the honeycomb lattice: 87 a site that enclose nothing, and 6 around one of the three
// hexagons beside it, each of which gives the phase of the flux through the hexagon.
TEST(Graphene, FluxThroughHexagonsShowsInTheSixthMoment) {
  for (const auto& [p, q] : {std::pair<std::int64_t, std::int64_t>{1, 6}, {1, 3}, {1, 2}, {-1, 6}, {5, 6}}) {
    const Graphene<Complex<double>> sheet({6, 5}, p, q);
    expect_hermitian(sheet);
    double moment = 0;
    for (const double value : spectrum(sheet)) moment += std::pow(value, 6);
    const double flux = 2 * std::numbers::pi * static_cast<double>(p) / static_cast<double>(q);
    EXPECT_NEAR(moment / 60, 87 + 6 * std::cos(flux), 6 * std::pow(3, 5) * spectrum_tolerance(60, 3)) << p << "/" << q;
  }
}

TEST(Graphene, RefusesFluxThatDoesNotFit) {
  EXPECT_EQ(message_of([] {
              Graphene<Complex<double>>({4, 4}, 1, 3);
            }),
            "graphene: --flux 1 3 does not fit a sheet of 4 cells in the first direction: 4 * 1 is no multiple of 3");
  EXPECT_EQ(message_of([] {
              Graphene<Complex<double>>({4, 4}, 1, 0);
            }),
            "graphene: --flux 1 0: the denominator must be positive");
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(
      message_of([] {
        Graphene<Complex<double>>({1, 1}, most - 1, most);
      }),
      fmt::format("graphene: --flux {0} {1} does not fit a sheet of 1 cells in the first direction: 1 * {0} is no "
                  "multiple of {1}",
                  most - 1, most));
  EXPECT_EQ(message_of([] { Graphene<double>({4, 4}, 1, 2); }), "graphene: a real matrix holds no magnetic flux");
}

TEST(SpinChain, NumbersStatesInOrder) {
  const SpinChain chain(12, 5, true, 1);
  std::int64_t number = 0;
  for (std::uint64_t state = 0; state < 1U << 12; ++state) {
    if (std::popcount(state) != 5) continue;
    EXPECT_EQ(chain.rank(state), number);
    EXPECT_EQ(chain.state(number), state);
    ++number;
  }
  EXPECT_EQ(number, chain.size());
}

TEST(SpinChain, XxChainIsFreeFermions) {
  for (const bool periodic : {false, true}) {
    for (int up = 0; up <= 8; ++up) expect_spectrum(SpinChain(8, up, periodic, 0), exact_xx(8, up, periodic));
    expect_spectrum(SpinChain(7, 3, periodic, 0), exact_xx(7, 3, periodic));
  }
  expect_spectrum(SpinChain(2, 1, true, 0), {-1, 1});  // two bonds between two spins
  expect_spectrum(SpinChain(1, 1, true, 1), {0});
}

TEST(SpinChain, HeisenbergRingsHaveTheBetheGroundState) {
  for (int sites = 4; sites <= 12; sites += 2) {
    const SpinChain ring(sites, sites / 2, true, 1);
    expect_hermitian(ring);
    const double ground = spectrum(ring).front();
    EXPECT_NEAR(ground, sites * bethe_energy_per_site(sites),
                spectrum_tolerance(static_cast<std::size_t>(ring.size()), sites));
  }
  EXPECT_NEAR(bethe_energy_per_site(4), -0.5, 64 * epsilon<double>);  // four spins: -2, by hand
  // The leading correction of a finite ring is pi^2 / (12 n^2) (Affleck 1986), the next one smaller by logarithms.
  const double n = 200;
  const double correction = std::numbers::pi * std::numbers::pi / (12 * n * n);
  EXPECT_NEAR(bethe_energy_per_site(200), hulthen_energy_per_site() - correction, correction / std::log(n));
}

TEST(SpinChain, SectorsBelongToMultiplets) {
  // Every multiplet that reaches S_z = 1 is also in S_z = 0.
  const auto zero = spectrum(SpinChain(8, 4, true, 1));
  const auto one = spectrum(SpinChain(8, 5, true, 1));
  std::size_t found = 0;
  for (const double value : zero) {
    if (found < one.size() && std::abs(value - one[found]) <= spectrum_tolerance(zero.size(), 8)) ++found;
  }
  EXPECT_EQ(found, one.size());
  EXPECT_EQ(message_of([] { SpinChain(63, 1, true, 1); }), "heisenberg: --sites 63: must be between 1 and 62");
  EXPECT_EQ(message_of([] { SpinChain(4, 5, true, 1); }), "heisenberg: --up 5: must be between 0 and --sites 4");
  EXPECT_EQ(message_of([] { SpinChain(4, 2, true, std::numeric_limits<double>::infinity()); }),
            "heisenberg: --delta inf: must be finite");
}

}  // namespace
}  // namespace blockvec::examples

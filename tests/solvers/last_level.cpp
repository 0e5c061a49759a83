// Whether the wanted number cuts a level: Result::last_level_cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <blockvec/solvers/lanczos.hpp>

#include "tests/solvers/prescribed_spectrum.hpp"

namespace blockvec::solvers {
namespace {

constexpr double tolerance = 1e-8;

/// `copies` of 0, then 0.5, and simple eigenvalues 1, 1 + step, ...
std::vector<double> with_lowest_level(std::int64_t copies, std::int64_t n) {
  std::vector<double> values(static_cast<std::size_t>(n), 0.0);
  values[static_cast<std::size_t>(copies)] = 0.5;
  for (std::int64_t i = copies + 1; i < n; ++i)
    values[static_cast<std::size_t>(i)] = 1 + static_cast<double>(i) / static_cast<double>(n);
  return values;
}

template <class Vector>
Result<Vector> solve(const std::vector<double>& values, const LanczosOptions& options) {
  return block_lanczos<Vector>({PrescribedSpectrum<Vector>(Context::world(1), values)}, options);
}

LanczosOptions with(std::int64_t wanted, std::int64_t block, int filter = LanczosOptions::automatic_filter) {
  LanczosOptions options;
  options.wanted = wanted;
  options.block = block;
  options.filter_degree = filter;
  options.tolerance = tolerance;
  return options;
}

/// Of ascending values: are the last wanted one and the next alike?
bool is_cut(const std::vector<double>& values, std::int64_t wanted) {
  const auto next = static_cast<std::size_t>(wanted);
  return next < values.size() && values[next] == values[next - 1];
}

template <class Scalar>
class LastLevel : public testing::Test {
 protected:
  using Tall = BlockVector<Scalar>;
};
using Scalars = testing::Types<double, Complex<double>>;
TYPED_TEST_SUITE(LastLevel, Scalars, );

TYPED_TEST(LastLevel, IsSaidToBeCutWhereItIs) {
  using Vector = typename TestFixture::Tall;
  const auto values = with_lowest_level(8, 300);
  for (const int filter : {0, LanczosOptions::automatic_filter}) {
    for (const std::int64_t block : {1, 3, 8, 11}) {
      for (const std::int64_t wanted : {1, 3, 5, 7, 8, 9, 11}) {
        const auto result = solve<Vector>(values, with(wanted, block, filter));
        ASSERT_TRUE(result.converged()) << result.why;
        EXPECT_EQ(result.last_level_cut, is_cut(values, wanted))
            << "wanted " << wanted << ", block " << block << ", filter " << filter;
      }
    }
  }
}

TYPED_TEST(LastLevel, AtTheUpperEnd) {
  using Vector = typename TestFixture::Tall;
  auto values = with_lowest_level(3, 200);
  for (double& value : values) value = -value;
  for (const std::int64_t wanted : {1, 2, 3, 4}) {
    LanczosOptions options = with(wanted, 2);
    options.which = Which::largest;
    EXPECT_EQ(solve<Vector>(values, options).last_level_cut, wanted < 3) << wanted;
  }
}

TYPED_TEST(LastLevel, OfSmallMatrices) {
  using Vector = typename TestFixture::Tall;
  for (const std::int64_t n : {5, 12}) {
    const auto values = with_lowest_level(3, n);
    for (const std::int64_t block : {1, 2, 4}) {
      for (std::int64_t wanted = 1; wanted <= n; ++wanted) {
        const auto result = solve<Vector>(values, with(wanted, block));
        ASSERT_TRUE(result.converged()) << result.why;
        EXPECT_EQ(result.last_level_cut, is_cut(values, wanted))
            << n << " rows, wanted " << wanted << ", block " << block;
      }
    }
  }
}

// The norm is about 2.
TYPED_TEST(LastLevel, GoesAsFarAsEigenvaluesCountAsEqual) {
  using Vector = typename TestFixture::Tall;
  auto values = with_lowest_level(1, 200);
  for (const double distance : {tolerance, 100 * tolerance}) {
    values[1] = distance;
    for (const std::int64_t block : {1, 3})
      EXPECT_EQ(solve<Vector>(values, with(1, block)).last_level_cut, distance == tolerance) << block;
  }
}

// What the search for the wanted pairs has seen is enough, unless the last level was found as often as it was started.
TYPED_TEST(LastLevel, TakesASearchOfItsOwnOnlyWhereItMustAsk) {
  using Vector = typename TestFixture::Tall;
  EXPECT_EQ(solve<Vector>(with_lowest_level(2, 300), with(2, 3)).starts, 3);
  EXPECT_EQ(solve<Vector>(with_lowest_level(3, 300), with(2, 3)).starts, 3);
  EXPECT_EQ(solve<Vector>(with_lowest_level(3, 300), with(3, 3)).starts, 6);
}

// Where a limit ends the search about the last level, the pairs are found nevertheless, and nobody says that the level
// is whole.
TYPED_TEST(LastLevel, IsNotSaidToBeWholeBeforeItIsKnown) {
  using Vector = typename TestFixture::Tall;
  LanczosOptions options = with(3, 3, 0);
  int converged = 0;
  for (options.max_restarts = 1; options.max_restarts < 20; ++options.max_restarts) {
    const auto result = solve<Vector>(with_lowest_level(4, 300), options);
    EXPECT_EQ(result.last_level_cut, result.converged()) << options.max_restarts;
    converged += result.converged() ? 1 : 0;
  }
  EXPECT_GT(converged, 0);
}

TYPED_TEST(LastLevel, TakesNoLongerThanThePairsThemselves) {
  using Vector = typename TestFixture::Tall;
  PrescribedSpectrum<Vector> a(Context::world(1), with_lowest_level(1, 300));
  const LanczosOptions options = with(2, 2, 0);
  const auto first = block_lanczos<Vector>({a}, options);
  EXPECT_FALSE(first.last_level_cut);
  const auto again = block_lanczos<Vector>({.a = a, .initial = first.vectors}, options);
  EXPECT_TRUE(again.converged());
  EXPECT_LT(again.applications, first.applications);
}

}  // namespace
}  // namespace blockvec::solvers

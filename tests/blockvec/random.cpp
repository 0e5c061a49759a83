#include "tests/support/naive.hpp"

namespace blockvec {
namespace {

// What every layout, thread count, split and column offset must give: this rank alone, one thread.
template <class Scalar>
testing::Wide expected(std::int64_t rows, std::int64_t width, std::uint64_t seed) {
  const Context context = Context::self(1);
  const BlockVector<Scalar> v(context, RowDistribution::uniform(rows, context.communicator()), width, "V");
  fill_random(v, seed);
  return testing::local_copy(v);
}

template <class C>
class RandomTest : public ::testing::Test {};
TYPED_TEST_SUITE(RandomTest, testing::AllCases, testing::CaseName);

TYPED_TEST(RandomTest, DependsOnSeedRowAndColumnAlone) {
  using Scalar = typename TypeParam::Scalar;
  using Vector = typename TypeParam::Vector;
  constexpr std::int64_t rows = 1300;
  const auto oracle = expected<Scalar>(rows, 7, 42);
  for (const int threads : {1, 2, 3}) {
    const Context context = Context::world(threads);
    for (const auto& split : testing::splits(rows, context.communicator())) {
      const Vector v(context, split, 9, "V");
      fill_random(v.columns(0, 4), 42);
      fill_random(v.columns(4, 7), 42, 4);
      const auto mine = testing::local_copy(v);
      for (std::size_t i = 0; i < mine.size(); ++i) {
        const std::size_t global = i + static_cast<std::size_t>(split.begin());
        for (std::size_t j = 0; j < 7; ++j) ASSERT_EQ(mine[i][j], oracle[global][j]) << global << "," << j;
        ASSERT_EQ(mine[i][7], 0.0L);
      }
    }
  }
}

TYPED_TEST(RandomTest, IsUniformAndDiffersBetweenSeeds) {
  using Scalar = typename TypeParam::Scalar;
  constexpr std::int64_t rows = 20000;
  const auto first = expected<Scalar>(rows, 2, 1);
  const auto second = expected<Scalar>(rows, 2, 2);
  long double sum = 0;
  long double squares = 0;
  long double cross = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_LT(std::abs(first[i][0].real()), 1.0L + epsilon<Scalar>);
    EXPECT_NE(first[i], second[i]);
    sum += first[i][0].real();
    squares += first[i][0].real() * first[i][0].real();
    cross += first[i][0].real() * first[i][1].real();
  }
  // Five standard deviations of the mean (1/sqrt(3)), of the mean square (sqrt(4/45)) and of the products (1/3).
  const auto n = static_cast<long double>(rows);
  EXPECT_LT(std::abs(sum / n), 5 / std::sqrt(3 * n));
  EXPECT_LT(std::abs(squares / n - 1.0L / 3), 5 * std::sqrt(4.0L / 45 / n));
  EXPECT_LT(std::abs(cross / n), 5.0L / 3 / std::sqrt(n));
}

}  // namespace
}  // namespace blockvec

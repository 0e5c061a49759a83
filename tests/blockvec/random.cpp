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

TYPED_TEST(RandomTest, NormalNumbersHaveTheirMoments) {
  using Scalar = typename TypeParam::Scalar;
  constexpr std::int64_t rows = 4000;
  constexpr double parts = ScalarTraits<Scalar>::is_complex ? 2 : 1;
  const Context context = Context::world(2);
  for (const auto& split : testing::splits(rows, context.communicator())) {
    const typename TypeParam::Vector v(context, split, 5, "V");
    fill_normal(v.columns(0, 3), 7);
    fill_normal(v.columns(3, 5), 7, 3);
    const auto x = testing::gathered_copy(v);
    double mean = 0, square = 0, fourth = 0, least = 0;
    for (const auto& row : x) {
      for (const auto& entry : row) {
        const auto real = static_cast<double>(entry.real()), imaginary = static_cast<double>(entry.imag());
        mean += real + imaginary;
        square += real * real + imaginary * imaginary;
        fourth += std::pow(real, 4) + std::pow(imaginary, 4);
        least = std::min(least, real);
      }
    }
    const double count = static_cast<double>(rows) * 5 * parts, deviation = 5 / std::sqrt(count);
    EXPECT_NEAR(mean / count, 0, deviation);
    EXPECT_NEAR(square / count, 1, std::sqrt(2.0) * deviation);
    EXPECT_NEAR(fourth / count, 3, std::sqrt(96.0) * deviation);
    EXPECT_LT(least, -3);
  }
}

TYPED_TEST(RandomTest, SketchesFollowGlobalRowsAndNearlyKeepLengths) {
  using Scalar = typename TypeParam::Scalar;
  using Products = InnerProducts<Scalar, typename TypeParam::Layout, typename TypeParam::Space>;
  constexpr std::int64_t rows = 5000, b = 4, d = 64;
  testing::Wide first;
  for (const int threads : {1, 3}) {
    const Context context = Context::world(threads);
    for (const auto& split : testing::splits(rows, context.communicator())) {
      const typename TypeParam::Vector v(context, split, b + 2, "V");
      fill_random(v, 3);
      const typename TypeParam::Small room(context, d + 1, b);
      const auto c = room.block(1, d + 1, 0, b);
      const std::int64_t before = context.reductions();
      sketch_share(v.columns(1, b + 1), 5, c);
      EXPECT_EQ(context.reductions(), before);
      Products(context).add_share(c).reduce();
      const auto host = c.to_host();
      testing::Wide sketch(static_cast<std::size_t>(d));
      double square = 0, places = 0;
      for (std::size_t i = 0; i < d; ++i) {
        bool used = false;
        for (std::size_t j = 0; j < b; ++j) {
          sketch[i].push_back(testing::widened(host(i, j)));
          square += static_cast<double>(std::norm(sketch[i][j]));
          used = used || host(i, j) != Scalar(0);
        }
        places += used ? 1 : 0;
      }
      EXPECT_EQ(places, d);
      const double expected = rows * b / 3.0 * (ScalarTraits<Scalar>::is_complex ? 2 : 1);
      EXPECT_NEAR(square / expected, 1, 0.5);
      if (first.empty()) first = sketch;
      const double rounding = 4 * testing::gamma<Scalar>(rows) * std::sqrt(static_cast<double>(rows));
      for (std::size_t i = 0; i < d; ++i) {
        for (std::size_t j = 0; j < b; ++j) {
          EXPECT_LE(static_cast<double>(std::abs(sketch[i][j] - first[i][j])), rounding);
        }
      }
    }
  }
  const Context context = Context::world(1);
  const typename TypeParam::Vector v(context, RowDistribution::uniform(10, context.communicator()), 2, "V");
  EXPECT_THROW(sketch_share(v, 1, typename TypeParam::Small(context, 12, 2)), ShapeError);
  EXPECT_THROW(sketch_share(v, 1, typename TypeParam::Small(context, 16, 3)), ShapeError);
}

}  // namespace
}  // namespace blockvec

// Products with a block-diagonal matrix, against obvious loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <blockvec/block_diagonal.hpp>
#include <blockvec/operations.hpp>
#include <cmath>

#include "tests/support/cases.hpp"
#include "tests/support/naive.hpp"

namespace blockvec {
namespace {

template <class C>
class BlockDiagonal : public ::testing::Test {
 protected:
  using Entry = typename C::Scalar;
  static double distance(Entry a, Entry b) {
    if constexpr (ScalarTraits<Entry>::is_complex) {
      return static_cast<double>(Kokkos::abs(a - b));
    } else {
      return static_cast<double>(std::abs(a - b));
    }
  }
};
TYPED_TEST_SUITE(BlockDiagonal, testing::AllCases, testing::CaseName);

TYPED_TEST(BlockDiagonal, MatchesObviousLoops) {
  using Scalar = typename TypeParam::Scalar;
  using Vector = typename TypeParam::Vector;
  const Context context = Context::world(2);
  const auto rows = RowDistribution::uniform(317, context.communicator());
  for (const std::int64_t size : {1, 3, 16, 400}) {
    for (const std::int64_t width : {0, 1, 5}) {
      const Vector d(context, rows, size), v(context, rows, width + 1), w(context, rows, width + 2);
      fill_random(d, 1);
      fill_random(v, 2);
      multiply_block_diagonal(d, v.columns(1, 1 + width), w.columns(2, 2 + width));
      const auto of_d = testing::on_host(d), of_v = testing::on_host(v), of_w = testing::on_host(w);
      for (std::int64_t i = 0; i < d.local_rows(); ++i) {
        const std::int64_t begin = i / size * size, end = std::min(begin + size, d.local_rows());
        for (std::int64_t j = 0; j < width; ++j) {
          Scalar expected(0);
          for (std::int64_t l = begin; l < end; ++l) {
            expected += of_d.view()(static_cast<std::size_t>(i), static_cast<std::size_t>(l - begin)) *
                        of_v.view()(static_cast<std::size_t>(l), static_cast<std::size_t>(j + 1));
          }
          const Scalar got = of_w.view()(static_cast<std::size_t>(i), static_cast<std::size_t>(j + 2));
          // Entries are at most 1, of complex ones both parts.
          ASSERT_LE(this->distance(got, expected),
                    8 * static_cast<double>(size) * static_cast<double>(epsilon<Scalar>) * static_cast<double>(size));
        }
      }
    }
  }
  const Vector d(context, rows, 4, "D"), v(context, rows, 3, "V"), w(context, rows, 2, "W");
  testing::expect_parts(testing::message_of<ShapeError>([&] { multiply_block_diagonal(d, v, w); }),
                        {"multiply_block_diagonal", "D (317 x 4", "V (317 x 3", "W (317 x 2"});
  EXPECT_THROW(multiply_block_diagonal(d, v, v), ShapeError);
}

}  // namespace
}  // namespace blockvec

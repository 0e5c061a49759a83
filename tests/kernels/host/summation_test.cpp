#include "src/host/summation.hpp"

#include <gtest/gtest.h>

#include <blockvec/kernels/tall_skinny.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/kernels/support/guarded_matrix.hpp"

namespace blockvec::kernels {
namespace {

TEST(Summation, EveryChunkCountsOnceWhateverTheirNumber) {
  for (std::int64_t chunks = 1; chunks < 5000; chunks += chunks < 600 ? 1 : 97) {
    for (const std::int64_t parts : {1, 2, 7, 64}) {
      if (parts > chunks) continue;
      host::SumPlan plan;
      plan.chunks = chunks;
      plan.parts = parts;
      plan.levels = host::tree_levels(host::ceil_div(chunks, parts));
      std::int64_t total = 0;
      for (std::int64_t part = 0; part < parts; ++part) {
        std::vector<double> levels(static_cast<std::size_t>(2 * plan.levels), -1);
        host::sum_part(plan, part, 2, levels.data(), [](std::int64_t chunk, double* sum, bool add) {
          sum[0] = (add ? sum[0] : 0) + static_cast<double>(chunk + 1);
          sum[1] = (add ? sum[1] : 0) + 1;
        });
        EXPECT_EQ(levels[1], static_cast<double>(plan.first_chunk(part + 1) - plan.first_chunk(part)));
        total += static_cast<std::int64_t>(levels[0]);
      }
      EXPECT_EQ(total, chunks * (chunks + 1) / 2);
    }
  }
}

TEST(Summation, DepthGrowsWithTheLogarithm) {
  EXPECT_EQ(summation_depth(0), 0);
  EXPECT_EQ(summation_depth(1), 1);
  EXPECT_EQ(summation_depth(32), 32);
  for (std::int64_t k = host::max_chunk_rows; k < std::int64_t{1} << 50; k *= 16) {
    EXPECT_EQ(summation_depth(16 * k) - summation_depth(k), host::fan_out);
  }
}

// Terms of one sign, none of them a short binary fraction: the roundings of a running sum drift one way.
TEST(Summation, LongSumsMeetABoundThatARunningSumBreaks) {
  const std::int64_t k = 1 << 24;
  std::vector<float> ones(static_cast<std::size_t>(k), 1.0F);
  std::vector<float> tenths(static_cast<std::size_t>(k), 0.1F);
  const Matrix<float> a{ones.data(), k, 1, 1, Layout::row_major};
  const Matrix<float> b{tenths.data(), k, 1, 1, Layout::row_major};
  const double exact = static_cast<double>(0.1F) * static_cast<double>(k);
  const double bound = test::gamma<float>(summation_depth(k) + 3) * exact;
  for (const Layout layout : {Layout::row_major, Layout::column_major}) {
    float sum = 0;
    const Matrix<float> c{&sum, 1, 1, 1, Layout::row_major};
    const auto laid = [layout](Matrix<float> v) {
      return Matrix<float>{v.data, k, 1, layout == Layout::row_major ? 1 : k, layout};
    };
    tsmttsm(Op::transpose, 1.0F, laid(a), laid(b), 0.0F, c);
    EXPECT_LE(std::abs(sum - exact), bound);
  }
  float running = 0;
  reference::tsmttsm(Op::transpose, 1.0F, a, b, 0.0F, Matrix<float>{&running, 1, 1, 1, Layout::row_major});
  EXPECT_GT(std::abs(running - exact), bound);
}

// Random signs and magnitudes over many orders: the bound holds against sums in long double.
TEST(Summation, BoundHoldsForHardData) {
  for (const std::int64_t k : {100, 5000, 200000}) {
    std::mt19937 random(static_cast<unsigned>(k));
    std::uniform_real_distribution<double> uniform(-1, 1);
    test::GuardedMatrix<double> a(k, 3, Layout::row_major, 0, 0, 0.0);
    test::GuardedMatrix<double> b(k, 3, Layout::row_major, 0, 0, 0.0);
    for (std::int64_t i = 0; i < k; ++i) {
      for (std::int64_t j = 0; j < 3; ++j) {
        a(i, j) = std::ldexp(uniform(random), static_cast<int>(40 * uniform(random)));
        b(i, j) = i % 2 != 0 ? -b(i - 1, j) * (1 + 1e-9 * uniform(random)) : uniform(random);
      }
    }
    test::GuardedMatrix<double> c(3, 3, Layout::row_major, 0, 0, 0.0);
    tsmttsm(Op::transpose, 1.0, a.view(), b.view(), 0.0, c.view());
    const std::vector<double> scale = test::absolute_product(a, b);
    for (std::int64_t i = 0; i < 3; ++i) {
      for (std::int64_t j = 0; j < 3; ++j) {
        long double exact = 0;
        for (std::int64_t row = 0; row < k; ++row) exact += static_cast<long double>(a(row, i)) * b(row, j);
        EXPECT_LE(static_cast<double>(std::abs(c(i, j) - exact)),
                  test::gamma<double>(summation_depth(k) + 3) * scale[static_cast<std::size_t>(3 * i + j)]);
      }
    }
  }
}

TEST(Summation, WorkspaceIsBounded) {
  // A part's data is at least 16 times its result, and a part has at most this many results.
  for (const std::int64_t width : {1, 8, 64, 512}) {
    for (const std::int64_t k : {std::int64_t{1} << 10, std::int64_t{1} << 20, std::int64_t{1} << 40}) {
      const double result =
          8.0 * static_cast<double>(std::max<std::int64_t>(width, 16) * std::max<std::int64_t>(width, 16));
      const double levels = static_cast<double>(host::tree_levels(host::ceil_div(k, host::min_chunk_rows)));
      EXPECT_LE(static_cast<double>(tsmttsm_workspace<double>(k, width, width, Layout::row_major)),
                host::max_parts * (levels + 1) * result + 128);
    }
  }
}

}  // namespace
}  // namespace blockvec::kernels

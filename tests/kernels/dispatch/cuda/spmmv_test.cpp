#include "src/dispatch/cuda/spmmv.hpp"

#include <gtest/gtest.h>

/// Which kernel serves a sparse product, without a device.
namespace blockvec::kernels::dispatch {
namespace {

TEST(SpmmvChoice, CoversEveryWidth) {
  for (const int bytes : {4, 8, 16}) {
    for (std::int64_t width = 1; width <= 200; ++width) {
      for (const bool row_major : {true, false}) {
        for (const std::uint64_t misalignment : {0U, 4U, 8U, 16U}) {
          const SpmmvConfiguration c = choose({bytes, width, row_major, misalignment});
          if (c.kernel == SpmmvKernel::sell_columns) {
            EXPECT_FALSE(row_major);
            EXPECT_GE(4 * c.blocks, width);
            continue;
          }
          EXPECT_TRUE(row_major || width == 1);
          EXPECT_GE(c.vector * c.lanes * c.blocks, width);
          EXPECT_LT(c.vector * c.lanes * (c.blocks - 1), width);
          EXPECT_TRUE(c.lanes >= 1 && c.lanes <= 32 && (c.lanes & (c.lanes - 1)) == 0) << words(c);
          EXPECT_EQ(c.vector > 1, bytes < 16 && misalignment % 16 == 0 && width % (16 / bytes) == 0) << words(c);
          EXPECT_TRUE(!c.whole || misalignment % static_cast<unsigned>(c.vector * bytes) == 0) << words(c);
        }
      }
    }
  }
}

TEST(SpmmvChoice, SaysWhatItTakes) {
  EXPECT_EQ(words(choose({8, 8, true, 0})), "sell vector 2 lanes 4");
  EXPECT_EQ(words(choose({8, 8, true, 8})), "sell vector 1 lanes 8");
  EXPECT_EQ(words(choose({16, 1, true, 8})), "sell vector 1 lanes 1 in parts");
  EXPECT_EQ(words(choose({8, 8, false, 0})), "sell_columns");
}

}  // namespace
}  // namespace blockvec::kernels::dispatch

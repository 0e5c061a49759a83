#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/constants.hpp"
#include "src/dispatch/cuda/gram_schmidt/sweep.hpp"

/// Configurations of the kernel for sweeps: what it relies on.
namespace blockvec::kernels::dispatch {
namespace {

const CudaDevice h100{132, 232448, true, "NVIDIA H100"};

void expect_legal(const CudaDevice& device, const CudaSweepProblem& p, const CudaSweep& c) {
  std::int64_t width = 0;
  int place = 0, blocks = 0, steps = 0;
  for (int i = 0; i < c.loaded; ++i) {
    const SweepPart& part = c.part[i];
    EXPECT_EQ(part.column, width);
    EXPECT_EQ(part.offset, place);
    EXPECT_GE(part.pitch, part.width);
    EXPECT_LE(part.pitch, longest_box);
    EXPECT_EQ(part.pitch % 8, 4) << "lanes meet different banks";
    if (i < c.parts) {
      EXPECT_EQ(part.block, blocks);
      EXPECT_EQ(part.step, steps);
      blocks += static_cast<int>(ceil_div(part.width, 8));
      steps += static_cast<int>(ceil_div(part.width, 4));
    }
    width += part.width;
    place += c.rows * part.pitch;
  }
  EXPECT_EQ(width, std::accumulate(p.widths.begin(), p.widths.end(), p.has_image ? p.n : 0));
  EXPECT_GE(c.part[c.parts - 1].width, p.n) << "W lies in the last part";
  EXPECT_EQ(c.blocks, blocks);
  EXPECT_EQ(c.steps, steps);
  EXPECT_GE(8 * c.tiles_n, p.n);
  EXPECT_GE(2 * sweep_tiles_m(c.tiles_n) * c.sharing, blocks) << "all columns have a warp";
  EXPECT_EQ(sweep_product_warps % c.sharing, 0);
  EXPECT_EQ(c.rows % 16, 0);
  EXPECT_LE(c.rows, longest_box);
  EXPECT_EQ(c.stage_bytes, place * p.real_bytes);
  EXPECT_GT(c.stage_step, c.stage_bytes);
  EXPECT_EQ(c.stage_step % line_bytes, 0);
  EXPECT_EQ(c.packed_bytes % line_bytes, 0);
  EXPECT_EQ(c.barriers % c.stages, 0);
  EXPECT_EQ(c.barriers % sweep_change_warps, 0) << "a barrier always belongs to the same warps";
  EXPECT_EQ(c.barriers % (sweep_product_warps / c.sharing), 0);
  EXPECT_LE(c.barriers, most_sweep_barriers);
  EXPECT_GE(c.shared_bytes, c.stages * c.stage_step + c.packed_bytes);
  EXPECT_LE(c.shared_bytes + 3 * most_sweep_barriers * 8, device.shared_bytes);
  EXPECT_GE(c.chunks * c.rows, p.k);
  EXPECT_LE(c.thread_blocks, c.chunks);
}

TEST(CudaSweepConfiguration, IsLegalForAllWidths) {
  for (const int real_bytes : {4, 8}) {
    for (const std::int64_t k : {1, 1000, 1 << 24}) {
      for (std::int64_t m = 0; m < 700; m += m < 40 ? 1 : 23) {
        for (const std::int64_t n : {1, 2, 7, 8, 9, 16, 17, 32}) {
          for (const int kind : {0, 1, 2, 3}) {  // W apart or not, an image or not
            const std::vector<std::int64_t> widths =
                kind % 2 == 0 ? std::vector<std::int64_t>{m + n} : std::vector<std::int64_t>{m / 3, m - m / 3, n};
            for (const bool changes : {false, true}) {
              const CudaSweepProblem p{k, widths, n, real_bytes, changes, kind >= 2};
              const auto c = configure_sweep(h100, p);
              if (c) expect_legal(h100, p, *c);
              EXPECT_TRUE(c || m + 2 * n > 200) << "narrow ones are served: " << m << " + " << n;
              if (testing::Test::HasFailure()) return;
            }
          }
        }
      }
    }
  }
}

TEST(CudaSweepConfiguration, ServesTheWidthsOfSolvers) {
  struct Shape {
    std::int64_t m, n;
  };
  for (const Shape& x : {Shape{56, 8}, {24, 8}, {124, 4}, {48, 16}, {240, 16}, {112, 16}, {248, 8}, {96, 32}}) {
    for (const bool behind : {false, true}) {
      const std::vector<std::int64_t> widths =
          behind ? std::vector<std::int64_t>{x.m + x.n} : std::vector<std::int64_t>{x.m, x.n};
      EXPECT_TRUE(configure_sweep(h100, {1 << 20, widths, x.n, 8, true, false})) << x.m << " + " << x.n;
    }
  }
}

TEST(CudaSweepConfiguration, LeavesOthersToOtherKernels) {
  const std::vector<std::int64_t> narrow{8, 8}, wide_w{8, 33};
  const CudaSweepProblem usual{1000, narrow, 8, 8, true, false};
  ASSERT_TRUE(configure_sweep(h100, usual));
  CudaDevice before_9 = h100, slow_in_double = h100;
  before_9.bulk_copies = false;
  slow_in_double.product_clocks = product_clocks_of(120);
  EXPECT_FALSE(configure_sweep(before_9, usual));
  EXPECT_FALSE(configure_sweep(slow_in_double, usual));
  EXPECT_FALSE(configure_sweep(h100, {1000, wide_w, 33, 8, true, false}));
  EXPECT_FALSE(configure_sweep(h100, {std::int64_t{1} << 31, narrow, 8, 8, true, false}));
}

}  // namespace
}  // namespace blockvec::kernels::dispatch

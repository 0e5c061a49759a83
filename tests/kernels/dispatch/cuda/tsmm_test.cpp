#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "src/dispatch/cuda/configuration.hpp"

/// Configurations of tsmm for operands whose strides 32 bits do not count.
namespace blockvec::kernels::dispatch {
namespace {

const CudaDevice device{132, 232448, true, "NVIDIA H200", 90, 1.9e9, 4.6e12, 4.2e12, true};

template <class Is>
bool any_of(const CudaTsmmProblem& p, Is&& is) {
  const std::vector<CudaTsmm> found = candidates(device, p, Search::all);
  EXPECT_FALSE(found.empty());
  return std::any_of(found.begin(), found.end(), is);
}

TEST(CudaTsmmStrides, WholeWarpgroupsCountRowsOfB) {
  const auto is_warpgroup = [](const CudaTsmm& c) { return c->kernel == CudaKernel::tf32_warpgroup; };
  for (const std::int64_t odd : {0, 1}) {
    CudaTsmmProblem p{100, 64 - odd, 32 - odd, 64 - odd, 32 - odd, 4, true, false, false, 1, true, false, true};
    EXPECT_TRUE(any_of(p, is_warpgroup));
    for (const std::int64_t least : {std::int64_t{1} << 31, std::int64_t{1} << 33}) {
      p.pitch_b = least + odd;
      EXPECT_FALSE(any_of(p, is_warpgroup)) << p.pitch_b;
    }
  }
}

}  // namespace
}  // namespace blockvec::kernels::dispatch

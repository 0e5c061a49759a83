#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "src/dispatch/cuda/configuration.hpp"

/// The workspace of tsmttsm, which extents alone decide.
namespace blockvec::kernels::dispatch {
namespace {

const std::vector<CudaDevice> devices{{132, 232448, true, "NVIDIA H200", 90, 1.9e9, 4.6e12, 4.2e12, true},
                                      {108, 166912, false, "another one", 80, 1.4e9, 1.4e12, 1.3e12},
                                      {2, 232448, true, "a small one", 90}};

/// Every layout, type, stride and alignment of a product of these extents.
template <class Visit>
void for_each_problem(std::int64_t k, std::int64_t m, std::int64_t n, Visit&& visit) {
  for (const int real_bytes : {4, 8}) {
    for (const bool rows : {true, false}) {
      for (const int parts : {1, 2}) {
        if (m % parts != 0 || n % parts != 0) continue;
        for (const std::int64_t pad : {0, 1, 2, 100}) {
          for (const bool aligned : {true, false}) {
            for (const bool same : {false, true}) {
              if (same && m != n) continue;
              const auto pitch = [&](std::int64_t width) { return parts * pad + (rows ? width : parts * k); };
              visit(CudaTsmttsmProblem{k, m, n, pitch(m), pitch(n), real_bytes, rows, same, parts, aligned});
            }
          }
        }
      }
    }
  }
}

std::string extents(std::int64_t k, std::int64_t m, std::int64_t n) {
  return "K " + std::to_string(k) + " M " + std::to_string(m) + " N " + std::to_string(n);
}

struct Sides {
  std::int64_t m, n;
};
const std::vector<Sides> sides{{1, 1},     {2, 2},     {3, 2},     {4, 4},       {8, 8},     {16, 16},    {20, 40},
                               {64, 64},   {96, 192},  {128, 128}, {130, 130},   {144, 128}, {136, 136},  {192, 192},
                               {256, 256}, {258, 254}, {300, 300}, {384, 384},   {512, 512}, {512, 20},   {20, 512},
                               {640, 640}, {700, 300}, {900, 900}, {1024, 1024}, {1024, 64}, {2000, 2000}};
const std::vector<std::int64_t> lengths{1, 15, 100, 3000, 100000, 20000000, (std::int64_t{1} << 31) + 3};

TEST(CudaTsmttsmWorkspace, IsEnoughForEveryConfiguration) {
  for (const CudaDevice& device : devices) {
    for (const std::int64_t k : lengths) {
      for (const auto& [m, n] : sides) {
        SCOPED_TRACE(extents(k, m, n));
        for_each_problem(k, m, n, [&](const CudaTsmttsmProblem& p) {
          const std::size_t asked = cuda_tsmttsm_workspace(device, k, m, n);
          for (const CudaTsmttsm& c : candidates(device, p, Search::all)) {
            EXPECT_LE(c->workspace_bytes, asked) << name_of(c->kernel) << ' ' << words(c);
          }
          EXPECT_LE(choose(device, p).configuration->workspace_bytes, asked);
        });
      }
    }
  }
}

// Of wide results blocks take sections, and few of them share the rows; a result that is little wider than a block's
// may be cut in two. Narrow ones, of which several rows are taken at a time, need kilobytes.
TEST(CudaTsmttsmWorkspace, IsAtMostTwiceWhatSomeConfigurationNeeds) {
  const CudaDevice& device = devices.front();
  for (const std::int64_t k : {100000, 20000000}) {
    for (const auto& [m, n] : sides) {
      if (m * n < 256) continue;
      std::size_t needed = 0;
      for_each_problem(k, m, n, [&](const CudaTsmttsmProblem& p) {
        for (const CudaTsmttsm& c : candidates(device, p)) needed = std::max(needed, c->workspace_bytes);
      });
      EXPECT_LE(cuda_tsmttsm_workspace(device, k, m, n), 2 * needed) << extents(k, m, n);
    }
  }
}

}  // namespace
}  // namespace blockvec::kernels::dispatch

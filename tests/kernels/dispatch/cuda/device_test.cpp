
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "src/dispatch/cuda/configuration.hpp"

namespace blockvec::kernels::dispatch {
namespace {

TEST(CudaRates, FollowFromTheAttributes) {
  CudaDevice device{132, 232448, true, "some"};
  set_rates(device, {1980000, 3201000, 6144});
  EXPECT_DOUBLE_EQ(device.clock, 0.95e3 * 1980000);
  const double interface = 2e3 * 3201000 * 6144 / 8;
  EXPECT_DOUBLE_EQ(device.read_bandwidth, 0.94 * interface);
  EXPECT_DOUBLE_EQ(device.copy_bandwidth, 0.86 * interface);
}

TEST(CudaRates, WhatIsNotKnownIsThatOfAnH200) {
  const CudaDevice known{132, 232448, true, "some"};
  for (const int multiprocessors : {132, 33}) {
    CudaDevice device{multiprocessors, 232448, true, "some"};
    set_rates(device, {0, 0, 6144});
    EXPECT_EQ(device.clock, known.clock);
    EXPECT_DOUBLE_EQ(device.read_bandwidth, known.read_bandwidth * multiprocessors / 132);
    EXPECT_DOUBLE_EQ(device.copy_bandwidth, known.copy_bandwidth * multiprocessors / 132);
  }
}

// Times without a number, or without an end, would leave the choice to the order of the candidates.
TEST(CudaRates, PredictionsAreFiniteWhateverIsKnown) {
  for (const CudaRates& rates : {CudaRates{0, 3201000, 6144}, {1980000, 0, 6144}, {1980000, 3201000, 0}, {0, 0, 0}}) {
    CudaDevice device{100, 232448, true, "some", 90};
    device.warpgroups = true;
    set_rates(device, rates);
    for (const std::int64_t width : {1, 8, 33, 64, 300}) {
      for (const bool rows : {true, false}) {
        const std::int64_t k = 1000000;
        const std::int64_t pitch = rows ? width : k;
        for (const int real_bytes : {4, 8}) {
          const CudaTsmttsmProblem sums{k, width, width, pitch, pitch, real_bytes, rows, false};
          for (const CudaTsmttsm& c : candidates(device, sums)) {
            const double seconds = predict(device, sums, c).seconds;
            EXPECT_TRUE(std::isfinite(seconds) && seconds > 0);
          }
          const CudaTsmmProblem maps{k, width, width, pitch, pitch, real_bytes, rows, false, false};
          for (const CudaTsmm& c : candidates(device, maps)) {
            const double seconds = predict(device, maps, c).seconds;
            EXPECT_TRUE(std::isfinite(seconds) && seconds > 0);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace blockvec::kernels::dispatch

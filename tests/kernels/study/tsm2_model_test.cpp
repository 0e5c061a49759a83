#include "src/cuda/study/tsm2_model.hpp"

#include <gtest/gtest.h>

/// The model of TSM2R against what the paper says of its cards.
namespace blockvec::kernels::cuda::study {
namespace {

/// The paper's table 2; latencies of about 600 and 10 cycles.
Tsm2Card card(int multiprocessors, double bandwidth, double rate, double clock) {
  return {.multiprocessors = multiprocessors,
          .bandwidth = bandwidth,
          .rate = rate,
          .memory_latency = 600 / clock,
          .product_latency = 10 / clock,
          .most_threads = 2048,
          .registers = 65536,
          .shared_bytes = 48 << 10};
}
const Tsm2Card k40c = card(15, 288e9, 1430e9, 745e6);
const Tsm2Card m40 = card(24, 288e9, 213e9, 1112e6);
const Tsm2Card p100 = card(56, 720e9, 4600e9, 1328e6);
const Tsm2Card v100 = card(80, 900e9, 7500e9, 1380e6);

TEST(StudyTsm2Model, HasThePapersThresholds) {
  EXPECT_NEAR(tsm2_threshold(k40c, 8), 40, 1);
  EXPECT_NEAR(tsm2_threshold(m40, 8), 6, 0.5);
  EXPECT_NEAR(tsm2_threshold(p100, 8), 50, 2);
  EXPECT_NEAR(tsm2_threshold(v100, 8), 70, 4);
}

TEST(StudyTsm2Model, KeepsAllColumnsWhereMemoryBinds) {
  for (const Tsm2Card& of : {k40c, v100}) {
    for (const int n : {2, 4, 8, 16}) EXPECT_EQ(choose_tsm2r(of, {20480, 20480, n, 8}).t2, n);
  }
}

TEST(StudyTsm2Model, ReadsFewerColumnsAtATimeWhereProductsBind) {
  const Tsm2Tiles tiles = choose_tsm2r(m40, {20480, 20480, 16, 8});
  EXPECT_LE(tiles.t2, 8);  // the paper's choice
  EXPECT_FALSE(predict_tsm2r(m40, {20480, 20480, 16, 8}, {128, 16, 4}).is_memory_bound);
}

TEST(StudyTsm2Model, TilesOfTheShortestTimeWin) {
  for (const int bytes : {4, 8}) {
    for (const int n : {1, 2, 3, 4, 8, 16, 40}) {
      const Tsm2Problem problem{20480, 20480, n, bytes};
      const double chosen = predict_tsm2r(v100, problem, choose_tsm2r(v100, problem)).seconds;
      for (const int t2 : tsm2_t2) {
        for (const int t3 : tsm2_t3) {
          if (t2 > n || tsm2_occupancy(v100, {128, t2, t3}, bytes) == 0) continue;
          EXPECT_LE(chosen, predict_tsm2r(v100, problem, {128, t2, t3}).seconds * (1 + 1e-9));
        }
      }
    }
  }
}

TEST(StudyTsm2Model, FewThreadsLeaveMemoryIdle) {
  const Tsm2Problem problem{10240, 10240, 16, 8};
  const Tsm2Tiles tiles = choose_tsm2r(v100, problem);
  const Tsm2Prediction paper = predict_tsm2r(v100, problem, tiles);
  const Tsm2Prediction grid = predict_tsm2r(v100, problem, tiles, 10240.0 / 80);
  EXPECT_EQ(paper.share, 1);
  EXPECT_LT(grid.share, 1);
  EXPECT_NEAR(grid.seconds * grid.share, paper.seconds, 1e-9 * paper.seconds);
}

}  // namespace
}  // namespace blockvec::kernels::cuda::study

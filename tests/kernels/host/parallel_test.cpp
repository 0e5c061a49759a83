#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <blockvec/kernels/parallel.hpp>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace blockvec::kernels {
namespace {

constexpr int threads = 4;

TEST(ParallelFor, MeetsEveryItemOnceAndNeverMoreThreadsThanItems) {
  for (const int items : {0, 1, 2, 3, 4, 5, 64}) {
    std::vector<int> met(static_cast<std::size_t>(items), 0), by(met);
    parallel_for(threads, items, [&](std::int64_t item, int thread) {
      ++met[static_cast<std::size_t>(item)];
      by[static_cast<std::size_t>(item)] = thread;
    });
    for (std::size_t i = 0; i < met.size(); ++i) {
      EXPECT_EQ(met[i], 1) << items;
      EXPECT_LT(by[i], std::min(threads, items));
      if (i > 0) EXPECT_GE(by[i], by[i - 1]) << "a thread takes neighbours";
    }
  }
}

/// Who the system says took each of `items` items.
std::vector<pid_t> takers(int items) {
  std::vector<pid_t> of(static_cast<std::size_t>(items));
  parallel_for(threads, items, [&](std::int64_t item, int) { of[static_cast<std::size_t>(item)] = gettid(); });
  return of;
}

TEST(ParallelFor, KeepsItsThreadsWhileTheyHaveNothingToDo) {
  const std::vector<pid_t> before = takers(threads);
  for (int items = threads; items > 0; --items) takers(items);
  EXPECT_EQ(takers(threads), before);
}

TEST(ParallelFor, RethrowsWhatABodyThrowsOnceAllThreadsAreDone) {
  std::atomic<int> done = 0;
  const auto body = [&](std::int64_t item, int) {
    if (item == 3) throw std::runtime_error("item 3");
    ++done;
  };
  EXPECT_THROW(parallel_for(threads, threads, body), std::runtime_error);
  EXPECT_EQ(done, threads - 1);
}

}  // namespace
}  // namespace blockvec::kernels

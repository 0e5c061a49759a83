#include "solvers/sparse/compressed_rows.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <blockvec/blockvec.hpp>
#include <fstream>

#include "problems/laplacian.hpp"

namespace blockvec::solvers {
namespace {

using namespace examples;

std::size_t allocated_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/// Notes how much is allocated while its rows are read.
class WatchedLaplacian final : public RowSource<double> {
 public:
  explicit WatchedLaplacian(const std::vector<std::int64_t>& grid) : laplacian_(grid) {}
  std::int64_t size() const override { return laplacian_.size(); }
  void append_row(std::int64_t row, RowEntries<double>& entries) const override {
    laplacian_.append_row(row, entries);
    most_allocated_ = std::max(most_allocated_, allocated_bytes());
  }
  std::string describe() const override { return "watched"; }
  std::size_t most_allocated() const { return most_allocated_; }

 private:
  Laplacian laplacian_;
  mutable std::size_t most_allocated_ = 0;
};

TEST(CompressedRows, HoldNoEntryTwice) {
  const WatchedLaplacian source({40, 40, 40});
  const auto rows = RowDistribution::uniform(source.size(), Communicator::self());
  const std::size_t before = allocated_bytes();
  const SplitRows<double> split = compress_rows(rows, source, 1);
  const auto count = static_cast<std::size_t>(source.size());
  const auto entries = static_cast<std::size_t>(split.own.entries());
  EXPECT_EQ(entries, 7 * count - 6 * 40 * 40);
  const std::size_t result = 2 * (count + 1) * sizeof(std::size_t) + entries * (sizeof(double) + sizeof(int));
  // Lists of slices, labels of arrays and a row for the thread; entries of 4 bytes more each would show.
  EXPECT_LE(source.most_allocated(), before + result + entries);
}

/// Rows whose lengths change from one reading to the next.
class ShiftyRows final : public RowSource<double> {
 public:
  explicit ShiftyRows(bool grows) : grows_(grows) {}
  std::int64_t size() const override { return 10; }
  void append_row(std::int64_t row, RowEntries<double>& entries) const override {
    if ((readings_++ < size()) != grows_) entries.add((row + 1) % size(), 1);
    entries.add(row, 1);
  }
  std::string describe() const override { return "shifty"; }

 private:
  bool grows_;
  mutable std::atomic<std::int64_t> readings_ = 0;
};

TEST(CompressedRows, RefuseRowsThatChange) {
  const auto rows = RowDistribution::uniform(10, Communicator::self());
  for (const bool grows : {false, true}) {
    try {
      compress_rows(rows, ShiftyRows(grows), 1);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "row 0 of the matrix has other entries when it is read again");
    }
  }
}

TEST(CompressedRows, AskForMemoryBeforeTheyTakeIt) {
  constexpr std::int64_t size = 2147483647;  // the most that one rank can hold
  constexpr std::size_t bytes = 2 * (std::size_t{size} + 1) * sizeof(std::size_t);
  std::ifstream info("/proc/meminfo");
  std::size_t available = 0;
  for (std::string word; info >> word && available == 0;) {
    if (word == "MemAvailable:") info >> available;
  }
  if (available == 0 || available * 1024 > bytes) GTEST_SKIP() << "this machine has the memory, or does not say";
  try {
    compress_rows(RowDistribution::uniform(size, Communicator::self()), Laplacian({size}), 1);
    ADD_FAILURE() << "no error";
  } catch (const OutOfMemoryError& error) {
    EXPECT_NE(std::string(error.what()).find("no memory for 34359738368 bytes"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace blockvec::solvers

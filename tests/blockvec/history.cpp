#include <gtest/gtest.h>

#include <blockvec/history.hpp>

namespace blockvec {
namespace {

HistoryEntry entry(std::string_view reason, std::int64_t reductions) {
  HistoryEntry result;
  result.verb = "normalize";
  result.asked[1] = "cholqr2";
  result.used[1] = reason.empty() ? "cholqr2" : "cgs2";
  result.reason = reason;
  result.columns = result.rank = 4;
  result.sweeps = 1;
  result.reductions = reductions;
  result.passes = 3;
  return result;
}

TEST(History, IsOffUntilStarted) {
  History history;
  history.add(entry("", 1));
  EXPECT_EQ(history.count(), 0);
  EXPECT_TRUE(history.entries().empty());
  EXPECT_EQ(history.summary(), "no calls\n");
}

TEST(History, KeepsTheLatestAndTotalsOfAll) {
  History history;
  history.start(3);
  for (int i = 1; i <= 5; ++i) history.add(entry(i == 2 ? "it was cold" : "", i));
  history.stop();
  history.add(entry("", 9));
  EXPECT_EQ(history.count(), 5);
  EXPECT_EQ(history.count("it was cold"), 1);
  EXPECT_EQ(history.count("it was hot"), 0);
  EXPECT_EQ(history.count(""), 4);
  const auto latest = history.entries();
  ASSERT_EQ(latest.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(latest[i].reductions, static_cast<std::int64_t>(i + 3));
  EXPECT_EQ(history.summary(),
            "5 calls, 15 reductions, 1.00 sweeps and 3.0 passes a call, condition up to 1.0e+00; 1 not as asked:\n"
            "  1 x it was cold (cholqr2 -> cgs2)\n");
  EXPECT_EQ(latest[0].describe(),
            "normalize: cholqr2, rank 4 of 4, sweeps 1, reductions 3, 3.0 passes, condition >= 1.0e+00");
}

TEST(History, SaysWhatFailed) {
  History history;
  history.start();
  auto failed = entry("it was cold", 1);
  failed.succeeded = false;
  failed.asked[0] = failed.used[0] = "pip";
  history.add(failed);
  EXPECT_NE(history.summary().find("1 x it was cold (pip/cholqr2 -> pip/cgs2)\n  1 without success\n"),
            std::string::npos)
      << history.summary();
  EXPECT_NE(failed.describe().find("it was cold, without success"), std::string::npos);
  history.start();
  EXPECT_EQ(history.count(), 0);
}

TEST(History, MoreReasonsThanThereIsRoomForCountWithTheLast) {
  static const char* const reasons[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i",
                                        "j", "k", "l", "m", "n", "o", "p", "q", "r"};
  History history;
  history.start(1);
  for (const char* reason : reasons) history.add(entry(reason, 1));
  EXPECT_EQ(history.count("a"), 1);
  EXPECT_EQ(history.count("p"), 3);
  EXPECT_EQ(history.count(""), 0);
}

}  // namespace
}  // namespace blockvec

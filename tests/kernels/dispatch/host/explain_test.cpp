#include <gtest/gtest.h>

#include <blockvec/kernels/explain.hpp>
#include <complex>
#include <string>

namespace blockvec::kernels {
namespace {

constexpr Layout row = Layout::row_major;
constexpr Layout column = Layout::column_major;

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Explain, NamesLayoutTargetAndPartition) {
  const std::string text = explain_tsmttsm<double>(1000000, 8, 8, row);
  EXPECT_TRUE(says(text, "row-major ")) << text;
  EXPECT_TRUE(says(text, " chunks of ")) << text;
  EXPECT_TRUE(says(text, " parts")) << text;
  EXPECT_TRUE(says(explain_tsmm<double>(1000000, 8, 8, row), ", blocks of "));
  EXPECT_TRUE(says(explain_tsmm<double>(1000000, 8, 8, column), "column-major "));
}

TEST(Explain, SaysWhereColumnsArePackedByRows) {
  EXPECT_TRUE(says(explain_tsmttsm<double>(1000000, 512, 32, column), "packed by rows"));
  EXPECT_FALSE(says(explain_tsmttsm<std::complex<float>>(1000000, 64, 64, column), "packed"));
  EXPECT_FALSE(says(explain_tsmttsm<double>(1000000, 8, 8, column), "packed"));
  EXPECT_FALSE(says(explain_tsmttsm<double>(1000000, 512, 32, row), "packed"));
}

TEST(Explain, SaysWhenThereIsNothingToDo) {
  EXPECT_EQ(explain_tsmttsm<float>(0, 8, 8, row), "nothing to multiply");
  EXPECT_EQ(explain_tsmttsm<float>(100, 0, 8, row), "nothing to multiply");
  EXPECT_EQ(explain_tsmm<float>(100, 8, 0, column), "nothing to multiply");
}

}  // namespace
}  // namespace blockvec::kernels

#include <blockvec/small_matrix.hpp>

#include "tests/support/naive.hpp"

namespace blockvec {
namespace {

using testing::expect_parts;
using testing::message_of;

TEST(SmallMatrix, BlocksShareMemoryAndReadsAreCopies) {
  const SmallMatrix<double> c(Context::self(1), 4, 5);
  const auto block = c.block(1, 3, 2, 5);
  EXPECT_EQ(block.rows(), 2);
  EXPECT_EQ(block.columns(), 3);
  EXPECT_EQ(block.ld(), 4);
  HostMatrix<double> values("values", 2, 3);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) values(i, j) = 10 * i + j + 1;
  }
  block.from_host(values);
  const auto whole = c.to_host();
  EXPECT_EQ(whole(1, 2), 1);
  EXPECT_EQ(whole(2, 4), 13);
  EXPECT_EQ(whole(0, 0), 0);
  whole(0, 0) = 99;
  EXPECT_EQ(c.to_host()(0, 0), 0);
  EXPECT_EQ(block.block(1, 2, 1, 2).to_host()(0, 0), 12);
}

TEST(SmallMatrix, EmptyOnesAreFine) {
  const SmallMatrix<Complex<float>> c(Context::self(1), 0, 3);
  EXPECT_EQ(c.block(0, 0, 1, 2).columns(), 1);
  EXPECT_EQ(c.to_host().extent(0), 0u);
}

TEST(SmallMatrix, RefusesWhatDoesNotFit) {
  const SmallMatrix<double> c(Context::self(1), 4, 5);
  expect_parts(message_of<ShapeError>([&] { c.block(0, 5, 0, 1); }), {"[0, 5)", "4 x 5"});
  expect_parts(message_of<ShapeError>([&] { c.block(2, 1, 0, 1); }), {"[2, 1)"});
  expect_parts(message_of<ShapeError>([&] { c.from_host(HostMatrix<double>("x", 2, 2)); }), {"2 x 2 values", "4 x 5"});
  expect_parts(message_of<ShapeError>([&] { SmallMatrix<float>(Context::self(1), -1, 2); }), {"-1 x 2"});
}

}  // namespace
}  // namespace blockvec

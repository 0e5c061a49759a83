#include <blockvec/on_host.hpp>
#include <blockvec/small_matrix.hpp>

#include "tests/support/naive.hpp"

namespace blockvec {
namespace {

using testing::expect_parts;
using testing::message_of;

template <class C>
class SmallMatrixTest : public ::testing::Test {
 protected:
  const Context context_ = Context::self(1);
};
template <class Space>
using Doubles = ::testing::Types<testing::Case<double, RowMajor, Space>>;
TYPED_TEST_SUITE(SmallMatrixTest, testing::InEverySpace<Doubles>, testing::CaseName);

// Entries that tell row and column.
template <class Small>
void number(const Small& c) {
  HostMatrix<double> values("values", static_cast<std::size_t>(c.rows()), static_cast<std::size_t>(c.columns()));
  for (int i = 0; i < c.rows(); ++i) {
    for (int j = 0; j < c.columns(); ++j) values(i, j) = 10 * i + j + 1;
  }
  c.from_host(values);
}

TYPED_TEST(SmallMatrixTest, BlocksShareMemoryAndReadsAreCopies) {
  const typename TypeParam::Small c(this->context_, 4, 5);
  const auto block = c.block(1, 3, 2, 5);
  EXPECT_EQ(block.rows(), 2);
  EXPECT_EQ(block.columns(), 3);
  EXPECT_EQ(block.ld(), 4);
  EXPECT_TRUE(block.context().same(this->context_));
  number(block);
  const auto whole = c.to_host();
  EXPECT_EQ(whole(1, 2), 1);
  EXPECT_EQ(whole(2, 4), 13);
  EXPECT_EQ(whole(0, 0), 0);
  EXPECT_EQ(whole(3, 2), 0);
  whole(0, 0) = 99;
  EXPECT_EQ(c.to_host()(0, 0), 0);
  EXPECT_EQ(block.block(1, 2, 1, 2).to_host()(0, 0), 12);
}

TYPED_TEST(SmallMatrixTest, EmptyOnesAreFine) {
  const typename TypeParam::Small c(this->context_, 0, 3);
  EXPECT_EQ(c.block(0, 0, 1, 2).columns(), 1);
  EXPECT_EQ(c.to_host().extent(0), 0u);
}

TYPED_TEST(SmallMatrixTest, RefusesWhatDoesNotFit) {
  using Small = typename TypeParam::Small;
  const Small c(this->context_, 4, 5);
  expect_parts(message_of<ShapeError>([&] { c.block(0, 5, 0, 1); }), {"[0, 5)", "4 x 5"});
  expect_parts(message_of<ShapeError>([&] { c.block(2, 1, 0, 1); }), {"[2, 1)"});
  expect_parts(message_of<ShapeError>([&] { c.from_host(HostMatrix<double>("x", 2, 2)); }), {"2 x 2 values", "4 x 5"});
  expect_parts(message_of<ShapeError>([&] { Small(this->context_, -1, 2); }), {"-1 x 2"});
}

TYPED_TEST(SmallMatrixTest, TheHostReadsWritesAndUpdatesThem) {
  const typename TypeParam::Small a(this->context_, 3, 4), b(this->context_, 3, 4), c(this->context_, 3, 4);
  number(a);
  number(c);
  const auto part = a.block(1, 3, 1, 4);
  const double sum = on_host(
      [](const auto& x, const auto& y, const auto& z) {
        double total = 0;
        for (int j = 0; j < 3; ++j) {
          for (int i = 0; i < 2; ++i) {
            total += x.view()(i, j);
            y.view()(i, j) = -x.view()(i, j);
          }
        }
        z.view()(0, 1) = 7;
        return total;
      },
      reads(part), writes(b.block(0, 2, 0, 3)), updates(c));
  EXPECT_EQ(sum, 12 + 13 + 14 + 22 + 23 + 24);
  const auto written = b.to_host(), updated = c.to_host();
  EXPECT_EQ(written(1, 2), -24);
  EXPECT_EQ(written(2, 0), 0) << "outside of the block";
  EXPECT_EQ(updated(0, 1), 7);
  EXPECT_EQ(updated(2, 3), 24) << "not written by the body";
}

TYPED_TEST(SmallMatrixTest, WhatThrowsOnTheHostIsThrown) {
  const typename TypeParam::Small a(this->context_, 2, 2);
  const auto fail = [](const auto&) -> int { throw Error("on purpose"); };
  EXPECT_THROW(on_host(fail, reads(a)), Error);
  on_host([](const auto& x) { x.view()(0, 0) = 5; }, updates(a));
  EXPECT_EQ(a.to_host()(0, 0), 5);
}

}  // namespace
}  // namespace blockvec

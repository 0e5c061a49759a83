#include <gtest/gtest.h>

#include <blockvec/communicator.hpp>

// Fails on every rank but the first: the test programs' main() must notice, and say where.
TEST(FailsBeyondRank0, on_purpose) { EXPECT_EQ(blockvec::Communicator::world().rank(), 0); }

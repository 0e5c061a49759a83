#include <gtest/gtest.h>

#include <blockvec/kernels/error.hpp>
#include <blockvec/kernels/spmmv.hpp>
#include <limits>

#include "tests/kernels/support/sparse.hpp"

/// The oracle of sparse products by an example that one checks by hand.
namespace blockvec::kernels {
namespace {

using namespace test;

// A = (1 2 0; 0 0 3), X = (1 10; 2 20; 3 30).
struct Example {
  SparseMatrix<double> a{3, {0, 2, 3}, {0, 1, 2}, {1, 2, 3}};
  double x[6] = {1, 10, 2, 20, 3, 30};
  double z[4] = {1, 2, 3, 4};
  double y[4] = {-1, -1, -1, -1};
  Matrix<const double> x_view{x, 3, 2, 2};
  Matrix<const double> z_view{z, 2, 2, 2};
  Matrix<double> y_view{y, 2, 2, 2};
};

TEST(ReferenceSpmmv, MultipliesShiftsAndAdds) {
  Example e;
  reference::spmmv<double>(2, e.a.view(), 0.5, e.x_view, 10, e.z_view, e.y_view);
  EXPECT_EQ(e.y[0], 2 * (5 - 0.5) + 10);
  EXPECT_EQ(e.y[1], 2 * (50 - 5) + 20);
  EXPECT_EQ(e.y[2], 2 * (9 - 1) + 30);
  EXPECT_EQ(e.y[3], 2 * (90 - 10) + 40);
}

TEST(ReferenceSpmmv, ReadsNothingForZeroFactors) {
  Example e;
  e.y[0] = e.z[0] = std::numeric_limits<double>::quiet_NaN();
  reference::spmmv<double>(1, e.a.view(), 0, e.x_view, 0, e.y_view, e.y_view);
  EXPECT_EQ(e.y[0], 5);
  e.x[0] = std::numeric_limits<double>::quiet_NaN();
  e.z[0] = 1;
  reference::spmmv<double>(0, e.a.view(), 1, e.x_view, 3, e.z_view, e.y_view);
  EXPECT_EQ(e.y[0], 3);
}

TEST(ReferenceSpmmv, NamesOperandsThatDoNotFit) {
  Example e;
  e.x_view.rows = 2;
  try {
    reference::spmmv<double>(1, e.a.view(), 0, e.x_view, 0, e.z_view, e.y_view);
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "spmmv: A is 2 x 3 sparse and X is 2 x 2 row-major: expected X to have 3 rows");
  }
}

}  // namespace
}  // namespace blockvec::kernels

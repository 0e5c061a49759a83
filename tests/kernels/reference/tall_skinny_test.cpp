#include <gtest/gtest.h>

#include <blockvec/kernels/tall_skinny.hpp>
#include <complex>

namespace blockvec::kernels {
namespace {

using C = std::complex<double>;

// The oracle against numbers worked out by hand.
TEST(Reference, TsmttsmByHand) {
  double a[] = {1, 2, 3, 4, 5, 6};  // 3 x 2, row-major
  double b[] = {1, -1, 2};          // 3 x 1
  double c[] = {10, 20};            // 2 x 1
  const Matrix<double> left{a, 3, 2, 2, Layout::row_major};
  reference::tsmttsm(Op::transpose, 2.0, left, Matrix<double>{b, 3, 1, 1, Layout::row_major}, 3.0,
                     Matrix<double>{c, 2, 1, 1, Layout::row_major});
  EXPECT_EQ(c[0], 2 * (1 - 3 + 10) + 3 * 10);
  EXPECT_EQ(c[1], 2 * (2 - 4 + 12) + 3 * 20);
}

TEST(Reference, ConjugateTransposeByHand) {
  C a[] = {{1, 2}, {3, -1}};  // 2 x 1
  C b[] = {{0, 1}, {2, 2}};
  C c[] = {{0, 0}};
  const Matrix<C> left{a, 2, 1, 2, Layout::column_major};
  const Matrix<C> right{b, 2, 1, 2, Layout::column_major};
  const Matrix<C> out{c, 1, 1, 1, Layout::row_major};
  reference::tsmttsm(Op::conjugate_transpose, C(1), left, right, C(0), out);
  EXPECT_EQ(c[0], C(2, 1) + C(4, 8));
  reference::tsmttsm(Op::transpose, C(1), left, right, C(0), out);
  EXPECT_EQ(c[0], C(-2, 1) + C(8, 4));
}

TEST(Reference, TsmmByHand) {
  double a[] = {1, 2, 3, 4};  // 2 x 2, column-major: rows (1, 3), (2, 4)
  double c[] = {1, 10, 100, 1000};
  double b[] = {1, 1, 1, 1};
  const Matrix<double> left{a, 2, 2, 2, Layout::column_major};
  const Matrix<double> small{c, 2, 2, 2, Layout::row_major};
  const Matrix<double> out{b, 2, 2, 2, Layout::column_major};
  reference::tsmm(1.0, left, small, 1.0, out);
  EXPECT_EQ(b[0], 1 + 1 + 300);
  EXPECT_EQ(b[1], 1 + 2 + 400);
  EXPECT_EQ(b[2], 1 + 10 + 3000);
  EXPECT_EQ(b[3], 1 + 20 + 4000);
  reference::tsmm(1.0, left, small, 0.0, out, Triangle::upper);
  EXPECT_EQ(b[0], 1);
  EXPECT_EQ(b[2], 10 + 3000);
  reference::tsmm(1.0, left, small, 0.0, out, Triangle::lower);
  EXPECT_EQ(b[0], 1 + 300);
  EXPECT_EQ(b[2], 3000);
  reference::tsmm_inplace(left, small);
  EXPECT_EQ(a[0], 1 + 300);
  EXPECT_EQ(a[3], 20 + 4000);
}

}  // namespace
}  // namespace blockvec::kernels

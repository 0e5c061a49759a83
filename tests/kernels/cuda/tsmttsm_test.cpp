#include <gtest/gtest.h>

#include <complex>
#include <cstdint>

#include "tests/kernels/cuda/products.hpp"

namespace blockvec::kernels {
namespace {

using namespace test;

template <class T>
class CudaTsmttsm : public OnDevice {};
using Scalars = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(CudaTsmttsm, Scalars);

constexpr Layout layouts[] = {Layout::row_major, Layout::column_major};
constexpr Op ops[] = {Op::transpose, Op::conjugate_transpose};

TYPED_TEST(CudaTsmttsm, SquareOfEveryWidth) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (std::int64_t width = 0; width <= 70; ++width) {
      const Placement place{layout, layouts[width % 2], width % 3, width % 5};
      const Placement tight{layout, layouts[width % 2], 0, width % 3};
      expect_device_tsmttsm<T>(65, width, width, place, ops[width % 2], T(1), T(0));
      expect_device_tsmttsm<T>(1007, width, width, tight, ops[width % 2], T(1), T(0), false, Way::few_blocks);
      expect_device_tsmttsm<T>(1007, width, width, tight, ops[width % 2], T(1), T(0), true);
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(CudaTsmttsm, Rectangles) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t m : {0, 1, 2, 3, 5, 8, 13, 16, 33, 64, 100}) {
      for (const std::int64_t n : {0, 1, 2, 4, 7, 8, 17, 24, 65}) {
        expect_device_tsmttsm<T>(77, m, n, {layout, Layout::column_major, (m + n) % 2, m % 2}, ops[n % 2],
                                 value<T>(2, 1), value<T>(-1, 0.5));
        expect_device_tsmttsm<T>(777, m, n, {layout, Layout::row_major, 0, n % 2}, ops[n % 2], T(1), T(0), false,
                                 Way::few_blocks);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(CudaTsmttsm, EveryLength) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t k : {0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 127, 128, 129, 511, 513, 1025, 5000, 40001}) {
      for (const std::int64_t width : {1, 2, 3, 8, 20}) {
        for (const std::int64_t pad : {0, 1}) {
          expect_device_tsmttsm<T>(k, width, width + pad, {layout, Layout::row_major, pad, 1}, Op::conjugate_transpose,
                                   T(1), T(0), false, k % 2 == 0 ? Way::plain : Way::few_blocks);
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

TYPED_TEST(CudaTsmttsm, LongSums) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t k : {100001, 400000}) {
      expect_device_tsmttsm<T>(k, 2, 3, {layout, Layout::row_major, 0, 0}, Op::conjugate_transpose, T(1), T(0));
      expect_device_tsmttsm<T>(k, 3, 3, {layout, Layout::row_major, 2, 1}, Op::transpose, T(1), T(0), true);
    }
  }
}

TYPED_TEST(CudaTsmttsm, WideBasis) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const Way way : {Way::plain, Way::few_blocks}) {
      expect_device_tsmttsm<T>(300, 512, 32, {layout, Layout::row_major, 0, 0}, Op::conjugate_transpose, T(1), T(0),
                               false, way);
      expect_device_tsmttsm<T>(300, 9, 300, {layout, Layout::row_major, 0, 0}, Op::conjugate_transpose, T(1), T(0),
                               false, way);
    }
  }
}

TYPED_TEST(CudaTsmttsm, AlphaAndBetaOfHostAndDevice) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const T alpha : {T(0), T(1), value<T>(-0.5, 2)}) {
      for (const T beta : {T(0), T(1), value<T>(0.25, -3)}) {
        for (const Op op : ops) {
          for (const Way way : {Way::plain, Way::device_scalars}) {
            expect_device_tsmttsm<T>(100, 5, 6, {layout, Layout::row_major, 1, 0}, op, alpha, beta, false, way);
            expect_device_tsmttsm<T>(100, 5, 6, {layout, Layout::row_major, 0, 0}, op, alpha, beta, false, way);
          }
        }
      }
    }
  }
}

TYPED_TEST(CudaTsmttsm, AlphaZeroReadsNothing) {
  using T = TypeParam;
  for (const Way way : {Way::plain, Way::device_scalars}) {
    GuardedMatrix<T> a(50, 3, Layout::row_major, 0, 0, poison<T>());
    GuardedMatrix<T> c(3, 3, Layout::row_major, 0, 0, mark<T>());
    c.fill_with(T(2));
    a.fill_with(poison<T>());
    OnDeviceMatrix<T> device_a(a);
    OnDeviceMatrix<T> device_c(c);
    run_tsmttsm<T>(way, Op::transpose, T(0), device_a.view(), device_a.view(), T(3), device_c.view());
    device_c.download();
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) EXPECT_EQ(c(i, j), T(6));
    }
  }
}

TYPED_TEST(CudaTsmttsm, NanPassesToItsEntriesAlone) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t width : {1, 2, 3, 8, 20, 40}) {
      std::mt19937 random(1);
      GuardedMatrix<T> a(700, width, layout, 0, 0, mark<T>());
      GuardedMatrix<T> b(700, width, layout, 0, 0, mark<T>());
      GuardedMatrix<T> c(width, width, Layout::row_major, 0, 0, mark<T>());
      a.fill(random);
      b.fill(random);
      a(650, width / 2) = poison<T>();
      OnDeviceMatrix<T> device_a(a);
      OnDeviceMatrix<T> device_b(b);
      OnDeviceMatrix<T> device_c(c);
      run_tsmttsm<T>(Way::plain, Op::conjugate_transpose, T(1), device_a.view(), device_b.view(), T(0),
                     device_c.view());
      device_c.download();
      for (std::int64_t i = 0; i < width; ++i) {
        for (std::int64_t j = 0; j < width; ++j) EXPECT_EQ(is_nan(c(i, j)), i == width / 2);
      }
    }
  }
}

TYPED_TEST(CudaTsmttsm, SameBitsEveryTime) {
  using T = TypeParam;
  std::mt19937 random(7);
  for (const Layout layout : layouts) {
    for (const std::int64_t width : {1, 6, 33, 64}) {
      GuardedMatrix<T> a(60001, width, layout, 0, 0, mark<T>());
      a.fill(random);
      OnDeviceMatrix<T> device_a(a);
      GuardedMatrix<T> once(width, width, Layout::row_major, 0, 0, mark<T>());
      OnDeviceMatrix<T> device_once(once);
      run_tsmttsm<T>(Way::plain, Op::transpose, T(1), device_a.view(), device_a.view(), T(0), device_once.view());
      device_once.download();
      for (int repetition = 0; repetition < 10; ++repetition) {
        GuardedMatrix<T> c(width, width, Layout::row_major, 0, 0, mark<T>());
        OnDeviceMatrix<T> device_c(c);
        run_tsmttsm<T>(Way::plain, Op::transpose, T(1), device_a.view(), device_a.view(), T(0), device_c.view());
        device_c.download();
        EXPECT_TRUE(c.same_bits_as(once)) << "width " << width;
      }
    }
  }
}

TYPED_TEST(CudaTsmttsm, GramIsHermitianToTheLastBit) {
  using T = TypeParam;
  std::mt19937 random(3);
  for (const Layout layout : layouts) {
    for (const std::int64_t pad : {0, 1}) {
      for (const std::int64_t width : {4, 21, 60}) {
        GuardedMatrix<T> a(3000, width, layout, pad, 0, poison<T>());
        a.fill(random);
        GuardedMatrix<T> c(width, width, Layout::row_major, 0, 0, mark<T>());
        OnDeviceMatrix<T> device_a(a);
        OnDeviceMatrix<T> device_c(c);
        run_tsmttsm<T>(Way::plain, Op::conjugate_transpose, T(1), device_a.view(), device_a.view(), T(0),
                       device_c.view());
        device_c.download();
        for (std::int64_t i = 0; i < width; ++i) {
          for (std::int64_t j = 0; j < width; ++j) {
            if constexpr (is_complex<T>) {
              EXPECT_EQ(c(i, j), std::conj(c(j, i)));
            } else {
              EXPECT_EQ(c(i, j), c(j, i));
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace blockvec::kernels

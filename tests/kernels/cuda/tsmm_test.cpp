#include <gtest/gtest.h>

#include <complex>
#include <cstdint>

#include "tests/kernels/cuda/products.hpp"

namespace blockvec::kernels {
namespace {

using namespace test;

template <class T>
class CudaTsmm : public OnDevice {};
using Scalars = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(CudaTsmm, Scalars);

constexpr Layout layouts[] = {Layout::row_major, Layout::column_major};
constexpr Triangle triangles[] = {Triangle::general, Triangle::upper, Triangle::lower};

TYPED_TEST(CudaTsmm, SquareOfEveryWidth) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (std::int64_t width = 0; width <= 70; ++width) {
      const Placement place{layout, layouts[width % 2], width % 3, width % 5};
      const Placement tight{layout, layouts[width % 2], 0, width % 2 * 3};
      const Triangle triangle = triangles[width % 3];
      expect_device_tsmm<T>(67, width, width, place, T(1), T(0), triangle);
      expect_device_tsmm<T>(1007, width, width, tight, T(1), T(0), triangle, Way::few_blocks);
      expect_device_tsmm<T>(1007, width, width, tight, value<T>(2, 1), value<T>(0.5, -1), triangle, Way::few_blocks);
      expect_device_tsmm_inplace<T>(67, width, width, place, triangles[(width + 1) % 3]);
      expect_device_tsmm_inplace<T>(1007, width, width, tight, triangles[(width + 1) % 3], Way::few_blocks);
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(CudaTsmm, Rectangles) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t m : {0, 1, 2, 3, 5, 8, 13, 16, 33, 100}) {
      for (const std::int64_t n : {0, 1, 2, 4, 7, 8, 17, 24, 65}) {
        const Placement place{layout, Layout::column_major, (m + n) % 2, m % 2};
        expect_device_tsmm<T>(79, m, n, place, value<T>(2, 1), value<T>(-1, 0.5), triangles[m % 3]);
        expect_device_tsmm<T>(779, m, n, {layout, Layout::row_major, 0, 0}, value<T>(2, 1), value<T>(-1, 0.5),
                              triangles[m % 3], Way::few_blocks);
        if (n <= m) expect_device_tsmm_inplace<T>(79, m, n, place, triangles[n % 3]);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(CudaTsmm, EveryLength) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t k : {0, 1, 2, 3, 7, 31, 32, 33, 511, 512, 513, 1025, 5000, 40001}) {
      for (const std::int64_t width : {1, 2, 3, 8, 20}) {
        for (const std::int64_t pad : {0, 1}) {
          const Way way = k % 2 == 0 ? Way::plain : Way::few_blocks;
          const Placement place{layout, Layout::row_major, pad, 1};
          expect_device_tsmm<T>(k, width + pad, width, place, T(1), T(0), Triangle::general, way);
          expect_device_tsmm_inplace<T>(k, width + pad, width, place, Triangle::general, way);
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

TYPED_TEST(CudaTsmm, WideBasis) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const Way way : {Way::plain, Way::few_blocks}) {
      expect_device_tsmm<T>(300, 512, 32, {layout, Layout::row_major, 0, 0}, T(-1), T(1), Triangle::general, way);
      expect_device_tsmm<T>(300, 9, 300, {layout, Layout::row_major, 0, 0}, T(1), T(0), Triangle::general, way);
    }
  }
}

TYPED_TEST(CudaTsmm, EveryConfiguration) {
  using T = TypeParam;
  struct Case {
    std::int64_t k, m, n, pad, offset;
  };
  const Case cases[] = {
      {777, 5, 3, 1, 1}, {777, 16, 16, 0, 0}, {777, 37, 27, 1, 1}, {301, 130, 70, 2, 0}, {150, 515, 66, 1, 0}};
  for (const Layout layout : layouts) {
    for (const Case& x : cases) {
      const Placement place{layout, Layout::row_major, x.pad, x.offset};
      expect_every_tsmm<T>(x.k, x.m, x.n, place, T(1), T(0));
      expect_every_tsmm<T>(x.k / 2, x.m, x.n, place, value<T>(2, 1), value<T>(0.5, -1));
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(CudaTsmm, AlphaAndBetaOfHostAndDevice) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const T alpha : {T(0), T(1), value<T>(-0.5, 2)}) {
      for (const T beta : {T(0), T(1), T(-2), value<T>(0.25, -3)}) {
        for (const std::int64_t pad : {0, 3}) {
          for (const Way way : {Way::plain, Way::device_scalars}) {
            expect_device_tsmm<T>(100, 5, 6, {layout, Layout::row_major, pad, 1}, alpha, beta, Triangle::general, way);
          }
        }
      }
    }
  }
}

TYPED_TEST(CudaTsmm, AlphaZeroReadsNothing) {
  using T = TypeParam;
  for (const Way way : {Way::plain, Way::device_scalars}) {
    GuardedMatrix<T> a(50, 3, Layout::row_major, 0, 0, poison<T>());
    GuardedMatrix<T> c(3, 3, Layout::row_major, 0, 0, poison<T>());
    GuardedMatrix<T> b(50, 3, Layout::row_major, 0, 0, mark<T>());
    a.fill_with(poison<T>());
    c.fill_with(poison<T>());
    b.fill_with(T(2));
    OnDeviceMatrix<T> device_a(a);
    OnDeviceMatrix<T> device_b(b);
    OnDeviceMatrix<T> device_c(c);
    run_tsmm<T>(way, T(0), device_a.view(), device_c.view(), T(3), device_b.view(), Triangle::general, false);
    device_b.download();
    for (int i = 0; i < 50; ++i) {
      for (int j = 0; j < 3; ++j) EXPECT_EQ(b(i, j), T(6));
    }
  }
}

TYPED_TEST(CudaTsmm, NanStaysInItsRow) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t width : {1, 2, 3, 8, 20, 33}) {
      std::mt19937 random(1);
      GuardedMatrix<T> a(200, width, layout, 0, 0, mark<T>());
      GuardedMatrix<T> c(width, width, Layout::row_major, 0, 0, mark<T>());
      GuardedMatrix<T> b(200, width, layout, 0, 0, mark<T>());
      a.fill(random);
      c.fill(random);
      a(150, width / 2) = poison<T>();
      OnDeviceMatrix<T> device_a(a);
      OnDeviceMatrix<T> device_b(b);
      OnDeviceMatrix<T> device_c(c);
      run_tsmm<T>(Way::plain, T(1), device_a.view(), device_c.view(), T(0), device_b.view(), Triangle::general, false);
      device_b.download();
      for (std::int64_t k = 0; k < 200; ++k) {
        for (std::int64_t j = 0; j < width; ++j) EXPECT_EQ(is_nan(b(k, j)), k == 150);
      }
    }
  }
}

TYPED_TEST(CudaTsmm, SameBitsEveryTimeAndInPlace) {
  using T = TypeParam;
  std::mt19937 random(7);
  for (const Layout layout : layouts) {
    for (const std::int64_t width : {1, 6, 33, 64}) {
      GuardedMatrix<T> a(60001, width, layout, 0, 0, mark<T>());
      GuardedMatrix<T> c(width, width, Layout::row_major, 0, 0, mark<T>());
      GuardedMatrix<T> once(60001, width, layout, 0, 0, mark<T>());
      GuardedMatrix<T> again = once;
      a.fill(random);
      c.fill(random);
      OnDeviceMatrix<T> device_a(a);
      OnDeviceMatrix<T> device_c(c);
      OnDeviceMatrix<T> device_once(once);
      OnDeviceMatrix<T> device_again(again);
      const auto run = [&](const Matrix<T>& b, bool in_place) {
        run_tsmm<T>(Way::plain, T(1), device_a.view(), device_c.view(), T(0), b, Triangle::general, in_place);
      };
      run(device_once.view(), false);
      device_once.download();
      for (int repetition = 0; repetition < 5; ++repetition) {
        run(device_again.view(), false);
        device_again.download();
        EXPECT_TRUE(again.same_bits_as(once)) << "width " << width;
      }
      run(device_a.view(), true);
      device_a.download();
      EXPECT_TRUE(a.same_bits_as(once)) << "in place, width " << width;
    }
  }
}

}  // namespace
}  // namespace blockvec::kernels

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>

#include "tests/kernels/cuda/products.hpp"
#include "tests/kernels/support/tsmm_cases.hpp"

namespace blockvec::kernels {
namespace {

using namespace test;

template <class T>
class CudaTsmm : public OnDevice {};
TYPED_TEST_SUITE(CudaTsmm, Scalars);

INSTANTIATE_TYPED_TEST_SUITE_P(Cuda, TsmmCases, InAllScalars<OnCuda>);

// More chunks than stages, whatever the device.
TYPED_TEST(CudaTsmm, ManyRows) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t width : {1, 2, 3, 8, 20}) {
      for (const std::int64_t pad : {0, 1}) {
        const Placement place{layout, Layout::row_major, pad, 1};
        expect_tsmm<T>(run_on_few_blocks, 40001, width + pad, width, place, T(1), T(0));
        expect_tsmm_inplace<T>(run_on_few_blocks, 40001, width + pad, width, place);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(CudaTsmm, EveryConfiguration) {
  using T = TypeParam;
  struct Case {
    std::int64_t k, m, n, pad, offset;
  };
  const Case cases[] = {{777, 5, 3, 1, 1},     {777, 16, 16, 0, 0},   {777, 37, 27, 1, 1},  {777, 33, 35, 0, 0},
                        {778, 57, 45, 0, 0},   {776, 40, 48, 0, 0},   {301, 130, 70, 2, 0}, {150, 515, 66, 1, 0},
                        {5001, 130, 12, 1, 0}, {3200, 515, 16, 2, 0}, {4099, 135, 7, 3, 0}};
  for (const Layout layout : layouts) {
    for (const Case& x : cases) {
      const Placement place{layout, Layout::row_major, x.pad, x.offset};
      expect_every_tsmm<T>(x.k, x.m, x.n, place, T(1), T(0));
      expect_every_tsmm<T>(x.k / 2, x.m, x.n, place, value<T>(2, 1), value<T>(0.5, -1));
      if (this->HasFatalFailure()) return;
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

// Columns of any width, alignment and length.
TYPED_TEST(CudaTsmm, NarrowColumns) {
  using T = TypeParam;
  for (const std::int64_t width : {1, 2, 3, 7, 8, 9, 11, 16, 24}) {
    for (const std::int64_t pad : {0, 1, 3}) {
      const Placement place{Layout::column_major, Layout::row_major, pad, pad % 3};
      const std::int64_t k = 4000 + 300 * (width % 2) + pad;  // several chunks
      expect_every_tsmm<T>(k, width, width, place, T(1), T(0));
      expect_every_tsmm<T>(k, width + 13, width, place, value<T>(2, 1), value<T>(0.5, -1));
      expect_tsmm_inplace<T>(run_on_few_blocks, k, width + pad, width, place);
      if (this->HasFatalFailure()) return;
    }
  }
}

// Columns to keep, guards and poisoned neighbours beside views whose rows begin at multiples of 16 bytes.
TYPED_TEST(CudaTsmm, AlignedViewsInPlace) {
  using T = TypeParam;
  for (const std::int64_t width : {2, 8, 16, 24, 32, 40}) {
    for (const std::int64_t k : {1, 15, 9001}) {
      for (const std::int64_t ld : {64, 128}) {
        const Placement place{Layout::row_major, Layout::row_major, ld - width, 4 * (width % 3)};
        expect_tsmm_inplace<T>(run_on_few_blocks, k, width, width, place);
        expect_tsmm_inplace<T>(run_on_few_blocks, k, width, width - 1, place, Triangle::upper);
        expect_tsmm<T>(run_on_few_blocks, k, width, 4, place, T(1), T(0));
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace blockvec::kernels

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

#include "tests/kernels/cuda/longer.hpp"
#include "tests/kernels/support/tsmttsm_cases.hpp"

namespace blockvec::kernels {
namespace {

using namespace test;

template <class T>
class CudaTsmttsm : public OnDevice {};
TYPED_TEST_SUITE(CudaTsmttsm, Scalars);

INSTANTIATE_TYPED_TEST_SUITE_P(Cuda, TsmttsmCases, InAllScalars<OnCuda>);

// Views of wider matrices: odd leading dimensions, and starts anywhere.
TYPED_TEST(CudaTsmttsm, ViewsOfEveryWidth) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (std::int64_t width = 1; width <= 70; ++width) {
      const Placement a{layout, Layout::row_major, width % 7 + 20, width % 4};
      const Placement b{layout, Layout::row_major, width % 3 + 64 - width % 64, (width + 1) % 4};
      const Placement tight{layout, Layout::row_major, 0, width % 2};
      expect_tsmttsm<T>(run_on_few_blocks, 261, width, width, a, b, Op::conjugate_transpose, T(1), T(0));
      expect_tsmttsm<T>(plain_run, 193, width, 71 - width, a, tight, Op::transpose, T(1), T(0));
      expect_tsmttsm<T>(plain_run, 130, width, 1 + width % 9, tight, b, Op::conjugate_transpose, T(1), T(0));
      expect_tsmttsm<T>(run_on_few_blocks, 261, width, width, a, a, Op::conjugate_transpose, T(1), T(0), true);
      if (this->HasFatalFailure()) return;
    }
  }
}

// Every length about the ends of chunks, and shorter than the classes that rows are dealt into.
TYPED_TEST(CudaTsmttsm, ViewsOfEveryLength) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t pad : {31, 32, 33, 34}) {
      for (const std::int64_t k : {1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 63, 65, 127, 129, 255, 257, 1023, 1025}) {
        const Placement a{layout, Layout::row_major, pad, k % 4};
        expect_tsmttsm<T>(run_on_few_blocks, k, 5, 9, a, a, Op::conjugate_transpose, T(1), T(0));
        expect_tsmttsm<T>(plain_run, k, 18, 2, a, a, Op::conjugate_transpose, T(1), T(0));
        expect_tsmttsm<T>(run_on_few_blocks, k, 11, 11, a, a, Op::conjugate_transpose, T(1), T(0), true);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

// Wider than a box, which has at most 256 numbers.
TYPED_TEST(CudaTsmttsm, WideViews) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t pad : {63, 64}) {
      const Placement a{layout, Layout::row_major, pad, 1};
      const Placement b{layout, Layout::row_major, 0, 0};
      for (const std::int64_t m : {100, 129, 200, 241, 300, 512}) {
        expect_tsmttsm<T>(run_on_few_blocks, 301, m, 7, a, b, Op::conjugate_transpose, T(1), T(0));
        expect_tsmttsm<T>(run_on_few_blocks, 301, 7, m, b, a, Op::conjugate_transpose, T(1), T(0));
        if (m < 256) expect_tsmttsm<T>(plain_run, 77, m, m, a, a, Op::conjugate_transpose, T(1), T(0), true);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

// Results that one block does not hold.
TYPED_TEST(CudaTsmttsm, LargeResults) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t pad : {0, 3}) {
      const Placement a{layout, Layout::row_major, pad, pad};
      expect_tsmttsm<T>(run_on_few_blocks, 99, 300, 140, a, a, Op::conjugate_transpose, T(1), T(0));
      expect_tsmttsm<T>(plain_run, 99, 65, 513, a, a, Op::conjugate_transpose, T(1), T(0));
      expect_tsmttsm<T>(plain_run, 99, 200, 200, a, a, Op::conjugate_transpose, T(1), T(0), true);
    }
  }
}

// Many columns of A and middling ones of B, in many chunks; all of A's sections have the same of B.
TYPED_TEST(CudaTsmttsm, ManyColumnsOfA) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t pad : {0, 1}) {
      const Placement place{layout, Layout::row_major, pad, 0};
      for (const std::int64_t m : {72, 193, 512}) {
        for (const std::int64_t n : {8, 24, 31, 32}) {
          expect_tsmttsm<T>(run_on_few_blocks, 1201, m, n, place, Op::conjugate_transpose, T(1), T(0));
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

// Rows so few that blocks share out the result rather than the rows.
TEST_F(OnDevice, FewRowsOfLargeResults) {
  for (const std::int64_t offset : {0, 1}) {
    const Placement tight{Layout::row_major, Layout::row_major, 0, offset};
    expect_tsmttsm<double>(plain_run, 8201, 512, 31, tight, Op::transpose, 1, 0);
    expect_tsmttsm<double>(plain_run, 16500, 130, 129, tight, Op::transpose, 1, 0);
    expect_tsmttsm<std::complex<double>>(plain_run, 17001, 62, 64, tight, Op::conjugate_transpose, 1, 0);
  }
}

// Columns that begin at multiples of 16 bytes, some of them of 128.
TYPED_TEST(CudaTsmttsm, WideColumns) {
  using T = TypeParam;
  for (const std::int64_t k : {2, 16, 96, 334, 5002}) {
    for (const std::int64_t offset : {0, 4}) {
      const Placement a{Layout::column_major, Layout::row_major, offset, offset};
      for (const std::int64_t width : {65, 97, 128, 137, 256}) {
        if (k * width > 200000 || (k == 334 && width != 137)) continue;
        expect_tsmttsm<T>(run_on_few_blocks, k, width, 265 - width, a, Op::conjugate_transpose, T(1), T(0));
        expect_tsmttsm<T>(run_on_few_blocks, k, width, width, a, Op::conjugate_transpose, T(1), T(0), true);
        if (this->HasFatalFailure()) return;
      }
    }
  }
  const Placement tight{Layout::column_major, Layout::row_major, 0, 0};
  expect_tsmttsm<T>(run_on_few_blocks, 5002, 140, 140, tight, Op::conjugate_transpose, T(1), T(0), true);
}

// All columns begin equally far within lines, or within 16 bytes: chunks begin ahead of the first row.
TYPED_TEST(CudaTsmttsm, ColumnsWithinLines) {
  using T = TypeParam;
  for (const std::int64_t unit : {32, 4}) {  // numbers
    for (const std::int64_t offset : {1, 2, 3, 13, 31}) {
      if (offset >= unit) continue;
      for (const std::int64_t k : {1, 3, 16, 31, 130, 1207, 5000}) {
        const std::int64_t pad = (unit - k % unit) % unit;
        const Placement place{Layout::column_major, Layout::row_major, pad, offset};
        const Placement elsewhere{Layout::column_major, Layout::row_major, pad, offset - 1};
        for (const std::int64_t m : {1, 2, 3, 5, 8, 21, 33, 64}) {
          const std::int64_t n = m < 4 ? m : m - k % 3;
          for (const DeviceRun& run : {run_on_few_blocks, DeviceRun{Way::as_longer, {usual_rows<T>(m)}}}) {
            if (run.way == Way::as_longer && k < 1000) continue;
            expect_tsmttsm<T>(run, k, m, n, place, place, Op::conjugate_transpose, T(1), T(0));
            expect_tsmttsm<T>(run, k, m, m, place, Op::conjugate_transpose, T(1), T(0), true);
          }
          if (k == 130) expect_tsmttsm<T>(run_on_few_blocks, k, m, n, place, elsewhere, Op::transpose, T(1), T(0));
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

// More chunks than stages, whatever the device.
TYPED_TEST(CudaTsmttsm, ManyRows) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t width : {1, 2, 3, 8, 20}) {
      for (const std::int64_t pad : {0, 1}) {
        const Placement place{layout, Layout::row_major, pad, 1};
        expect_tsmttsm<T>(run_on_few_blocks, 40001, width, width + pad, place, Op::conjugate_transpose, T(1), T(0));
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

// Columns of any alignment, in less than a chunk and in many.
TYPED_TEST(CudaTsmttsm, FewColumns) {
  using T = TypeParam;
  for (const std::int64_t width : {2, 3}) {
    for (const std::int64_t k : {1, 17, 1000, 30001}) {
      for (const std::int64_t pad : {0, 1, 2, 3}) {
        const Placement place{Layout::column_major, Layout::row_major, pad, pad % 2};
        expect_tsmttsm<T>(run_on_few_blocks, k, width, width, place, Op::conjugate_transpose, T(1), T(0));
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

// Of wide Gram matrices only sections on and above the diagonal are computed.
TYPED_TEST(CudaTsmttsm, WideGramMatrices) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t width : {65, 128, 130, 256, 300, 512}) {
      const Placement tight{layout, layouts[width % 4 / 2], 0, 0};
      const Placement view{layout, Layout::row_major, 1, 1};
      expect_tsmttsm<T>(run_on_few_blocks, 83, width, width, tight, Op::conjugate_transpose, T(1), T(0), true);
      expect_tsmttsm<T>(plain_run, 83, width, width, tight, Op::transpose, value<T>(2, 1), value<T>(-1, 0.5), true);
      if (width < 300) expect_tsmttsm<T>(plain_run, 83, width, width, view, Op::conjugate_transpose, T(1), T(0), true);
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(CudaTsmttsm, InfinityStaysInfinity) {
  using T = TypeParam;
  if constexpr (!is_complex<T>) {
    for (const std::int64_t width : {8, 48, 64}) {
      GuardedMatrix<T> a(500, width, Layout::row_major, 0, 0, mark<T>());
      a.fill_with(T(1));
      a(333, 5) = std::numeric_limits<T>::infinity();
      for (int row = 0; row < 500; ++row) a(row, 1) = row % 2 == 0 ? T(1e30) : T(-1e30);
      OnDeviceMatrix<T> device_a(a);
      OnDeviceMatrix<T> device_b(a);
      GuardedMatrix<T> c(width, width, Layout::row_major, 0, 0, mark<T>());
      OnDeviceMatrix<T> device_c(c);
      run_tsmttsm<T>(Way::plain, Op::transpose, T(1), device_a.view(), device_b.view(), T(0), device_c.view());
      device_c.download();
      for (std::int64_t i = 0; i < width; ++i) {
        for (std::int64_t j = 0; j < width; ++j) {
          const bool infinite = i == 5 || j == 5 || (i == 1 && j == 1 && std::isinf(c(i, j)));
          EXPECT_EQ(std::isinf(c(i, j)), infinite) << i << ", " << j;
          EXPECT_FALSE(is_nan(c(i, j))) << i << ", " << j;
        }
      }
      EXPECT_EQ(c(1, 0), T(0));
    }
  }
}

// Of a complex matrix too large for its products' sums in single precision, what cancels is still right.
TEST_F(OnDevice, SplitSumsThatOverflow) {
  using T = std::complex<float>;
  const auto check = [](Layout layout, std::int64_t k, std::int64_t width) {
    SCOPED_TRACE(std::to_string(k) + " x " + std::to_string(width));
    const std::int64_t last = width - 1;
    GuardedMatrix<T> a(k, width, layout, 0, 0, mark<T>());
    a.fill_with(T(1));
    for (const std::int64_t column : {std::int64_t{1}, last}) {
      for (std::int64_t row = 0; row < k; ++row) a(row, column) = row % 2 == 0 ? T(3e37F) : T(-3e37F);
    }
    GuardedMatrix<T> b(k, width, layout, 0, 0, mark<T>());
    b.fill_with(T(100));
    OnDeviceMatrix<T> device_a(a);
    OnDeviceMatrix<T> device_b(b);
    GuardedMatrix<T> c(width, width, Layout::row_major, 0, 0, mark<T>());
    OnDeviceMatrix<T> device_c(c);
    run_tsmttsm<T>(Way::plain, Op::transpose, T(1), device_a.view(), device_b.view(), T(0), device_c.view());
    device_c.download();
    for (const std::int64_t column : {std::int64_t{7}, last}) {
      EXPECT_EQ(c(1, column), T(0));
      EXPECT_EQ(c(last, column), T(0));
      EXPECT_NEAR(c(0, column).real(), 100 * static_cast<float>(k), 1);
    }
  };
  check(Layout::row_major, 500, 64);
  for (const std::int64_t width : {17, 18, 19, 21, 22, 27, 32, 64}) {
    check(Layout::column_major, 500, width);
    check(Layout::column_major, 20000, width);
  }
}

// Sums of plain single precision are as accurate as double precision lets them be.
TYPED_TEST(CudaTsmttsm, PlainSinglePrecision) {
  using T = TypeParam;
  std::mt19937 random(11);
  GuardedMatrix<T> a(1000, 64, Layout::row_major, 0, 0, mark<T>());
  GuardedMatrix<T> c(64, 64, Layout::row_major, 0, 0, mark<T>());
  a.fill(random);
  OnDeviceMatrix<T> device_a(a);
  OnDeviceMatrix<T> device_b(a);
  OnDeviceMatrix<T> device_c(c);
  const DeviceMemory workspace(cuda_tsmttsm_workspace<T>(1000, 64, 64));
  const CudaExecution execution{nullptr, workspace.bytes(), SinglePrecision::plain};
  tsmttsm<T>(Op::transpose, T(1), device_a.view(), device_b.view(), T(0), device_c.view(), execution);
  expect_success(cudaDeviceSynchronize());
  device_c.download();
  using Wide = std::conditional_t<is_complex<T>, std::complex<double>, double>;
  const std::vector<double> scale = absolute_product(a, a);
  for (std::int64_t i = 0; i < 64; ++i) {
    for (std::int64_t j = 0; j < 64; ++j) {
      Wide sum(0);
      for (std::int64_t k = 0; k < 1000; ++k) sum += Wide(a(k, i)) * Wide(a(k, j));
      EXPECT_LE(std::abs(Wide(c(i, j)) - sum), 2 * device_gamma<T>(1003) * scale[static_cast<std::size_t>(i * 64 + j)]);
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

}  // namespace
}  // namespace blockvec::kernels

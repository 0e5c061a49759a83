#include <gtest/gtest.h>

#include <complex>
#include <cstdint>

#include "tests/kernels/cuda/longer.hpp"

/// Complex numbers of double precision that begin at odd multiples of 8 bytes: all operands, or one of them.
namespace blockvec::kernels {
namespace {

using namespace test;
using T = std::complex<double>;

class CudaAlignment : public OnDevice {};

/// On few blocks, and as a call of many such rows.
template <class Try>
void in_both_ways(std::int64_t width, Try&& tries) {
  tries(run_on_few_blocks);
  tries(DeviceRun{Way::as_longer, {usual_rows<T>(width)}});
}

TEST_F(CudaAlignment, TsmttsmOfOddDoubles) {
  for (const Layout layout : layouts) {
    for (std::int64_t width = 1; width <= 70; ++width) {
      const Placement odd{layout, layouts[width % 2], width % 3, width % 5, 1};
      const Placement even{layout, Layout::row_major, width % 3, width % 2, 0};
      const Placement tight{layout, Layout::row_major, 0, width % 2, 1};
      in_both_ways(width, [&](const DeviceRun& run) {
        expect_tsmttsm<T>(run, 611, width, width, tight, tight, Op::conjugate_transpose, T(1), T(0));
        expect_tsmttsm<T>(run, 431, width, 71 - width, odd, even, Op::transpose, {2, 1}, {-1, 0.5});
        expect_tsmttsm<T>(run, 430, width, 1 + width % 9, even, odd, Op::conjugate_transpose, T(1), T(0));
        expect_tsmttsm<T>(run, 612, width, width, width % 2 == 0 ? odd : tight, Op::conjugate_transpose, T(1), T(0),
                          true);
      });
      if (HasFatalFailure()) return;
    }
    const Placement wide{layout, Layout::row_major, 1, 1, 1};
    expect_tsmttsm<T>(run_on_few_blocks, 301, 200, 200, wide, Op::conjugate_transpose, T(1), T(0), true);
    expect_tsmttsm<T>(run_on_few_blocks, 301, 300, 7, wide, Op::conjugate_transpose, T(1), T(0));
  }
}

TEST_F(CudaAlignment, TsmmOfOddDoubles) {
  for (const Layout layout : layouts) {
    for (std::int64_t width = 1; width <= 70; ++width) {
      const Placement odd{layout, layouts[width % 2], width % 3, width % 5, 1};
      const Placement even{layout, Layout::row_major, width % 3, width % 2, 0};
      const Placement tight{layout, Layout::row_major, 0, width % 2, 1};
      in_both_ways(width, [&](const DeviceRun& run) {
        expect_tsmm<T>(run, 611, width, width, tight, tight, T(1), T(0), triangles[width % 3]);
        expect_tsmm<T>(run, 431, width, 71 - width, odd, even, {2, 1}, {-1, 0.5});
        expect_tsmm<T>(run, 430, width, 1 + width % 9, even, odd, T(1), T(0));
        expect_tsmm_inplace<T>(run, 611, width, width, width % 2 == 0 ? odd : tight, triangles[(width + 1) % 3]);
        expect_tsmm_inplace<T>(run, 301, width, (width + 1) / 2, odd);
      });
      if (HasFatalFailure()) return;
    }
    expect_tsmm<T>(run_on_few_blocks, 301, 300, 9, {layout, Layout::row_major, 1, 1, 1}, T(1), T(0));
  }
}

TEST_F(CudaAlignment, EveryConfigurationOfTsmm) {
  for (const Layout layout : layouts) {
    for (const std::int64_t width : {3, 24, 40}) {
      for (const std::int64_t pad : {0, 1}) {
        const Placement odd{layout, Layout::row_major, pad, 0, 1};
        expect_every_tsmm<T>(501, width, width, odd, T(1), T(0), dispatch::Search::all);
        expect_every_tsmm<T>(501, width, 7, odd, T(1), {0.5, -1}, dispatch::Search::all);
        if (HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace blockvec::kernels

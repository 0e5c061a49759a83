#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <vector>

#include "tests/kernels/support/products.hpp"
#include "tests/kernels/support/targets.hpp"

namespace blockvec::kernels {
namespace {

using namespace test;

template <class T>
class Tsmttsm : public testing::Test {};
using Scalars = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Tsmttsm, Scalars);

constexpr Layout layouts[] = {Layout::row_major, Layout::column_major};
constexpr Op ops[] = {Op::transpose, Op::conjugate_transpose};

TYPED_TEST(Tsmttsm, SquareOfEveryWidthOnEveryTarget) {
  using T = TypeParam;
  for (const std::int64_t target : supported_targets()) {
    const OnTarget on(target);
    for (const Layout layout : layouts) {
      for (std::int64_t width = 0; width <= 70; ++width) {
        const std::int64_t pad = width % 3;
        const Placement place{layout, layouts[width % 2], pad, width % 5};
        expect_tsmttsm<T>(65, width, width, place, ops[width % 2], T(1), T(0));
        expect_tsmttsm<T>(65, width, width, place, ops[width % 2], T(1), T(0), true);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(Tsmttsm, RectanglesOnEveryTarget) {
  using T = TypeParam;
  for (const std::int64_t target : supported_targets()) {
    const OnTarget on(target);
    for (const Layout layout : layouts) {
      for (const std::int64_t m : {0, 1, 2, 3, 5, 8, 13, 16, 33, 64, 100}) {
        for (const std::int64_t n : {0, 1, 2, 4, 7, 8, 17, 24, 65}) {
          expect_tsmttsm<T>(77, m, n, {layout, Layout::column_major, (m + n) % 2, m % 2}, ops[n % 2], value<T>(2, 1),
                            value<T>(-1, 0.5));
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

TYPED_TEST(Tsmttsm, EveryLength) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t k : {0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 511, 512, 513, 1000, 1025, 5000}) {
      for (const std::int64_t width : {1, 2, 3, 8, 20}) {
        for (const std::int64_t pad : {0, 1}) {
          expect_tsmttsm<T>(k, width, width + pad, {layout, Layout::row_major, pad, 1}, Op::conjugate_transpose, T(1),
                            T(0));
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

TYPED_TEST(Tsmttsm, LongSumsThroughSeveralLevelsAndParts) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t k : {100001, 400000}) {
      expect_tsmttsm<T>(k, 2, 3, {layout, Layout::row_major, 0, 0}, Op::conjugate_transpose, T(1), T(0));
      expect_tsmttsm<T>(k, 3, 3, {layout, Layout::row_major, 2, 1}, Op::transpose, T(1), T(0), true);
    }
  }
}

TYPED_TEST(Tsmttsm, WideBasis) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    expect_tsmttsm<T>(300, 512, 32, {layout, Layout::row_major, 0, 0}, Op::conjugate_transpose, T(1), T(0));
    expect_tsmttsm<T>(300, 9, 300, {layout, Layout::row_major, 0, 0}, Op::conjugate_transpose, T(1), T(0));
  }
}

TYPED_TEST(Tsmttsm, AlphaAndBeta) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const T alpha : {T(0), T(1), value<T>(-0.5, 2)}) {
      for (const T beta : {T(0), T(1), value<T>(0.25, -3)}) {
        for (const Op op : ops) expect_tsmttsm<T>(100, 5, 6, {layout, Layout::row_major, 1, 0}, op, alpha, beta);
      }
    }
  }
}

TYPED_TEST(Tsmttsm, AlphaZeroReadsNothing) {
  using T = TypeParam;
  GuardedMatrix<T> a(50, 3, Layout::row_major, 0, 0, poison<T>());
  GuardedMatrix<T> c(3, 3, Layout::row_major, 0, 0, mark<T>());
  c.fill_with(T(2));
  a.fill_with(poison<T>());
  tsmttsm(Op::transpose, T(0), a.view(), a.view(), T(3), c.view());
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) EXPECT_EQ(c(i, j), T(6));
  }
}

TYPED_TEST(Tsmttsm, NanPassesToItsEntriesAlone) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t width : {1, 2, 3, 8, 20}) {
      std::mt19937 random(1);
      GuardedMatrix<T> a(700, width, layout, 0, 0, mark<T>());
      GuardedMatrix<T> b(700, width, layout, 0, 0, mark<T>());
      GuardedMatrix<T> c(width, width, Layout::row_major, 0, 0, mark<T>());
      a.fill(random);
      b.fill(random);
      a(650, width / 2) = poison<T>();
      tsmttsm(Op::conjugate_transpose, T(1), a.view(), b.view(), T(0), c.view());
      for (std::int64_t i = 0; i < width; ++i) {
        for (std::int64_t j = 0; j < width; ++j) EXPECT_EQ(is_nan(c(i, j)), i == width / 2);
      }
    }
  }
}

TYPED_TEST(Tsmttsm, SameBitsForAnyNumberOfThreads) {
  using T = TypeParam;
  std::mt19937 random(7);
  for (const Layout layout : layouts) {
    for (const std::int64_t width : {1, 6, 33}) {
      GuardedMatrix<T> a(60001, width, layout, 0, 0, mark<T>());
      a.fill(random);
      GuardedMatrix<T> once(width, width, Layout::row_major, 0, 0, mark<T>());
      tsmttsm(Op::transpose, T(1), a.view(), a.view(), T(0), once.view(), {1, {}});
      for (const int threads : {2, 3, 5, 8}) {
        GuardedMatrix<T> c(width, width, Layout::row_major, 0, 0, mark<T>());
        tsmttsm(Op::transpose, T(1), a.view(), a.view(), T(0), c.view(), {threads, {}});
        EXPECT_TRUE(c.same_bits_as(once)) << threads << " threads, width " << width;
      }
    }
  }
}

TYPED_TEST(Tsmttsm, GramIsHermitianToTheLastBit) {
  using T = TypeParam;
  std::mt19937 random(3);
  for (const Layout layout : layouts) {
    GuardedMatrix<T> a(3000, 21, layout, 1, 0, poison<T>());
    a.fill(random);
    GuardedMatrix<T> c(21, 21, Layout::row_major, 0, 0, mark<T>());
    tsmttsm(Op::conjugate_transpose, T(1), a.view(), a.view(), T(0), c.view());
    for (std::int64_t i = 0; i < 21; ++i) {
      for (std::int64_t j = 0; j < 21; ++j) {
        if constexpr (is_complex<T>) {
          EXPECT_EQ(c(i, j), std::conj(c(j, i)));
        } else {
          EXPECT_EQ(c(i, j), c(j, i));
        }
      }
    }
  }
}

TYPED_TEST(Tsmttsm, WorkspaceOfTheCallerIsEnough) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    const std::size_t bytes = tsmttsm_workspace<T>(20000, 9, 7, layout);
    std::vector<std::byte> memory(bytes + 3, std::byte{7});
    const HostExecution execution{2, std::span(memory).subspan(1, bytes)};
    expect_tsmttsm<T>(20000, 9, 7, {layout, Layout::row_major, 0, 0}, Op::transpose, T(1), T(0), false, execution);
    EXPECT_EQ(memory.front(), std::byte{7});
    EXPECT_EQ(memory[bytes + 1], std::byte{7});
  }
}

}  // namespace
}  // namespace blockvec::kernels

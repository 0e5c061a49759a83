#include <gtest/gtest.h>
#include <omp.h>

#include <complex>
#include <cstdint>
#include <vector>

#include "tests/kernels/support/products.hpp"
#include "tests/kernels/support/targets.hpp"

namespace blockvec::kernels {
namespace {

using namespace test;

template <class T>
class Tsmm : public testing::Test {};
using Scalars = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Tsmm, Scalars);

constexpr Layout layouts[] = {Layout::row_major, Layout::column_major};
constexpr Triangle triangles[] = {Triangle::general, Triangle::upper, Triangle::lower};

TYPED_TEST(Tsmm, SquareOfEveryWidthOnEveryTarget) {
  using T = TypeParam;
  for (const std::int64_t target : supported_targets()) {
    const OnTarget on(target);
    for (const Layout layout : layouts) {
      for (std::int64_t width = 0; width <= 70; ++width) {
        const Placement place{layout, layouts[width % 2], width % 3, width % 5};
        expect_tsmm<T>(67, width, width, place, T(1), T(0), triangles[width % 3]);
        expect_tsmm_inplace<T>(67, width, width, place, triangles[(width + 1) % 3]);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(Tsmm, RectanglesOnEveryTarget) {
  using T = TypeParam;
  for (const std::int64_t target : supported_targets()) {
    const OnTarget on(target);
    for (const Layout layout : layouts) {
      for (const std::int64_t m : {0, 1, 2, 3, 5, 8, 13, 16, 33, 100}) {
        for (const std::int64_t n : {0, 1, 2, 4, 7, 8, 17, 24, 65}) {
          const Placement place{layout, Layout::column_major, (m + n) % 2, m % 2};
          expect_tsmm<T>(79, m, n, place, value<T>(2, 1), value<T>(-1, 0.5), triangles[m % 3]);
          if (n <= m) expect_tsmm_inplace<T>(79, m, n, place, triangles[n % 3]);
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

TYPED_TEST(Tsmm, EveryLength) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t k : {0, 1, 2, 3, 7, 63, 64, 65, 511, 512, 513, 1000, 1025, 5000}) {
      for (const std::int64_t width : {1, 2, 3, 8, 20}) {
        for (const std::int64_t pad : {0, 1}) {
          expect_tsmm<T>(k, width + pad, width, {layout, Layout::row_major, pad, 1}, T(1), T(0));
          expect_tsmm_inplace<T>(k, width + pad, width, {layout, Layout::row_major, pad, 1});
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

// Outputs beyond the caches are written around them, line by line: every width and offset meets the ends of lines.
TYPED_TEST(Tsmm, LargeOutputs) {
  using T = TypeParam;
  const auto large = static_cast<std::int64_t>(8000000 / sizeof(T));
  for (const Layout layout : layouts) {
    for (const std::int64_t width : {1, 3, 16, 37}) {
      const std::int64_t k = large / width + 101;
      expect_tsmm<T>(k, 1, width, {layout, Layout::row_major, 0, width % 2 * 3}, T(1), T(0));
      if (this->HasFatalFailure()) return;
    }
    for (const std::int64_t target : supported_targets()) {
      const OnTarget on(target);
      expect_tsmm<T>(large / 5 + 101, 1, 5, {layout, Layout::row_major, 0, 1}, T(1), T(0));
    }
  }
}

TYPED_TEST(Tsmm, AlphaAndBeta) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const T alpha : {T(0), T(1), value<T>(-0.5, 2)}) {
      for (const T beta : {T(0), T(1), T(-2), value<T>(0.25, -3)}) {
        for (const std::int64_t pad : {0, 3})
          expect_tsmm<T>(100, 5, 6, {layout, Layout::row_major, pad, 1}, alpha, beta);
      }
    }
  }
}

TYPED_TEST(Tsmm, AlphaZeroReadsNothing) {
  using T = TypeParam;
  GuardedMatrix<T> a(50, 3, Layout::row_major, 0, 0, poison<T>());
  GuardedMatrix<T> c(3, 3, Layout::row_major, 0, 0, poison<T>());
  GuardedMatrix<T> b(50, 3, Layout::row_major, 0, 0, mark<T>());
  a.fill_with(poison<T>());
  c.fill_with(poison<T>());
  b.fill_with(T(2));
  tsmm(T(0), a.view(), c.view(), T(3), b.view());
  for (int i = 0; i < 50; ++i) {
    for (int j = 0; j < 3; ++j) EXPECT_EQ(b(i, j), T(6));
  }
}

TYPED_TEST(Tsmm, NanStaysInItsRow) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t width : {1, 2, 3, 8, 20}) {
      std::mt19937 random(1);
      GuardedMatrix<T> a(200, width, layout, 0, 0, mark<T>());
      GuardedMatrix<T> c(width, width, Layout::row_major, 0, 0, mark<T>());
      GuardedMatrix<T> b(200, width, layout, 0, 0, mark<T>());
      a.fill(random);
      c.fill(random);
      a(150, width / 2) = poison<T>();
      tsmm(T(1), a.view(), c.view(), T(0), b.view());
      for (std::int64_t k = 0; k < 200; ++k) {
        for (std::int64_t j = 0; j < width; ++j) EXPECT_EQ(is_nan(b(k, j)), k == 150);
      }
    }
  }
}

TYPED_TEST(Tsmm, SameBitsForAnyNumberOfThreadsAndInPlace) {
  using T = TypeParam;
  std::mt19937 random(7);
  for (const Layout layout : layouts) {
    for (const std::int64_t width : {1, 6, 33}) {
      GuardedMatrix<T> a(60001, width, layout, 0, 0, mark<T>());
      GuardedMatrix<T> c(width, width, Layout::row_major, 0, 0, mark<T>());
      a.fill(random);
      c.fill(random);
      GuardedMatrix<T> once(60001, width, layout, 0, 0, mark<T>());
      tsmm(T(1), a.view(), c.view(), T(0), once.view(), Triangle::general, {1, {}});
      for (const int threads : {2, 3, 5, 8}) {
        GuardedMatrix<T> b(60001, width, layout, 0, 0, mark<T>());
        tsmm(T(1), a.view(), c.view(), T(0), b.view(), Triangle::general, {threads, {}});
        EXPECT_TRUE(b.same_bits_as(once)) << threads << " threads, width " << width;
      }
      tsmm_inplace(a.view(), c.view());
      EXPECT_TRUE(a.same_bits_as(once)) << "in place, width " << width;
    }
  }
}

TYPED_TEST(Tsmm, ColumnRangesOfOneParent) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    std::mt19937 random(5);
    GuardedMatrix<T> parent(300, 12, layout, 1, 1, mark<T>());
    GuardedMatrix<T> c(5, 4, Layout::row_major, 0, 0, mark<T>());
    parent.fill(random);
    c.fill(random);
    GuardedMatrix<T> expected = parent;
    auto columns = [&](GuardedMatrix<T>& v, std::int64_t begin, std::int64_t count) {
      return Matrix<T>{&v(0, begin), 300, count, v.view().ld, layout};
    };
    const Matrix<T> head = columns(expected, 0, 5);
    reference::tsmm(T(-1), head, c.view(), T(1), columns(expected, 6, 4));
    const Matrix<T> v = columns(parent, 0, 5);
    tsmm(T(-1), v, c.view(), T(1), columns(parent, 6, 4));
    EXPECT_TRUE(parent.guards_hold());
    for (std::int64_t k = 0; k < 300; ++k) {
      for (std::int64_t j = 0; j < 12; ++j) {
        double scale = std::abs(expected(k, j));
        for (std::int64_t i = 0; i < 5; ++i) scale += std::abs(expected(k, i));
        ASSERT_LE(std::abs(parent(k, j) - expected(k, j)), 2 * gamma<T>(8) * scale);
      }
    }
  }
}

TYPED_TEST(Tsmm, WorkspaceOfTheCallerIsEnough) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t n : {1, 9, 40}) {
      const std::size_t bytes = tsmm_workspace<T>(3000, 40, n, layout, 2);
      std::vector<std::byte> memory(bytes + 3, std::byte{7});
      const HostExecution execution{2, std::span(memory).subspan(1, bytes)};
      expect_tsmm<T>(3000, 40, n, {layout, Layout::row_major, 0, 1}, T(1), T(0), Triangle::general, execution);
      expect_tsmm_inplace<T>(3000, 40, n, {layout, Layout::row_major, 0, 1}, Triangle::general, execution);
      EXPECT_EQ(memory.front(), std::byte{7});
      EXPECT_EQ(memory[bytes + 1], std::byte{7});
    }
  }
}

TYPED_TEST(Tsmm, InsideAParallelRegion) {
  using T = TypeParam;
  int failures = 0;
#pragma omp parallel num_threads(2) reduction(+ : failures)
  {
    std::mt19937 random(static_cast<unsigned>(omp_get_thread_num()));
    GuardedMatrix<T> a(40000, 3, Layout::row_major, 0, 0, mark<T>());
    GuardedMatrix<T> b(40000, 3, Layout::row_major, 0, 0, mark<T>());
    GuardedMatrix<T> c(3, 3, Layout::row_major, 0, 0, mark<T>());
    a.fill(random);
    c.fill_with(T(0));
    for (int i = 0; i < 3; ++i) c(i, i) = T(1);
    tsmm(T(1), a.view(), c.view(), T(0), b.view());
    failures += b.same_bits_as(a) ? 0 : 1;
  }
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace blockvec::kernels

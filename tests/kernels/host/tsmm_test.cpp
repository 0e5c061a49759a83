#include <gtest/gtest.h>
#include <omp.h>

#include <complex>
#include <cstdint>
#include <vector>

#include "tests/kernels/host/run.hpp"
#include "tests/kernels/support/tsmm_cases.hpp"

namespace blockvec::kernels {
namespace {

using namespace test;

template <class T>
class Tsmm : public testing::Test {};
TYPED_TEST_SUITE(Tsmm, Scalars);

INSTANTIATE_TYPED_TEST_SUITE_P(Host, TsmmCases, InAllScalars<OnHost>);

// Outputs beyond the caches are written around them, line by line: every width and offset meets the ends of lines.
TYPED_TEST(Tsmm, LargeOutputs) {
  using T = TypeParam;
  const auto large = static_cast<std::int64_t>(8000000 / sizeof(T));
  for (const Layout layout : layouts) {
    for (const std::int64_t width : {1, 3, 16, 37}) {
      const std::int64_t k = large / width + 101;
      expect_tsmm<T>(HostRun{}, k, 1, width, {layout, Layout::row_major, 0, width % 2 * 3}, T(1), T(0));
      if (this->HasFatalFailure()) return;
    }
    for (const std::int64_t target : supported_targets()) {
      const OnTarget on(target);
      expect_tsmm<T>(HostRun{}, large / 5 + 101, 1, 5, {layout, Layout::row_major, 0, 1}, T(1), T(0));
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
      const HostRun run{{2, std::span(memory).subspan(1, bytes)}};
      expect_tsmm<T>(run, 3000, 40, n, {layout, Layout::row_major, 0, 1}, T(1), T(0));
      expect_tsmm_inplace<T>(run, 3000, 40, n, {layout, Layout::row_major, 0, 1});
      expect_tsmm_inplace<T>(run, 3000, 40, n, {layout, Layout::row_major, 0, 1}, Triangle::general, 40 - n);
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

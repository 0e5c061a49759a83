#pragma once

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <set>

#include "tests/kernels/support/products.hpp"

/// What tsmm and tsmm_inplace must do wherever they run: a suite by scalar type and place (OnHost, OnCuda).
namespace blockvec::kernels::test {

template <class Where>
class TsmmCases : public Where::Fixture {};
TYPED_TEST_SUITE_P(TsmmCases);

TYPED_TEST_P(TsmmCases, SquareOfEveryWidth) {
  using T = typename TypeParam::Scalar;
  TypeParam::in_every_way([&](const auto& run) {
    for (const Layout layout : layouts) {
      for (std::int64_t width = 0; width <= 70; ++width) {
        const Placement place{layout, layouts[width % 2], width % 3, width % 5};
        const Placement tight{layout, layouts[width % 2], 0, width % 2 * 3};
        const Triangle triangle = triangles[width % 3];
        const std::int64_t k = run.rows(67);
        expect_tsmm<T>(run, k, width, width, place, T(1), T(0), triangle);
        expect_tsmm<T>(run, k, width, width, tight, value<T>(2, 1), value<T>(0.5, -1), triangle);
        expect_tsmm_inplace<T>(run, k, width, width, width % 4 < 2 ? place : tight, triangles[(width + 1) % 3]);
        if (this->HasFatalFailure()) return;
      }
    }
  });
}

TYPED_TEST_P(TsmmCases, Rectangles) {
  using T = typename TypeParam::Scalar;
  TypeParam::in_every_way([&](const auto& run) {
    for (const Layout layout : layouts) {
      for (const std::int64_t m : {0, 1, 2, 3, 5, 8, 13, 16, 33, 100}) {
        for (const std::int64_t n : {0, 1, 2, 4, 7, 8, 17, 24, 65}) {
          const Placement place{layout, Layout::column_major, (m + n) % 2, m % 2};
          const std::int64_t k = run.rows(79);
          expect_tsmm<T>(run, k, m, n, place, value<T>(2, 1), value<T>(-1, 0.5), triangles[m % 3]);
          expect_tsmm<T>(run, k, m, n, {layout, Layout::row_major, 0, 0}, value<T>(2, 1), value<T>(-1, 0.5));
          for (const std::int64_t first : std::set<std::int64_t>{0, (m - n) / 2, m - n}) {
            if (n <= m) expect_tsmm_inplace<T>(run, k, m, n, place, triangles[n % 3], first);
          }
          if (this->HasFatalFailure()) return;
        }
      }
    }
  });
}

TYPED_TEST_P(TsmmCases, EveryLength) {
  using T = typename TypeParam::Scalar;
  TypeParam::in_every_way([&](const auto& run) {
    for (const Layout layout : layouts) {
      for (const std::int64_t k : {0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 511, 512, 513, 1000, 1025, 5000}) {
        for (const std::int64_t width : {1, 2, 3, 8, 20}) {
          for (const std::int64_t pad : {0, 1}) {
            const Placement place{layout, Layout::row_major, pad, 1};
            expect_tsmm<T>(run, k, width + pad, width, place, T(1), T(0));
            expect_tsmm_inplace<T>(run, k, width + pad, width, place);
            expect_tsmm_inplace<T>(run, k, width + 6, width, place, Triangle::general, 6);
            if (this->HasFatalFailure()) return;
          }
        }
      }
    }
  });
}

TYPED_TEST_P(TsmmCases, WideBasis) {
  using T = typename TypeParam::Scalar;
  TypeParam::in_every_way([&](const auto& run) {
    for (const Layout layout : layouts) {
      expect_tsmm<T>(run, 300, 512, 32, {layout, Layout::row_major, 0, 0}, T(-1), T(1));
      expect_tsmm<T>(run, 300, 9, 300, {layout, Layout::row_major, 0, 0}, T(1), T(0));
    }
  });
}

TYPED_TEST_P(TsmmCases, AlphaAndBeta) {
  using T = typename TypeParam::Scalar;
  TypeParam::with_all_scalars([&](const auto& run) {
    for (const Layout layout : layouts) {
      for (const T alpha : {T(0), T(1), value<T>(-0.5, 2)}) {
        for (const T beta : {T(0), T(1), T(-2), value<T>(0.25, -3)}) {
          for (const std::int64_t pad : {0, 3})
            expect_tsmm<T>(run, 100, 5, 6, {layout, Layout::row_major, pad, 1}, alpha, beta);
        }
      }
    }
  });
}

TYPED_TEST_P(TsmmCases, AlphaZeroReadsNothing) {
  using T = typename TypeParam::Scalar;
  TypeParam::with_all_scalars([&]<class Run>(const Run& run) {
    GuardedMatrix<T> a(50, 3, Layout::row_major, 0, 0, poison<T>());
    GuardedMatrix<T> c(3, 3, Layout::row_major, 0, 0, poison<T>());
    GuardedMatrix<T> b(50, 3, Layout::row_major, 0, 0, mark<T>());
    b.fill_with(T(2));
    const typename Run::template Copy<T> copy_a(a), copy_c(c);
    typename Run::template Copy<T> copy_b(b);
    run.template tsmm<T>(T(0), copy_a.view(), copy_c.view(), T(3), copy_b.view(), Triangle::general);
    copy_b.download();
    for (int i = 0; i < 50; ++i) {
      for (int j = 0; j < 3; ++j) EXPECT_EQ(b(i, j), T(6));
    }
  });
}

TYPED_TEST_P(TsmmCases, NanStaysInItsRow) {
  using T = typename TypeParam::Scalar;
  TypeParam::in_every_way([&]<class Run>(const Run& run) {
    for (const Layout layout : layouts) {
      for (const std::int64_t width : {1, 2, 3, 8, 20, 33}) {
        std::mt19937 random(1);
        GuardedMatrix<T> a(200, width, layout, 0, 0, mark<T>());
        GuardedMatrix<T> c(width, width, Layout::row_major, 0, 0, mark<T>());
        GuardedMatrix<T> b(200, width, layout, 0, 0, mark<T>());
        a.fill(random);
        c.fill(random);
        a(150, width / 2) = poison<T>();
        const typename Run::template Copy<T> copy_a(a), copy_c(c);
        typename Run::template Copy<T> copy_b(b);
        run.template tsmm<T>(T(1), copy_a.view(), copy_c.view(), T(0), copy_b.view(), Triangle::general);
        copy_b.download();
        for (std::int64_t k = 0; k < 200; ++k) {
          for (std::int64_t j = 0; j < width; ++j) EXPECT_EQ(is_nan(b(k, j)), k == 150);
        }
      }
    }
  });
}

REGISTER_TYPED_TEST_SUITE_P(TsmmCases, SquareOfEveryWidth, Rectangles, EveryLength, WideBasis, AlphaAndBeta,
                            AlphaZeroReadsNothing, NanStaysInItsRow);

}  // namespace blockvec::kernels::test

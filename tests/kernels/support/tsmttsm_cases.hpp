#pragma once

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>

#include "tests/kernels/support/products.hpp"

/// What tsmttsm must do wherever it runs: a suite by scalar type and place (OnHost, OnCuda).
namespace blockvec::kernels::test {

template <class Where>
class TsmttsmCases : public Where::Fixture {};
TYPED_TEST_SUITE_P(TsmttsmCases);

TYPED_TEST_P(TsmttsmCases, SquareOfEveryWidth) {
  using T = typename TypeParam::Scalar;
  TypeParam::in_every_way([&](const auto& run) {
    for (const Layout layout : layouts) {
      for (std::int64_t width = 0; width <= 70; ++width) {
        const Placement place{layout, layouts[width % 2], width % 3, width % 5};
        const Placement tight{layout, layouts[width % 2], 0, width % 3};
        const std::int64_t k = run.rows(65);
        expect_tsmttsm<T>(run, k, width, width, place, ops[width % 2], T(1), T(0));
        expect_tsmttsm<T>(run, k, width, width, tight, ops[width % 2], T(1), T(0));
        expect_tsmttsm<T>(run, k, width, width, width % 4 < 2 ? place : tight, ops[width % 2], T(1), T(0), true);
        if (this->HasFatalFailure()) return;
      }
    }
  });
}

TYPED_TEST_P(TsmttsmCases, Rectangles) {
  using T = typename TypeParam::Scalar;
  TypeParam::in_every_way([&](const auto& run) {
    for (const Layout layout : layouts) {
      for (const std::int64_t m : {0, 1, 2, 3, 5, 8, 13, 16, 33, 64, 100}) {
        for (const std::int64_t n : {0, 1, 2, 4, 7, 8, 17, 24, 65}) {
          expect_tsmttsm<T>(run, run.rows(77), m, n, {layout, Layout::column_major, (m + n) % 2, m % 2}, ops[n % 2],
                            value<T>(2, 1), value<T>(-1, 0.5));
          expect_tsmttsm<T>(run, run.rows(77), m, n, {layout, Layout::row_major, 0, n % 2}, ops[n % 2], T(1), T(0));
          if (this->HasFatalFailure()) return;
        }
      }
    }
  });
}

TYPED_TEST_P(TsmttsmCases, EveryLength) {
  using T = typename TypeParam::Scalar;
  TypeParam::in_every_way([&](const auto& run) {
    for (const Layout layout : layouts) {
      for (const std::int64_t k :
           {0, 1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 511, 512, 513, 1000, 1025, 5000}) {
        for (const std::int64_t width : {1, 2, 3, 8, 20}) {
          for (const std::int64_t pad : {0, 1}) {
            expect_tsmttsm<T>(run, k, width, width + pad, {layout, Layout::row_major, pad, 1}, Op::conjugate_transpose,
                              T(1), T(0));
            if (this->HasFatalFailure()) return;
          }
        }
      }
    }
  });
}

TYPED_TEST_P(TsmttsmCases, LongSums) {
  using T = typename TypeParam::Scalar;
  TypeParam::with_all_scalars([&](const auto& run) {
    for (const Layout layout : layouts) {
      for (const std::int64_t k : {100001, 400000}) {
        expect_tsmttsm<T>(run, k, 2, 3, {layout, Layout::row_major, 0, 0}, Op::conjugate_transpose, T(1), T(0));
        expect_tsmttsm<T>(run, k, 3, 3, {layout, Layout::row_major, 2, 1}, Op::transpose, T(1), T(0), true);
      }
    }
  });
}

TYPED_TEST_P(TsmttsmCases, WideBasis) {
  using T = typename TypeParam::Scalar;
  TypeParam::in_every_way([&](const auto& run) {
    for (const Layout layout : layouts) {
      const Placement tight{layout, Layout::row_major, 0, 0};
      expect_tsmttsm<T>(run, 300, 512, 32, tight, Op::conjugate_transpose, T(1), T(0));
      expect_tsmttsm<T>(run, 300, 9, 300, tight, Op::conjugate_transpose, T(1), T(0));
    }
  });
}

TYPED_TEST_P(TsmttsmCases, AlphaAndBeta) {
  using T = typename TypeParam::Scalar;
  TypeParam::with_all_scalars([&](const auto& run) {
    for (const Layout layout : layouts) {
      for (const T alpha : {T(0), T(1), value<T>(-0.5, 2)}) {
        for (const T beta : {T(0), T(1), value<T>(0.25, -3)}) {
          for (const Op op : ops) {
            for (const std::int64_t pad : {0, 1})
              expect_tsmttsm<T>(run, 100, 5, 6, {layout, Layout::row_major, pad, 0}, op, alpha, beta);
          }
        }
      }
    }
  });
}

TYPED_TEST_P(TsmttsmCases, AlphaZeroReadsNothing) {
  using T = typename TypeParam::Scalar;
  TypeParam::with_all_scalars([&]<class Run>(const Run& run) {
    GuardedMatrix<T> a(50, 3, Layout::row_major, 0, 0, poison<T>());
    GuardedMatrix<T> c(3, 3, Layout::row_major, 0, 0, mark<T>());
    c.fill_with(T(2));
    const typename Run::template Copy<T> copy_a(a);
    typename Run::template Copy<T> copy_c(c);
    run.template tsmttsm<T>(Op::transpose, T(0), copy_a.view(), copy_a.view(), T(3), copy_c.view());
    copy_c.download();
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) EXPECT_EQ(c(i, j), T(6));
    }
  });
}

TYPED_TEST_P(TsmttsmCases, NanPassesToItsEntriesAlone) {
  using T = typename TypeParam::Scalar;
  TypeParam::in_every_way([&]<class Run>(const Run& run) {
    for (const Layout layout : layouts) {
      for (const std::int64_t width : {1, 2, 3, 8, 20, 40}) {
        std::mt19937 random(1);
        GuardedMatrix<T> a(700, width, layout, 0, 0, mark<T>());
        GuardedMatrix<T> b(700, width, layout, 0, 0, mark<T>());
        GuardedMatrix<T> c(width, width, Layout::row_major, 0, 0, mark<T>());
        a.fill(random);
        b.fill(random);
        a(650, width / 2) = poison<T>();
        const typename Run::template Copy<T> copy_a(a), copy_b(b);
        typename Run::template Copy<T> copy_c(c);
        run.template tsmttsm<T>(Op::conjugate_transpose, T(1), copy_a.view(), copy_b.view(), T(0), copy_c.view());
        copy_c.download();
        for (std::int64_t i = 0; i < width; ++i) {
          for (std::int64_t j = 0; j < width; ++j) EXPECT_EQ(is_nan(c(i, j)), i == width / 2);
        }
      }
    }
  });
}

TYPED_TEST_P(TsmttsmCases, GramIsHermitianToTheLastBit) {
  using T = typename TypeParam::Scalar;
  TypeParam::in_every_way([&]<class Run>(const Run& run) {
    std::mt19937 random(3);
    for (const Layout layout : layouts) {
      for (const std::int64_t width : {4, 21, 33, 60, 80, 100, 128, 200, 256}) {
        GuardedMatrix<T> a(900, width, layout, width % 2, 0, poison<T>());
        a.fill(random);
        GuardedMatrix<T> c(width, width, Layout::row_major, 0, 0, mark<T>());
        const typename Run::template Copy<T> copy_a(a);
        typename Run::template Copy<T> copy_c(c);
        run.template tsmttsm<T>(Op::conjugate_transpose, T(1), copy_a.view(), copy_a.view(), T(0), copy_c.view());
        copy_c.download();
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
  });
}

REGISTER_TYPED_TEST_SUITE_P(TsmttsmCases, SquareOfEveryWidth, Rectangles, EveryLength, LongSums, WideBasis,
                            AlphaAndBeta, AlphaZeroReadsNothing, NanPassesToItsEntriesAlone,
                            GramIsHermitianToTheLastBit);

}  // namespace blockvec::kernels::test

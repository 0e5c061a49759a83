#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <stdexcept>

#include "src/cuda/study/sgemm.hpp"
#include "src/cuda/study/tiled.hpp"
#include "src/cuda/study/tsm2.hpp"
#include "tests/kernels/cuda/device.hpp"
#include "tests/kernels/support/products.hpp"

/// The study's kernels, which the library does not use, against obvious loops in double precision.
namespace blockvec::kernels::cuda::study {
namespace {

using namespace test;

struct Shape {
  std::int64_t m, n, k;
};

/// C = A B by multiply(A, B, C), on the device, within the error of sums of k products in T, and nothing else written.
/// `pad` and `offset`: entries between and before the runs of A, B and C.
template <class T, class Multiply>
void expect_product(const Shape& shape, Layout layout, std::int64_t pad, std::int64_t offset, Multiply&& multiply) {
  SCOPED_TRACE(testing::Message() << "m " << shape.m << " n " << shape.n << " k " << shape.k << " pad " << pad
                                  << " offset " << offset);
  auto random = random_of(shape.m, shape.n, shape.k);
  GuardedMatrix<T> a(shape.m, shape.k, layout, pad, offset, poison<T>());
  GuardedMatrix<T> b(shape.k, shape.n, layout, pad, offset, poison<T>());
  GuardedMatrix<T> c(shape.m, shape.n, layout, pad, offset, mark<T>());
  a.fill(random);
  b.fill(random);
  c.fill_with(poison<T>());
  const OnDeviceMatrix<T> on_a(a), on_b(b);
  OnDeviceMatrix<T> on_c(c);
  multiply(on_a.view(), on_b.view(), on_c.view());
  expect_success(cudaDeviceSynchronize());
  on_c.download();
  EXPECT_TRUE(c.guards_hold());
  const double bound = gamma<T>(shape.k + 1) + gamma<double>(shape.k + 1);
  for (std::int64_t i = 0; i < shape.m; ++i) {
    for (std::int64_t j = 0; j < shape.n; ++j) {
      double sum = 0, size = 0;
      for (std::int64_t l = 0; l < shape.k; ++l) {
        const double product = static_cast<double>(a(i, l)) * static_cast<double>(b(l, j));
        sum += product;
        size += std::abs(product);
      }
      ASSERT_LE(std::abs(static_cast<double>(c(i, j)) - sum), bound * size) << i << ", " << j;
    }
  }
}

template <class T>
Tsm2Arguments<T> tsm2_arguments(const Matrix<T>& a, const Matrix<T>& b, const Matrix<T>& c) {
  return {a.data, a.ld, b.data, b.ld, c.data, c.ld, a.rows, static_cast<int>(a.columns), static_cast<int>(b.columns)};
}

template <class T>
class CudaStudyTsm2 : public OnDevice {};
using Real = testing::Types<float, double>;
TYPED_TEST_SUITE(CudaStudyTsm2, Real);

constexpr std::array<Shape, 8> tsm2_shapes{
    {{1, 1, 1}, {3, 2, 0}, {127, 3, 5}, {128, 8, 128}, {129, 16, 129}, {300, 17, 300}, {1000, 5, 257}, {513, 16, 31}}};

TYPED_TEST(CudaStudyTsm2, LargeTimesBlockAgrees) {
  for (const Tsm2rStep step : {Tsm2rStep::inner, Tsm2rStep::outer, Tsm2rStep::shared, Tsm2rStep::prefetch}) {
    for (const Tsm2Tiles& tiles : {Tsm2Tiles{128, 2, 2}, {128, 4, 16}, {256, 8, 4}, {256, 16, 32}, {128, 16, 8}}) {
      SCOPED_TRACE(testing::Message() << "step " << static_cast<int>(step) << " tiles " << tiles.t1 << ' ' << tiles.t2
                                      << ' ' << tiles.t3);
      for (const Shape& shape : tsm2_shapes) {
        expect_product<TypeParam>(shape, Layout::column_major, shape.k % 3, shape.n % 2, [&](auto a, auto b, auto c) {
          tsm2r<TypeParam>(step, tiles, tsm2_arguments(a, b, c), nullptr);
        });
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(CudaStudyTsm2, TallTimesSmallAgrees) {
  for (const Tsm2lOrder order : {Tsm2lOrder::rows_first, Tsm2lOrder::tiles_first}) {
    for (const std::int64_t tcf : {1, 2, 7, 64}) {
      for (const Tsm2Tiles& tiles : {Tsm2Tiles{128, 2, 4}, {128, 8, 8}, {256, 16, 16}}) {
        SCOPED_TRACE(testing::Message() << "order " << static_cast<int>(order) << " tcf " << tcf << " tiles "
                                        << tiles.t1 << ' ' << tiles.t2 << ' ' << tiles.t3);
        for (const Shape& shape : tsm2_shapes) {
          expect_product<TypeParam>(shape, Layout::column_major, shape.k % 3, shape.n % 2, [&](auto a, auto b, auto c) {
            tsm2l<TypeParam>(order, tiles, tcf, tsm2_arguments(a, b, c), nullptr);
          });
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

TYPED_TEST(CudaStudyTsm2, RefusesOtherTiles) {
  const Tsm2Arguments<TypeParam> arguments{nullptr, 1, nullptr, 1, nullptr, 1, 1, 1, 1};
  EXPECT_THROW(tsm2r(Tsm2rStep::prefetch, {64, 2, 2}, arguments, nullptr), std::invalid_argument);
  EXPECT_THROW(tsm2r(Tsm2rStep::prefetch, {128, 3, 2}, arguments, nullptr), std::invalid_argument);
  EXPECT_THROW(tsm2l(Tsm2lOrder::rows_first, {128, 2, 1}, 1, arguments, nullptr), std::invalid_argument);
}

class CudaStudySgemm : public OnDevice {};

TEST_F(CudaStudySgemm, AgreesWithEveryPart) {
  for (const SgemmParts& parts : sgemm_parts) {
    for (const Order order : {Order::hilbert, Order::rows, Order::columns}) {
      SCOPED_TRACE(testing::Message() << name_of(parts) << ", order " << static_cast<int>(order));
      for (const Shape& shape : std::array<Shape, 9>{{{1, 1, 1},
                                                      {5, 3, 0},
                                                      {4, 128, 7},
                                                      {256, 128, 8},
                                                      {257, 129, 9},
                                                      {255, 127, 33},
                                                      {700, 300, 100},
                                                      {64, 400, 64},
                                                      {523, 64, 41}}}) {
        for (const std::int64_t pad : {0, 1, 2}) {
          expect_product<float>(shape, Layout::column_major, pad, pad == 0 ? 0 : 4, [&](auto a, auto b, auto c) {
            sgemm(parts, order,
                  {a.data, a.ld, b.data, b.ld, c.data, c.ld, static_cast<int>(shape.m), static_cast<int>(shape.n),
                   static_cast<int>(shape.k)},
                  nullptr);
          });
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_F(CudaStudySgemm, GivesTheSameBitsWithEveryPart) {
  constexpr int m = 516, n = 260, k = 300;
  auto random = random_of(m, n, k);
  GuardedMatrix<float> a(m, k, Layout::column_major, 0, 0, 0), b(k, n, Layout::column_major, 0, 0, 0);
  GuardedMatrix<float> c(m, n, Layout::column_major, 0, 0, 0);
  a.fill(random);
  b.fill(random);
  const OnDeviceMatrix<float> on_a(a), on_b(b);
  OnDeviceMatrix<float> on_c(c);
  const auto multiply = [&](const SgemmParts& parts, Order order) {
    sgemm(parts, order, {on_a.view().data, m, on_b.view().data, k, on_c.view().data, m, m, n, k}, nullptr);
    on_c.download();
  };
  multiply({}, Order::hilbert);
  const GuardedMatrix<float> first = c;
  for (const SgemmParts& parts : sgemm_parts) {
    for (const Order order : {Order::hilbert, Order::rows, Order::columns}) {
      multiply(parts, order);
      EXPECT_TRUE(c.same_bits_as(first)) << name_of(parts);
    }
  }
}

class CudaStudyTiled : public OnDevice {};

TEST_F(CudaStudyTiled, Agrees) {
  for (const TiledStep step : tiled_steps) {
    SCOPED_TRACE(name_of(step));
    for (const Shape& shape :
         std::array<Shape, 6>{{{1, 1, 1}, {3, 5, 0}, {16, 16, 16}, {17, 31, 33}, {100, 90, 257}, {32, 32, 32}}}) {
      expect_product<float>(shape, Layout::row_major, 0, 0, [&](auto a, auto b, auto c) {
        tiled(step,
              {a.data, b.data, c.data, static_cast<int>(shape.m), static_cast<int>(shape.n), static_cast<int>(shape.k)},
              nullptr);
      });
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace blockvec::kernels::cuda::study

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "tests/kernels/cuda/longer.hpp"
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
                        {5001, 130, 12, 1, 0}, {3200, 515, 16, 2, 0}, {4099, 135, 7, 3, 0}, {2600, 150, 30, 0, 0}};
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

// The last chunk of rows of any length.
TYPED_TEST(CudaTsmm, SixtyFourColumnsInPlace) {
  using T = TypeParam;
  for (const std::int64_t k : {1, 15, 16, 127, 128, 129, 1000, 9001}) {
    for (const std::int64_t offset : {0, 2, 4, 8}) {
      const Placement place{Layout::row_major, Layout::column_major, 0, offset};
      expect_tsmm_inplace<T>(run_on_few_blocks, k, 64, 64, place);
      expect_tsmm_inplace<T>(run_on_few_blocks, k, 64, 64, place, Triangle::upper);
      if (this->HasFatalFailure()) return;
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

// All columns begin equally far within lines, or within 16 bytes: chunks begin ahead of the first row.
TYPED_TEST(CudaTsmm, ColumnsWithinLines) {
  using T = TypeParam;
  for (const std::int64_t unit : {32, 4}) {  // numbers
    for (const std::int64_t offset : {1, 2, 3, 13, 31}) {
      if (offset >= unit) continue;
      for (const std::int64_t k : {1, 16, 31, 130, 2207}) {
        const std::int64_t pad = (unit - k % unit) % unit;
        const Placement place{Layout::column_major, Layout::row_major, pad, offset};
        for (const std::int64_t m : {1, 5, 16, 21, 33, 64}) {
          for (const DeviceRun& run : {run_on_few_blocks, DeviceRun{Way::as_longer, {usual_rows<T>(m)}}}) {
            if (run.way == Way::as_longer && k < 1000) continue;
            expect_tsmm<T>(run, k, m, m, place, place, T(1), T(0));
            expect_tsmm<T>(run, k, m, m - k % 2 * (m / 9), place, place, value<T>(2, 1), value<T>(0.5, -1));
            expect_tsmm_inplace<T>(run, k, m, m, place);
          }
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

/// In place through the workspace, by slabs of few rows.
struct SlabRun : DeviceRun {
  template <class T>
  void tsmm_inplace(const Matrix<T>& v, const Matrix<const T>& c, Triangle triangle, std::int64_t first) const {
    const Matrix<T> written = dispatch::columns_of(v, first, c.columns);
    auto device = few_blocks();
    device.bulk_copies = false;
    auto x = dispatch::choose(device, tsmm_problem(Matrix<const T>(v), written, T(1), T(0))).configuration;
    ASSERT_GT(x.part_rows, 0) << "a kernel multiplies in place";
    x.part_rows = 512;
    const DeviceMemory workspace(x->workspace_bytes);
    cuda::launch_tsmm<T>({{T(1), nullptr}, {T(0), nullptr}, v, c, written, triangle}, x, {nullptr, workspace.bytes()});
    expect_success(cudaDeviceSynchronize());
  }
};

// More columns than a kernel takes, in parts of B's columns; in place, rows go through the workspace, slab by slab.
TYPED_TEST(CudaTsmm, InParts) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    const Placement place{layout, Layout::row_major, 1, 1};
    for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{150, 140}, {70, 260}, {9, 500}}) {
      expect_tsmm<T>(DeviceRun{}, 333, m, n, place, value<T>(2, 1), value<T>(0.5, -1));
      for (const Triangle triangle : {Triangle::upper, Triangle::lower}) {
        expect_tsmm<T>(run_on_few_blocks, 77, m, n, {layout, layout, 3, 0}, T(1), T(0), triangle);
      }
    }
    expect_tsmm_inplace<T>(SlabRun{}, 2 * 512 + 77, 150, 140, place);
    expect_tsmm_inplace<T>(SlabRun{}, 2 * 512 + 77, 150, 140, place, Triangle::general, 10);
    expect_tsmm_inplace<T>(run_on_few_blocks, 2 * 512 + 77, 150, 140, place);
    for (const Triangle triangle : {Triangle::upper, Triangle::lower}) {
      expect_tsmm_inplace<T>(run_on_few_blocks, 333, 300, 300, place, triangle);
    }
    expect_tsmm_inplace<T>(run_on_few_blocks, 1, 515, 7, place);
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(CudaTsmm, NothingOfManyColumns) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t m : {31, 64, 300}) {
      expect_tsmm<T>(run_on_few_blocks, 1001, m, 30, {layout, Layout::row_major, 1, 0}, T(0), value<T>(0.5, -1));
    }
  }
}

// Sections of B's columns, in place for the blocks of a cluster, and rows around the end of a chunk.
TYPED_TEST(CudaTsmm, ManyColumns) {
  using T = TypeParam;
  constexpr std::int64_t parts = test::parts<T>;
  for (const Layout layout : layouts) {
    std::int64_t turn = 0;
    for (const std::int64_t width : {97, 100, 128, 200, 257}) {
      for (const std::int64_t k : {255, 256, 257}) {
        ++turn;
        const Placement place{layout, Layout::row_major, turn % 3, turn % 2};
        expect_tsmm_inplace<T>(run_on_few_blocks, k, width, width, place);
        if (k % 2 == 1)
          expect_tsmm<T>(run_on_few_blocks, k, width, width + 3, place, value<T>(2, 1), value<T>(0.5, -1));
        if (this->HasFatalFailure()) return;
      }
    }
    for (const Triangle triangle : {Triangle::upper, Triangle::lower}) {
      expect_tsmm<T>(run_on_few_blocks, 1030, 270, 270, {layout, layout, 0, 0}, T(1), T(0), triangle);
      expect_tsmm_inplace<T>(run_on_few_blocks, 1030, 270, 270, {layout, layout, 0, 0}, triangle);
    }
    for (const std::int64_t width : {600, 1800}) {  // real ones
      expect_tsmm_inplace<T>(run_on_few_blocks, 700 - width / 3, width / parts, width / parts, {layout, layout, 1, 0});
    }
    expect_tsmm<T>(run_on_few_blocks, 300, 110, 140, {layout, layout, 0, 0}, T(0), value<T>(0.5, -1));
  }
}

// Columns that begin within lines of memory, of which whole ones are stored.
TYPED_TEST(CudaTsmm, ManyColumnsOfManyRows) {
  using T = TypeParam;
  for (const std::int64_t width : {44, 57, 62}) {
    for (const std::int64_t pad : {0, 1, 2, 5}) {
      const Placement place{Layout::column_major, Layout::row_major, pad, pad % 3};
      expect_tsmm<T>(run_on_few_blocks, 2801, width, width, place, T(1), T(0));
      expect_tsmm<T>(run_on_few_blocks, 2801, width - 7, width, place, value<T>(2, 1), value<T>(0.5, -1));
      expect_tsmm_inplace<T>(run_on_few_blocks, 2801, width, width, place);
      if (this->HasFatalFailure()) return;
    }
  }
}

// Few results of many columns, which stream past their sums, take the place of the first ones, or are added to.
TYPED_TEST(CudaTsmm, FewOfManyColumns) {
  using T = TypeParam;
  for (const std::int64_t k : {2049, 2052, 2306}) {
    for (const std::int64_t n : {1, 7, 16, 17, 30}) {
      const Placement place{Layout::column_major, Layout::row_major, k % 2 + 2, n % 3 * 2};
      expect_tsmm<T>(run_on_few_blocks, k, 130, n, place, T(2), T(0.5));
      const Placement place_b{Layout::column_major, Layout::row_major, k % 2 + 4, n % 3};
      expect_tsmm<T>(run_on_few_blocks, k, 130, n, place, place_b, T(2), T(0.5));
      expect_tsmm_inplace<T>(run_on_few_blocks, k, 130, n, place);
      if (this->HasFatalFailure()) return;
    }
  }
  if constexpr (std::is_same_v<T, double>) {  // what B held is found to be unwanted on the device
    const Placement place{Layout::column_major, Layout::row_major, 1, 0};
    for (const T beta : {0.0, 0.5})
      expect_tsmm<T>(DeviceRun{Way::device_scalars}, 69999, 128, 20, place, place, T(1), beta);
  }
}

// One result a row, of rows that begin anywhere and lie apart.
TYPED_TEST(CudaTsmm, RowsToOneColumn) {
  using T = TypeParam;
  for (const std::int64_t m : {2, 15, 16, 17, 31, 32}) {
    for (const std::int64_t k : {1, 16, 255, 3001}) {
      const Placement place{Layout::row_major, Layout::column_major, 33 + k % 2, m % 3};
      expect_tsmm<T>(run_on_few_blocks, k, m, 1, place, T(1), T(0));
      expect_tsmm<T>(run_on_few_blocks, k, m, 1, place, value<T>(2, 1), value<T>(0.5, -1));
      expect_tsmm_inplace<T>(run_on_few_blocks, k, m, 1, place);
      if (this->HasFatalFailure()) return;
    }
  }
}

// So few rows that blocks take a chunk each.
TYPED_TEST(CudaTsmm, FewRowsOfManyColumns) {
  using T = TypeParam;
  for (const std::int64_t m : {258, 512, 515, 1018}) {
    for (const std::int64_t n : {1, 8, 15, 32}) {
      for (const std::int64_t k : {1, 127, 128, 300}) {
        const Placement place{Layout::row_major, k == 300 ? Layout::column_major : Layout::row_major,
                              m % 2 + 2 * (n % 2), k % 2};
        expect_tsmm<T>(run_on_few_blocks, k, m, n, place, value<T>(2, 1), value<T>(0.5, -1));
        expect_tsmm_inplace<T>(run_on_few_blocks, k, m, n, place);
        expect_tsmm_inplace<T>(run_on_few_blocks, k, m, n, place, Triangle::upper);
        if (this->HasFatalFailure()) return;
      }
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

/// Row k of A times column j of C.
template <class T>
wide_of<T> in_double_precision(const GuardedMatrix<T>& a, std::int64_t k, const GuardedMatrix<T>& c, std::int64_t j) {
  wide_of<T> sum(0);
  for (std::int64_t i = 0; i < a.view().columns; ++i) sum += wide_of<T>(a(k, i)) * wide_of<T>(c(i, j));
  return sum;
}

// By turns rows whose terms leave the range of single precision although their sums do not, rows of ordinary numbers,
// and rows with an infinity.
template <class T>
void expect_no_early_overflow(std::int64_t k, std::int64_t m, std::int64_t n, const Placement& place, T beta) {
  if (left_out()) return;
  SCOPED_TRACE("tsmm " + shape(k, m, n) + name(place));
  constexpr double large = 2e38;
  std::mt19937 random = random_of(k, m, n);
  std::uniform_real_distribution<double> upper_half(0.5, 1);
  const auto number = [&](double scale) { return value<T>(scale * upper_half(random), scale * upper_half(random)); };
  GuardedMatrix<T> a(k, m, place.layout, place.pad, place.offset, poison<T>());
  GuardedMatrix<T> c(m, n, place.small_layout, place.pad, place.offset, poison<T>());
  GuardedMatrix<T> before(k, n, place.layout, place.pad, place.offset, mark<T>());
  a.fill(random);
  fill_result(before, beta, random);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) c(i, j) = i < m / 2 || 2 * i + 1 == m ? number(4) : c(m - 1 - i, j);
  }
  for (std::int64_t row = 0; row < k; row += 2) {
    for (std::int64_t i = 0; i < m / 2; ++i) {
      a(row, i) = number(large);
      a(row, m - 1 - i) = -a(row, i) * static_cast<real_of<T>>(1 - upper_half(random) / (8 * static_cast<double>(m)));
    }
    if (row % 8 == 6) a(row, m / 2) = T(std::numeric_limits<real_of<T>>::infinity());
  }
  const double gamma_of_split = gamma<T>(parts<T> * 4 * m + 48);
  const std::vector<double> small = absolute_values(c);
  std::vector<double> scale(static_cast<std::size_t>(n));
  const auto check = [&](const GuardedMatrix<T>& b, const auto&...) {
    for (std::int64_t row = 0; row < k; ++row) {
      absolute_row(a, row, small, scale);
      for (std::int64_t j = 0; j < n; ++j) {
        if (row % 8 == 6) {
          ASSERT_FALSE(std::isfinite(std::abs(b(row, j)))) << "entry " << row << ", " << j;
          ASSERT_FALSE(!is_complex<T> && is_nan(b(row, j))) << "entry " << row << ", " << j;
          continue;
        }
        auto expected = in_double_precision(a, row, c, j);
        using Wide = decltype(expected);
        if (beta != T(0)) expected += Wide(beta) * Wide(before(row, j));
        const double bound = (device_gamma<T>(m + 3) + gamma_of_split) * scale[static_cast<std::size_t>(j)] +
                             (beta == T(0) ? 0 : 2 * gamma<T>(2) * std::abs(beta * before(row, j)));
        ASSERT_LE(std::abs(Wide(b(row, j)) - expected), bound)
            << "entry " << row << ", " << j << ": " << b(row, j) << " for " << expected;
      }
    }
  };
  run_every_tsmm(T(1), a, c, beta, before, dispatch::Search::usual, check);
  if (beta != T(0) || m < n) return;
  GuardedMatrix<T> v = a;
  OnDeviceMatrix<T> device_v(v);
  const OnDeviceMatrix<T> device_c(c);
  run_on_few_blocks.tsmm_inplace<T>(device_v.view(), device_c.view(), Triangle::general);
  device_v.download();
  SCOPED_TRACE("in place");
  ASSERT_TRUE(v.guards_hold());
  check(v);
}

TYPED_TEST(CudaTsmm, SumsThatOverflow) {
  using T = TypeParam;
  if constexpr (sizeof(real_of<T>) == 4) {
    for (const Layout layout : layouts) {
      for (std::int64_t width = 1; width <= 24; ++width) {
        for (const std::int64_t pad : {0, 1}) {
          const Placement place{layout, Layout::row_major, pad, pad};
          const std::int64_t m = width + (width > 12 ? width % 3 : 0);
          expect_no_early_overflow<T>(601 + 300 * pad, m, width, place, T(0));
          expect_no_early_overflow<T>(601, m, width, place, value<T>(0.5, -1));
          if (this->HasFatalFailure()) return;
        }
      }
      expect_no_early_overflow<T>(601, 64, 32, {layout, Layout::row_major, 0, 0}, T(1));
      expect_no_early_overflow<T>(301, 200, 30, {layout, Layout::row_major, 2, 0}, value<T>(0.5, -1));
    }
  }
}

// A C and beta B, of opposite signs, where the latter alone leaves the range of single precision.
template <class T>
void expect_no_overflow_of_beta(std::int64_t k, std::int64_t width, Layout layout) {
  if (left_out()) return;
  const Placement place{layout, Layout::row_major, 0, 0};
  SCOPED_TRACE("tsmm " + shape(k, width, width) + name(place));
  std::mt19937 random = random_of(k, width, width);
  GuardedMatrix<T> a(k, width, place.layout, place.pad, place.offset, poison<T>());
  GuardedMatrix<T> c(width, width, place.small_layout, place.pad, place.offset, poison<T>());
  GuardedMatrix<T> before(k, width, place.layout, place.pad, place.offset, mark<T>());
  a.fill(random);
  c.fill(random);
  const T beta(1.5);
  for (std::int64_t j = 0; j < width; ++j) c(0, j) = T(1);
  for (std::int64_t row = 0; row < k; ++row) {
    a(row, 0) = value<T>(-2.5e38, -1.5e38);
    for (std::int64_t j = 0; j < width; ++j) before(row, j) = value<T>(2.5e38, 2.4e38);
  }
  const double gamma_of_split = gamma<T>(parts<T> * 4 * width + 48);
  const std::vector<double> small = absolute_values(c);
  std::vector<double> scale(static_cast<std::size_t>(width));
  const auto check = [&](const GuardedMatrix<T>& b, const auto&...) {
    for (std::int64_t row = 0; row < k; ++row) {
      absolute_row(a, row, small, scale);
      for (std::int64_t j = 0; j < width; ++j) {
        auto expected = in_double_precision(a, row, c, j);
        using Wide = decltype(expected);
        expected += Wide(beta) * Wide(before(row, j));
        const double bound = (device_gamma<T>(width + 3) + gamma_of_split) * scale[static_cast<std::size_t>(j)] +
                             2 * gamma<T>(2) * std::abs(Wide(beta) * Wide(before(row, j)));
        ASSERT_LE(std::abs(Wide(b(row, j)) - expected), bound)
            << "entry " << row << ", " << j << ": " << b(row, j) << " for " << expected;
      }
    }
  };
  run_every_tsmm(T(1), a, c, beta, before, dispatch::Search::usual, check);
}

TYPED_TEST(CudaTsmm, UpdatesWhoseSecondTermOverflows) {
  using T = TypeParam;
  if constexpr (sizeof(real_of<T>) == 4) {
    for (const Layout layout : layouts) {
      for (std::int64_t width = 1; width <= 64; ++width) {
        expect_no_overflow_of_beta<T>(601, width, layout);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

// Sums of plain single precision are as accurate as double precision lets them be.
TYPED_TEST(CudaTsmm, PlainSinglePrecision) {
  using T = TypeParam;
  std::uniform_real_distribution<double> upper_half(0.5, 1);
  for (const Layout layout : layouts) {
    for (std::int64_t width = 1; width <= 24; ++width) {
      std::mt19937 random(static_cast<unsigned>(width));
      GuardedMatrix<T> a(1000, width, layout, 0, 0, mark<T>());
      GuardedMatrix<T> c(width, width, Layout::row_major, 0, 0, mark<T>());
      GuardedMatrix<T> b(1000, width, layout, 0, 0, mark<T>());
      for (const GuardedMatrix<T>* const x : {&a, &c}) {
        for (std::int64_t i = 0; i < x->view().rows; ++i) {
          // Of one sign, so that roundings of sums are as large as they get.
          for (std::int64_t j = 0; j < width; ++j) (*x)(i, j) = value<T>(upper_half(random), 0.1 * upper_half(random));
        }
      }
      OnDeviceMatrix<T> device_a(a);
      OnDeviceMatrix<T> device_c(c);
      OnDeviceMatrix<T> device_b(b);
      const DeviceMemory workspace(cuda_tsmm_workspace<T>(1000, width, width));
      const CudaExecution execution{nullptr, workspace.bytes(), SinglePrecision::plain};
      tsmm<T>(T(1), device_a.view(), device_c.view(), T(0), device_b.view(), Triangle::general, execution);
      expect_success(cudaDeviceSynchronize());
      device_b.download();
      const std::vector<double> small = absolute_values(c);
      std::vector<double> scale(static_cast<std::size_t>(width));
      for (std::int64_t row = 0; row < 1000; ++row) {
        absolute_row(a, row, small, scale);
        for (std::int64_t j = 0; j < width; ++j) {
          const auto sum = in_double_precision(a, row, c, j);
          using Wide = std::remove_const_t<decltype(sum)>;
          ASSERT_LE(std::abs(Wide(b(row, j)) - sum), device_gamma<T>(width + 3) * scale[static_cast<std::size_t>(j)])
              << "width " << width << ", entry " << row << ", " << j;
        }
      }
    }
  }
}

}  // namespace
}  // namespace blockvec::kernels

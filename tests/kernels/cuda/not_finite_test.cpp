#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/kernels/cuda/longer.hpp"

/// Infinities and NaN reach the entries that they count for, as what they are, and no others.
namespace blockvec::kernels {
namespace {

using namespace test;

template <class T>
class CudaNotFinite : public OnDevice {};
TYPED_TEST_SUITE(CudaNotFinite, Scalars);

enum class Kind { finite, infinite, nan };

template <class Real>
Kind kind_of(Real x) {
  return std::isnan(x) ? Kind::nan : std::isinf(x) ? Kind::infinite : Kind::finite;
}
template <class T>
Kind kind_of_real_part(const T& x) {
  return kind_of(std::real(x));
}
template <class T>
Kind kind_of_last_part(const T& x) {
  if constexpr (is_complex<T>) return kind_of(x.imag());
  return kind_of(std::real(x));
}

/// A number that is not finite, or of which one part is not.
template <class T>
struct Special {
  Kind kind;
  T value;
};
template <class T>
std::vector<Special<T>> specials() {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Special<T>> all{{Kind::infinite, value<T>(infinity, 0.5)},
                              {Kind::nan, value<T>(nan, 0.5)},
                              {Kind::infinite, value<T>(-infinity, -0.25)}};
  if constexpr (is_complex<T>) {
    all.push_back({Kind::infinite, value<T>(0.75, infinity)});
    all.push_back({Kind::nan, value<T>(-0.5, nan)});
  }
  return all;
}

const std::int64_t widths[] = {1, 2, 3, 5, 8, 9, 16, 20, 24, 33, 40, 48, 57, 64, 70, 100};

/// Plainly, on few blocks, and as a call of many such rows.
template <class T>
std::vector<DeviceRun> runs(std::int64_t width) {
  return {plain_run, run_on_few_blocks, {Way::as_longer, {usual_rows<T>(width)}}};
}

/// B's row k has only entries of one kind, all parts alike.
template <class T>
void expect_row(const GuardedMatrix<T>& b, std::int64_t k, std::int64_t columns, Kind kind) {
  for (std::int64_t j = 0; j < columns; ++j) {
    ASSERT_EQ(kind_of_real_part(b(k, j)), kind) << "row " << k << ", column " << j << ": " << b(k, j);
    ASSERT_EQ(kind_of_last_part(b(k, j)), kind) << "row " << k << ", column " << j << ": " << b(k, j);
  }
}

template <class T>
void expect_in_rows(const DeviceRun& run, Layout layout, std::int64_t m, std::int64_t n, bool in_place) {
  if (left_out()) return;
  SCOPED_TRACE(shape(700, m, n) + (layout == Layout::row_major ? "row-major" : "column-major") + run.name() +
               (in_place ? ", in place" : ""));
  std::mt19937 random(static_cast<unsigned>(m));
  GuardedMatrix<T> a(700, m, layout, m % 2, 0, mark<T>());
  GuardedMatrix<T> c(m, n, Layout::row_major, 0, 0, mark<T>());
  a.fill(random);
  c.fill(random);
  const std::vector<Special<T>> all = specials<T>();
  const auto special_of = [&](std::int64_t k) {
    return k % 37 == 11 ? &all[static_cast<std::size_t>(k / 37) % all.size()] : nullptr;
  };
  for (std::int64_t k = 0; k < 700; ++k) {
    if (const auto* const special = special_of(k)) a(k, k % m) = special->value;
  }
  GuardedMatrix<T> b(700, n, layout, m % 2, 0, mark<T>());
  OnDeviceMatrix<T> device_a(a), device_b(b);
  const OnDeviceMatrix<T> device_c(c);
  if (in_place) {
    run.tsmm_inplace<T>(device_a.view(), device_c.view(), Triangle::general);
  } else {
    run.tsmm<T>(T(1), device_a.view(), device_c.view(), T(0), device_b.view(), Triangle::general);
  }
  OnDeviceMatrix<T>& result = in_place ? device_a : device_b;
  result.download();
  for (std::int64_t k = 0; k < 700; ++k) {
    const auto* const special = special_of(k);
    expect_row(in_place ? a : b, k, n, special == nullptr ? Kind::finite : special->kind);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TYPED_TEST(CudaNotFinite, StaysInItsRow) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t width : widths) {
      for (const DeviceRun& run : runs<T>(width)) {
        if (width == 1 && layout == Layout::column_major && run.way == Way::as_longer) continue;
        expect_in_rows<T>(run, layout, width, width, false);
        expect_in_rows<T>(run, layout, width, width, true);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(CudaNotFinite, StaysInItsRowOfManyColumns) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t m : {63, 64, 301, 512}) expect_in_rows<T>(run_on_few_blocks, layout, m, 32, false);
  }
}

TYPED_TEST(CudaNotFinite, StaysInItsRowOfWideMatrices) {
  for (const Layout layout : layouts) {
    for (const bool in_place : {false, true}) {
      expect_in_rows<TypeParam>(run_on_few_blocks, layout, 131, 131, in_place);
    }
    if (this->HasFatalFailure()) return;
  }
}

// An infinity in the small matrix reaches a column of B.
TYPED_TEST(CudaNotFinite, OfTheSmallMatrixStaysInItsColumn) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t width : widths) {
      for (const DeviceRun& run : runs<T>(width)) {
        if (left_out() || (width == 1 && layout == Layout::column_major)) continue;
        std::mt19937 random(static_cast<unsigned>(width));
        GuardedMatrix<T> a(300, width, layout, 0, 0, mark<T>());
        GuardedMatrix<T> c(width, width, Layout::row_major, 0, 0, mark<T>());
        GuardedMatrix<T> b(300, width, layout, 0, 0, mark<T>());
        a.fill(random);
        c.fill(random);
        const std::int64_t column = width / 2;
        c(width / 3, column) = specials<T>().front().value;
        const OnDeviceMatrix<T> device_a(a), device_c(c);
        OnDeviceMatrix<T> device_b(b);
        run.tsmm<T>(T(1), device_a.view(), device_c.view(), T(0), device_b.view(), Triangle::general);
        device_b.download();
        for (std::int64_t k = 0; k < 300; ++k) {
          for (std::int64_t j = 0; j < width; ++j) {
            const Kind expected = j == column ? Kind::infinite : Kind::finite;
            ASSERT_EQ(kind_of_real_part(b(k, j)), expected) << width << run.name() << ", entry " << k << ", " << j;
            ASSERT_EQ(kind_of_last_part(b(k, j)), expected) << width << run.name() << ", entry " << k << ", " << j;
          }
        }
      }
    }
  }
}

/// Columns of A with one number each that is not finite: the first, the last, and some between them.
template <class T>
std::vector<Kind> spoil_columns(const GuardedMatrix<T>& a) {
  const std::int64_t width = a.view().columns;
  std::vector<Kind> kinds(static_cast<std::size_t>(width), Kind::finite);
  std::int64_t column = width / 2;
  std::int64_t k = a.view().rows - 7;
  for (const Special<T>& special : specials<T>()) {
    Kind& kind = kinds[static_cast<std::size_t>(column)];
    if (kind != Kind::finite) break;
    kind = special.kind;
    a(k, column) = special.value;
    column = (column + (width + 1) / 2 + 2) % width;
    k -= 97;
  }
  return kinds;
}

template <class T>
void expect_in_entries(const DeviceRun& run, Layout layout, std::int64_t m, std::int64_t n, bool same) {
  if (left_out()) return;
  SCOPED_TRACE(shape(700, m, n) + (layout == Layout::row_major ? "row-major" : "column-major") + run.name() +
               (same ? ", with itself" : ""));
  std::mt19937 random(static_cast<unsigned>(m));
  GuardedMatrix<T> a(700, m, layout, m % 2, 0, mark<T>());
  GuardedMatrix<T> b(700, n, layout, m % 2, 0, mark<T>());
  GuardedMatrix<T> c(m, n, Layout::row_major, 0, 0, mark<T>());
  a.fill(random);
  b.fill(random);
  const std::vector<Kind> kinds = spoil_columns(a);
  const OnDeviceMatrix<T> device_a(a), device_b(b);
  OnDeviceMatrix<T> device_c(c);
  run.tsmttsm<T>(Op::conjugate_transpose, T(1), device_a.view(), same ? device_a.view() : device_b.view(), T(0),
                 device_c.view());
  device_c.download();
  // Of three real products the imaginary part may be a difference of infinities.
  const bool gauss = !same && may_take_gauss<T>(m, n);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const Kind left = kinds[static_cast<std::size_t>(i)];
      const Kind right = same ? kinds[static_cast<std::size_t>(j)] : Kind::finite;
      const Kind expected = std::max(left, right);
      const Kind first = kind_of_real_part(c(i, j));
      const Kind last = kind_of_last_part(c(i, j));
      SCOPED_TRACE("entry " + std::to_string(i) + ", " + std::to_string(j));
      if (left == Kind::infinite && right == Kind::infinite) {  // infinities of both operands may cancel
        ASSERT_NE(first, Kind::finite);
        continue;
      }
      ASSERT_EQ(first, expected);
      if (gauss && expected == Kind::infinite) {
        ASSERT_NE(last, Kind::finite);
      } else {
        ASSERT_EQ(last, expected);
      }
    }
  }
}

TYPED_TEST(CudaNotFinite, PassesToItsEntries) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const std::int64_t width : widths) {
      for (const DeviceRun& run : runs<T>(width)) {
        if (width == 1 && layout == Layout::column_major && run.way == Way::as_longer) continue;
        expect_in_entries<T>(run, layout, width, width, false);
        expect_in_entries<T>(run, layout, width, width, true);
        expect_in_entries<T>(run, layout, width, 1 + width / 3, false);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(CudaNotFinite, PassesToItsEntriesOfWideMatrices) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    expect_in_entries<T>(run_on_few_blocks, layout, 200, 200, true);
    expect_in_entries<T>(run_on_few_blocks, layout, 512, 32, false);
    expect_in_entries<T>(run_on_few_blocks, layout, 201, 31, false);
    expect_in_entries<T>(run_on_few_blocks, layout, 130, 130, false);
  }
}

}  // namespace
}  // namespace blockvec::kernels

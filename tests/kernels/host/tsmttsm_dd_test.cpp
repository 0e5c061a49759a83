#include <gtest/gtest.h>

#include <algorithm>
#include <blockvec/kernels/error.hpp>
#include <complex>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/kernels/support/guarded_matrix.hpp"
#include "tests/kernels/support/targets.hpp"

namespace blockvec::kernels {
namespace {

using namespace test;

template <class T>
class TsmttsmDd : public testing::Test {};
using Scalars = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(TsmttsmDd, Scalars);

constexpr Layout layouts[] = {Layout::row_major, Layout::column_major};

// Entries are whole numbers that fill the significand, so that sums of their products are exact in 128 bits.
using Exact = __int128;

double part(const Exact& x, bool) { return static_cast<double>(x); }
template <class T>
Exact whole(const T& x, bool imaginary) {
  if constexpr (is_complex<T>) {
    return static_cast<Exact>(imaginary ? x.imag() : x.real());
  } else {
    return imaginary ? 0 : static_cast<Exact>(x);
  }
}

template <class T>
T random_entry(std::mt19937_64& random) {
  constexpr int bits = std::numeric_limits<real_of<T>>::digits - 1;
  std::uniform_int_distribution<std::int64_t> uniform(-(std::int64_t{1} << bits), std::int64_t{1} << bits);
  const auto re = static_cast<double>(uniform(random));
  return value<T>(re, static_cast<double>(uniform(random)));
}

// A and B whose products nearly cancel: rows come in pairs, equal in A and opposite in B but for the last digits.
template <class T>
void fill(GuardedMatrix<T>& a, GuardedMatrix<T>& b, std::mt19937_64& random) {
  const std::int64_t rows = a.view().rows;
  for (std::int64_t k = 0; k < rows; ++k) {
    const bool second = k % 2 == 1;
    for (std::int64_t i = 0; i < a.view().columns; ++i) a(k, i) = second ? a(k - 1, i) : random_entry<T>(random);
    for (std::int64_t j = 0; j < b.view().columns; ++j) {
      b(k, j) = second ? -b(k - 1, j) + value<T>(static_cast<double>(random() % 16), 1) : random_entry<T>(random);
    }
  }
}

template <class T>
void expect_products(std::int64_t k, std::int64_t m, std::int64_t n, Layout layout, Op op, bool same,
                     HostExecution execution = {}) {
  SCOPED_TRACE("K " + std::to_string(k) + " M " + std::to_string(m) + " N " + std::to_string(n) +
               (layout == Layout::row_major ? " row-major" : " column-major") + (same ? ", Gram" : ""));
  std::mt19937_64 random(static_cast<std::uint64_t>(k * 10007 + m * 101 + n));
  GuardedMatrix<T> a(k, m, layout, m % 3, n % 2, poison<T>()), other(k, n, layout, 1, m % 2, poison<T>());
  fill(a, other, random);
  const GuardedMatrix<T>& b = same ? a : other;
  GuardedMatrix<T> high(m, n, layouts[m % 2], 1, 1, mark<T>()), low(m, n, layouts[n % 2], 2, 0, mark<T>());
  tsmttsm_dd(op, a.view(), b.view(), high.view(), low.view(), execution);
  ASSERT_TRUE(high.guards_hold() && low.guards_hold());
  const std::vector<double> scale = absolute_product(a, b);
  // Products and sums in double precision for single precision; else the errors of those are summed, too.
  const double u = std::numeric_limits<double>::epsilon() / 2, single = gamma<T>(1);
  const double terms = 2 * static_cast<double>(k + 3) * (is_complex<T> ? 2 : 1) * u;
  const bool is_single = std::is_same_v<real_of<T>, float>;
  const double gamma_part = is_single ? terms : terms * terms;
  const double rounding = is_single ? single * single : 4 * u * u;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      Exact re = 0, im = 0;
      for (std::int64_t row = 0; row < k; ++row) {
        const Exact ar = whole(a(row, i), false), br = whole(b(row, j), false), bi = whole(b(row, j), true);
        const Exact ai = op == Op::conjugate_transpose ? -whole(a(row, i), true) : whole(a(row, i), true);
        re += ar * br - ai * bi;
        im += ar * bi + ai * br;
      }
      for (const bool imaginary : {false, true}) {
        const Exact exact = imaginary ? im : re;
        const Exact error = whole(high(i, j), imaginary) + whole(low(i, j), imaginary) - exact;
        const double bound =
            gamma_part * scale[static_cast<std::size_t>(i * n + j)] + rounding * std::abs(part(exact, imaginary));
        ASSERT_LE(std::abs(part(error, imaginary)), bound) << "entry " << i << ", " << j;
        // High is the whole rounded.
        const double larger = std::abs(part(whole(high(i, j), imaginary), imaginary));
        ASSERT_LE(std::abs(part(whole(low(i, j), imaginary), imaginary)), gamma<real_of<T>>(1) * larger);
      }
    }
  }
}

TYPED_TEST(TsmttsmDd, EveryWidthOnEveryTarget) {
  for (const std::int64_t target : supported_targets()) {
    const OnTarget on(target);
    for (const Layout layout : layouts) {
      for (const std::int64_t m : {0, 1, 2, 3, 4, 5, 8, 13}) {
        for (const std::int64_t n : {0, 1, 2, 3, 4, 7, 9}) {
          expect_products<TypeParam>(45, m, n, layout, n % 2 == 0 ? Op::transpose : Op::conjugate_transpose, false);
          if (this->HasFatalFailure()) return;
        }
        expect_products<TypeParam>(38, m, m, layout, Op::conjugate_transpose, true);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(TsmttsmDd, EveryLength) {
  for (const Layout layout : layouts) {
    for (const std::int64_t k : {0, 1, 2, 7, 8, 9, 63, 64, 65, 511, 512, 513, 1000, 20000}) {
      expect_products<TypeParam>(k, 3, 2, layout, Op::conjugate_transpose, false);
      expect_products<TypeParam>(k, 4, 4, layout, Op::conjugate_transpose, true);
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(TsmttsmDd, SameBitsForAnyNumberOfThreads) {
  using T = TypeParam;
  std::mt19937_64 random(7);
  for (const Layout layout : layouts) {
    GuardedMatrix<T> a(50001, 5, layout, 1, 0, mark<T>()), b(50001, 3, layout, 0, 0, mark<T>());
    fill(a, b, random);
    const auto product = [&](int threads, GuardedMatrix<T>& high, GuardedMatrix<T>& low) {
      std::vector<std::byte> memory(tsmttsm_dd_workspace<T>(50001, 5, 3, threads));
      tsmttsm_dd(Op::conjugate_transpose, a.view(), b.view(), high.view(), low.view(), {threads, memory});
    };
    GuardedMatrix<T> high(5, 3, Layout::row_major, 0, 0, mark<T>()), low = high;
    product(1, high, low);
    for (const int threads : {2, 3, 8}) {
      GuardedMatrix<T> same_high(5, 3, Layout::row_major, 0, 0, mark<T>()), same_low = same_high;
      product(threads, same_high, same_low);
      EXPECT_TRUE(same_high.same_bits_as(high) && same_low.same_bits_as(low)) << threads << " threads";
    }
  }
}

TYPED_TEST(TsmttsmDd, FaultyOperandsAreNamed) {
  using T = TypeParam;
  GuardedMatrix<T> a(10, 3, Layout::row_major, 0, 0, mark<T>()), b(10, 2, Layout::row_major, 0, 0, mark<T>());
  GuardedMatrix<T> high(3, 2, Layout::row_major, 0, 0, mark<T>()), low(3, 1, Layout::row_major, 0, 0, mark<T>());
  EXPECT_THROW(tsmttsm_dd(Op::transpose, a.view(), b.view(), high.view(), low.view()), ShapeError);
  EXPECT_EQ(high(0, 0), mark<T>());
}

}  // namespace
}  // namespace blockvec::kernels

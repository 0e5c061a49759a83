#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <blockvec/kernels/tall_skinny.hpp>
#include <cstdlib>
#include <random>
#include <string>

#include "tests/kernels/support/guarded_matrix.hpp"

/// One product of each kind, computed by the fast kernels and by the oracle, compared entry by entry; on the host or on
/// a device, as a `Run` has it:
///   Run::Copy<T>(matrix)         a guarded matrix where the product runs: view(), and download() into the matrix
///   run.tsmttsm(op, alpha, a, b, beta, c), run.tsmm(alpha, a, c, beta, b, triangle), run.tsmm_inplace(v, c, triangle)
///   run.sum_bound<T>(k, m, n)    relative error of tsmttsm's sums beyond the oracle's
///   run.row_bound<T>(m, n)       that of tsmm beyond twice the oracle's
///   run.rows(k)                  k, or more where so few rows would leave something untried
///   run.name()
namespace blockvec::kernels::test {

/// The types of typed tests.
using Scalars = testing::Types<float, double, std::complex<float>, std::complex<double>>;
template <template <class> class Where>
using InAllScalars =
    testing::Types<Where<float>, Where<double>, Where<std::complex<float>>, Where<std::complex<double>>>;

/// How the operands of a product lie in memory.
struct Placement {
  Layout layout = Layout::row_major;
  Layout small_layout = Layout::row_major;
  std::int64_t pad = 0;     ///< entries between the runs of every operand
  std::int64_t offset = 0;  ///< entries before the first
};

inline std::string name(const Placement& p) {
  return std::string(p.layout == Layout::row_major ? "row-major" : "column-major") + ", small " +
         (p.small_layout == Layout::row_major ? "row-major" : "column-major") + ", pad " + std::to_string(p.pad) +
         ", offset " + std::to_string(p.offset);
}

inline std::string shape(std::int64_t k, std::int64_t m, std::int64_t n) {
  return "K " + std::to_string(k) + " M " + std::to_string(m) + " N " + std::to_string(n) + ' ';
}

inline std::mt19937 random_of(std::int64_t k, std::int64_t m, std::int64_t n) {
  return std::mt19937(static_cast<unsigned>(k * 10007 + m * 101 + n));
}

/// For checkers that slow everything down: of a program's products only every so manieth, BLOCKVEC_TEST_EVERY, is
/// tried.
inline bool left_out() {
  static const char* const text = std::getenv("BLOCKVEC_TEST_EVERY");
  static const int every = text == nullptr ? 1 : std::max(1, std::atoi(text));
  static int count = 0;
  return count++ % every != 0;
}

/// Random numbers, or what beta = 0 must not read.
template <class T, class Random>
void fill_result(GuardedMatrix<T>& result, T beta, Random& random) {
  if (beta == T(0)) {
    result.fill_with(poison<T>());
  } else {
    result.fill(random);
  }
}

/// Where B's operand lies beside A's.
inline Placement beside(const Placement& a) { return {a.layout, a.small_layout, 2 * a.pad, a.offset / 2}; }

/// A lies at `place`, and so does C; B at `place_b`.
template <class T, class Run>
void expect_tsmttsm(const Run& run, std::int64_t k, std::int64_t m, std::int64_t n, const Placement& place,
                    const Placement& place_b, Op op, T alpha, T beta, bool same_operand = false) {
  if (left_out()) return;
  SCOPED_TRACE("tsmttsm " + shape(k, m, n) + name(place) + (same_operand ? ", with itself" : ", B " + name(place_b)) +
               run.name());
  std::mt19937 random = random_of(k, m, n);
  GuardedMatrix<T> a(k, m, place.layout, place.pad, place.offset, poison<T>());
  GuardedMatrix<T> other(k, n, place_b.layout, place_b.pad, place_b.offset, poison<T>());
  a.fill(random);
  other.fill(random);
  GuardedMatrix<T>& b = same_operand ? a : other;
  GuardedMatrix<T> c(m, n, place.small_layout, place.pad, place.offset, mark<T>());
  fill_result(c, beta, random);
  const GuardedMatrix<T> before = c;
  GuardedMatrix<T> expected = c;
  reference::tsmttsm(op, alpha, a.view(), b.view(), beta, expected.view());
  const typename Run::template Copy<T> copy_a(a), copy_b(other);
  typename Run::template Copy<T> copy_c(c);
  run.template tsmttsm<T>(op, alpha, copy_a.view(), same_operand ? copy_a.view() : copy_b.view(), beta, copy_c.view());
  copy_c.download();
  ASSERT_TRUE(c.guards_hold());
  // Both are within their bound of the exact result.
  const double bound = (run.template sum_bound<T>(k, m, n) + gamma<T>(k + 3)) * std::abs(alpha);
  const std::vector<double> scale = absolute_product(a, b);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const double of_beta = beta == T(0) ? 0 : 2 * gamma<T>(2) * std::abs(beta * before(i, j));
      ASSERT_LE(std::abs(c(i, j) - expected(i, j)), bound * scale[static_cast<std::size_t>(i * n + j)] + of_beta)
          << "entry " << i << ", " << j << ": " << c(i, j) << " for " << expected(i, j);
    }
  }
}

template <class T, class Run>
void expect_tsmttsm(const Run& run, std::int64_t k, std::int64_t m, std::int64_t n, const Placement& place, Op op,
                    T alpha, T beta, bool same_operand = false) {
  expect_tsmttsm<T>(run, k, m, n, place, beside(place), op, alpha, beta, same_operand);
}

template <class T>
void expect_close(const GuardedMatrix<T>& result, const GuardedMatrix<T>& expected, const GuardedMatrix<T>& a,
                  const GuardedMatrix<T>& c, const GuardedMatrix<T>& before, T alpha, T beta, double more = 0) {
  const std::int64_t m = a.view().columns;
  const std::int64_t n = c.view().columns;
  const double bound = (2 * gamma<T>(m + 3) + more) * std::abs(alpha);
  const std::vector<double> small = absolute_values(c);
  std::vector<double> scale(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k < a.view().rows; ++k) {
    absolute_row(a, k, small, scale);
    for (std::int64_t j = 0; j < n; ++j) {
      const double of_beta = beta == T(0) ? 0 : 2 * gamma<T>(2) * std::abs(beta * before(k, j));
      ASSERT_LE(std::abs(result(k, j) - expected(k, j)), bound * scale[static_cast<std::size_t>(j)] + of_beta)
          << "entry " << k << ", " << j << ": " << result(k, j) << " for " << expected(k, j);
    }
  }
}

/// The opposite triangle of C is set to zero: it must not count, and NaN there must not be read.
template <class T>
GuardedMatrix<T> without_opposite(const GuardedMatrix<T>& c, Triangle triangle, T fill) {
  GuardedMatrix<T> result = c;
  for (std::int64_t i = 0; i < c.view().rows; ++i) {
    for (std::int64_t j = 0; j < c.view().columns; ++j) {
      if ((triangle == Triangle::upper && i > j) || (triangle == Triangle::lower && i < j)) result(i, j) = fill;
    }
  }
  return result;
}

template <class T, class Run>
void expect_tsmm(const Run& run, std::int64_t k, std::int64_t m, std::int64_t n, const Placement& place, T alpha,
                 T beta, Triangle triangle = Triangle::general) {
  if (left_out()) return;
  SCOPED_TRACE("tsmm " + shape(k, m, n) + name(place) + run.name());
  std::mt19937 random = random_of(k, m, n);
  const Placement place_b = beside(place);
  GuardedMatrix<T> a(k, m, place.layout, place.pad, place.offset, poison<T>());
  GuardedMatrix<T> c(m, n, place.small_layout, place.pad, place.offset, poison<T>());
  GuardedMatrix<T> b(k, n, place.layout, place_b.pad, place_b.offset, mark<T>());
  a.fill(random);
  c.fill(random);
  fill_result(b, beta, random);
  const GuardedMatrix<T> before = b;
  GuardedMatrix<T> expected = b;
  const GuardedMatrix<T> zeros = without_opposite(c, triangle, T(0));
  GuardedMatrix<T> poisoned = without_opposite(c, triangle, poison<T>());
  reference::tsmm(alpha, a.view(), zeros.view(), beta, expected.view());
  const typename Run::template Copy<T> copy_a(a), copy_c(poisoned);
  typename Run::template Copy<T> copy_b(b);
  run.template tsmm<T>(alpha, copy_a.view(), copy_c.view(), beta, copy_b.view(), triangle);
  copy_b.download();
  ASSERT_TRUE(b.guards_hold());
  expect_close(b, expected, a, zeros, before, alpha, beta, run.template row_bound<T>(m, n));
}

template <class T, class Run>
void expect_tsmm_inplace(const Run& run, std::int64_t k, std::int64_t m, std::int64_t n, const Placement& place,
                         Triangle triangle = Triangle::general) {
  if (left_out()) return;
  SCOPED_TRACE("tsmm_inplace " + shape(k, m, n) + name(place) + run.name());
  std::mt19937 random = random_of(k, m, n);
  GuardedMatrix<T> v(k, m, place.layout, place.pad, place.offset, mark<T>());
  GuardedMatrix<T> c(m, n, place.small_layout, place.pad, place.offset, poison<T>());
  v.fill(random);
  c.fill(random);
  const GuardedMatrix<T> before = v;
  GuardedMatrix<T> expected = v;
  const GuardedMatrix<T> zeros = without_opposite(c, triangle, T(0));
  GuardedMatrix<T> poisoned = without_opposite(c, triangle, poison<T>());
  reference::tsmm_inplace(expected.view(), zeros.view());
  const typename Run::template Copy<T> copy_c(poisoned);
  typename Run::template Copy<T> copy_v(v);
  run.template tsmm_inplace<T>(copy_v.view(), copy_c.view(), triangle);
  copy_v.download();
  ASSERT_TRUE(v.guards_hold());
  expect_close(v, expected, before, zeros, before, T(1), T(0), run.template row_bound<T>(m, n));
  for (std::int64_t row = 0; row < k; ++row) {
    for (std::int64_t j = n; j < m; ++j) ASSERT_TRUE(same_bits(v(row, j), before(row, j))) << "a column to keep";
  }
}

}  // namespace blockvec::kernels::test

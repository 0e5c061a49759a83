#pragma once

#include <gtest/gtest.h>

#include <blockvec/kernels/tall_skinny.hpp>
#include <random>
#include <string>

#include "tests/kernels/support/guarded_matrix.hpp"

/// One product of each kind, computed by the fast kernels and by the oracle, compared entry by entry.
namespace blockvec::kernels::test {

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

template <class T>
void expect_tsmttsm(std::int64_t k, std::int64_t m, std::int64_t n, const Placement& place, Op op, T alpha, T beta,
                    bool same_operand = false, HostExecution execution = {}) {
  SCOPED_TRACE("tsmttsm K " + std::to_string(k) + " M " + std::to_string(m) + " N " + std::to_string(n) + " " +
               name(place));
  std::mt19937 random(static_cast<unsigned>(k * 10007 + m * 101 + n));
  GuardedMatrix<T> a(k, m, place.layout, place.pad, place.offset, poison<T>());
  GuardedMatrix<T> other(k, n, place.layout, 2 * place.pad, place.offset / 2, poison<T>());
  a.fill(random);
  other.fill(random);
  const GuardedMatrix<T>& b = same_operand ? a : other;
  GuardedMatrix<T> c(m, n, place.small_layout, place.pad, place.offset, mark<T>());
  if (beta == T(0)) {
    c.fill_with(poison<T>());
  } else {
    c.fill(random);
  }
  const GuardedMatrix<T> before = c;
  GuardedMatrix<T> expected = c;
  reference::tsmttsm(op, alpha, a.view(), b.view(), beta, expected.view());
  tsmttsm(op, alpha, a.view(), b.view(), beta, c.view(), execution);
  ASSERT_TRUE(c.guards_hold());
  // Both are within their bound of the exact result.
  const double bound = (gamma<T>(summation_depth(k) + 3) + gamma<T>(k + 3)) * std::abs(alpha);
  const std::vector<double> scale = absolute_product(a, b);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const double of_beta = beta == T(0) ? 0 : 2 * gamma<T>(2) * std::abs(beta * before(i, j));
      ASSERT_LE(std::abs(c(i, j) - expected(i, j)), bound * scale[static_cast<std::size_t>(i * n + j)] + of_beta)
          << "entry " << i << ", " << j << ": " << c(i, j) << " for " << expected(i, j);
    }
  }
}

template <class T>
void expect_close(const GuardedMatrix<T>& result, const GuardedMatrix<T>& expected, const GuardedMatrix<T>& a,
                  const GuardedMatrix<T>& c, const GuardedMatrix<T>& before, T alpha, T beta) {
  const std::int64_t m = a.view().columns;
  const double bound = 2 * gamma<T>(m + 3) * std::abs(alpha);
  for (std::int64_t k = 0; k < a.view().rows; ++k) {
    for (std::int64_t j = 0; j < c.view().columns; ++j) {
      double scale = 0;
      for (std::int64_t i = 0; i < m; ++i) scale += std::abs(a(k, i)) * std::abs(c(i, j));
      const double of_beta = beta == T(0) ? 0 : 2 * gamma<T>(2) * std::abs(beta * before(k, j));
      ASSERT_LE(std::abs(result(k, j) - expected(k, j)), bound * scale + of_beta)
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

template <class T>
void expect_tsmm(std::int64_t k, std::int64_t m, std::int64_t n, const Placement& place, T alpha, T beta,
                 Triangle triangle = Triangle::general, HostExecution execution = {}) {
  SCOPED_TRACE("tsmm K " + std::to_string(k) + " M " + std::to_string(m) + " N " + std::to_string(n) + " " +
               name(place));
  std::mt19937 random(static_cast<unsigned>(k * 10007 + m * 101 + n));
  GuardedMatrix<T> a(k, m, place.layout, place.pad, place.offset, poison<T>());
  GuardedMatrix<T> c(m, n, place.small_layout, place.pad, place.offset, poison<T>());
  GuardedMatrix<T> b(k, n, place.layout, 2 * place.pad, place.offset / 2, mark<T>());
  a.fill(random);
  c.fill(random);
  if (beta == T(0)) {
    b.fill_with(poison<T>());
  } else {
    b.fill(random);
  }
  const GuardedMatrix<T> before = b;
  GuardedMatrix<T> expected = b;
  const GuardedMatrix<T> zeros = without_opposite(c, triangle, T(0));
  reference::tsmm(alpha, a.view(), zeros.view(), beta, expected.view());
  tsmm(alpha, a.view(), without_opposite(c, triangle, poison<T>()).view(), beta, b.view(), triangle, execution);
  ASSERT_TRUE(b.guards_hold());
  expect_close(b, expected, a, zeros, before, alpha, beta);
}

template <class T>
void expect_tsmm_inplace(std::int64_t k, std::int64_t m, std::int64_t n, const Placement& place,
                         Triangle triangle = Triangle::general, HostExecution execution = {}) {
  SCOPED_TRACE("tsmm_inplace K " + std::to_string(k) + " M " + std::to_string(m) + " N " + std::to_string(n) + " " +
               name(place));
  std::mt19937 random(static_cast<unsigned>(k * 10007 + m * 101 + n));
  GuardedMatrix<T> v(k, m, place.layout, place.pad, place.offset, mark<T>());
  GuardedMatrix<T> c(m, n, place.small_layout, place.pad, place.offset, poison<T>());
  v.fill(random);
  c.fill(random);
  const GuardedMatrix<T> before = v;
  GuardedMatrix<T> expected = v;
  const GuardedMatrix<T> zeros = without_opposite(c, triangle, T(0));
  reference::tsmm_inplace(expected.view(), zeros.view());
  tsmm_inplace(v.view(), without_opposite(c, triangle, poison<T>()).view(), triangle, execution);
  ASSERT_TRUE(v.guards_hold());
  expect_close(v, expected, before, zeros, before, T(1), T(0));
  for (std::int64_t row = 0; row < k; ++row) {
    for (std::int64_t j = n; j < m; ++j) ASSERT_TRUE(same_bits(v(row, j), before(row, j))) << "a column to keep";
  }
}

}  // namespace blockvec::kernels::test

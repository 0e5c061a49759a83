#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <blockvec/kernels/tall_skinny.hpp>
#include <cstdlib>
#include <random>
#include <string>

#include "tests/kernels/support/guarded_matrix.hpp"

/// One product of each kind, computed by the fast kernels and by the oracle in double precision, compared entry by
/// entry; on the host or on a device, as a `Run` has it:
///   Run::Copy<T>(matrix)         a guarded matrix where the product runs: view(), and download() into the matrix
///   run.tsmttsm(op, alpha, a, b, beta, c), run.tsmm(alpha, a, c, beta, b, triangle), run.tsmm_inplace(v, c, triangle)
///   run.sum_bound<T>(k, m, n)    relative error of tsmttsm's sums, as documented
///   run.row_bound<T>(m, n)       that of tsmm
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
  int shift = 0;            ///< and real numbers
};

inline std::string name(const Placement& p) {
  return std::string(p.layout == Layout::row_major ? "row-major" : "column-major") + ", small " +
         (p.small_layout == Layout::row_major ? "row-major" : "column-major") + ", pad " + std::to_string(p.pad) +
         ", offset " + std::to_string(p.offset) + (p.shift == 0 ? "" : " and " + std::to_string(p.shift) + " numbers");
}

inline std::string shape(std::int64_t k, std::int64_t m, std::int64_t n) {
  return "K " + std::to_string(k) + " M " + std::to_string(m) + " N " + std::to_string(n) + ' ';
}

inline std::mt19937 random_of(std::int64_t k, std::int64_t m, std::int64_t n) {
  return std::mt19937(static_cast<unsigned>(k * 10007 + m * 101 + n));
}

/// For checkers that slow everything down: of a test's products the first few, then ever fewer, down to one of so many
/// as BLOCKVEC_TEST_EVERY says.
inline bool left_out() {
  static const char* const text = std::getenv("BLOCKVEC_TEST_EVERY");
  static const int every = text == nullptr ? 1 : std::max(1, std::atoi(text));
  static int count = 0;
  static int next = 0;
  const int number = count++;
  if (number != next) return true;
  next += std::min(every, 1 + number / 2);
  return false;
}

/// A matrix at a place.
template <class T>
GuardedMatrix<T> placed(std::int64_t rows, std::int64_t columns, const Placement& place, T guard) {
  return {rows, columns, place.layout, place.pad, place.offset, guard, place.shift};
}
/// The small matrix that goes with those.
template <class T>
GuardedMatrix<T> small_placed(std::int64_t rows, std::int64_t columns, const Placement& place, T guard) {
  return {rows, columns, place.small_layout, place.pad, place.offset, guard, place.shift};
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
inline Placement beside(const Placement& a) { return {a.layout, a.small_layout, 2 * a.pad, a.offset / 2, a.shift}; }

/// Bound of what beta B adds to the error of an entry whose old value is given.
template <class T>
double error_of_old(T beta, T old) {
  return beta == T(0) ? 0 : (gamma<T>(2) + gamma<wide_of<T>>(2)) * std::abs(beta * old);
}

/// A lies at `place`, and so does C; B at `place_b`.
template <class T, class Run>
void expect_tsmttsm(const Run& run, std::int64_t k, std::int64_t m, std::int64_t n, const Placement& place,
                    const Placement& place_b, Op op, T alpha, T beta, bool same_operand = false) {
  if (left_out()) return;
  SCOPED_TRACE("tsmttsm " + shape(k, m, n) + name(place) + (same_operand ? ", with itself" : ", B " + name(place_b)) +
               run.name());
  std::mt19937 random = random_of(k, m, n);
  GuardedMatrix<T> a = placed(k, m, place, poison<T>());
  GuardedMatrix<T> other = placed(k, n, place_b, poison<T>());
  a.fill(random);
  other.fill(random);
  GuardedMatrix<T>& b = same_operand ? a : other;
  GuardedMatrix<T> c = small_placed(m, n, place, mark<T>());
  fill_result(c, beta, random);
  const GuardedMatrix<T> before = c;
  using Wide = wide_of<T>;
  GuardedMatrix<Wide> expected = widened(c, Layout::row_major);
  reference::tsmttsm(op, Wide(alpha), widened(a, Layout::column_major).view(), widened(b, Layout::column_major).view(),
                     Wide(beta), expected.view());
  const typename Run::template Copy<T> copy_a(a), copy_b(other);
  typename Run::template Copy<T> copy_c(c);
  run.template tsmttsm<T>(op, alpha, copy_a.view(), same_operand ? copy_a.view() : copy_b.view(), beta, copy_c.view());
  copy_c.download();
  ASSERT_TRUE(c.guards_hold());
  // Both are within their bound of the exact result.
  const double bound = (run.template sum_bound<T>(k, m, n) + gamma<Wide>(k + 3)) * std::abs(alpha);
  const std::vector<double> scale = absolute_product(a, b);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      ASSERT_LE(std::abs(Wide(c(i, j)) - expected(i, j)),
                bound * scale[static_cast<std::size_t>(i * n + j)] + error_of_old(beta, before(i, j)))
          << "entry " << i << ", " << j << ": " << c(i, j) << " for " << expected(i, j);
    }
  }
}

template <class T, class Run>
void expect_tsmttsm(const Run& run, std::int64_t k, std::int64_t m, std::int64_t n, const Placement& place, Op op,
                    T alpha, T beta, bool same_operand = false) {
  expect_tsmttsm<T>(run, k, m, n, place, beside(place), op, alpha, beta, same_operand);
}

/// `bound`: relative error of tsmm.
template <class T>
void expect_close(const GuardedMatrix<T>& result, const GuardedMatrix<wide_of<T>>& expected, const GuardedMatrix<T>& a,
                  const GuardedMatrix<T>& c, const GuardedMatrix<T>& before, T alpha, T beta, double bound,
                  std::int64_t first = 0) {
  using Wide = wide_of<T>;
  const std::int64_t n = c.view().columns;
  const double relative = (bound + gamma<Wide>(a.view().columns + 3)) * std::abs(alpha);
  const std::vector<double> small = absolute_values(c);
  std::vector<double> scale(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k < a.view().rows; ++k) {
    absolute_row(a, k, small, scale);
    for (std::int64_t j = 0; j < n; ++j) {
      ASSERT_LE(std::abs(Wide(result(k, first + j)) - expected(k, first + j)),
                relative * scale[static_cast<std::size_t>(j)] + error_of_old(beta, before(k, first + j)))
          << "entry " << k << ", " << first + j << ": " << result(k, first + j) << " for " << expected(k, first + j);
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

/// A lies at `place`, and so does C; B at `place_b`.
template <class T, class Run>
void expect_tsmm(const Run& run, std::int64_t k, std::int64_t m, std::int64_t n, const Placement& place,
                 const Placement& place_b, T alpha, T beta, Triangle triangle = Triangle::general) {
  if (left_out()) return;
  SCOPED_TRACE("tsmm " + shape(k, m, n) + name(place) + run.name());
  std::mt19937 random = random_of(k, m, n);
  GuardedMatrix<T> a = placed(k, m, place, poison<T>());
  GuardedMatrix<T> c = small_placed(m, n, place, poison<T>());
  GuardedMatrix<T> b = placed(k, n, place_b, mark<T>());
  a.fill(random);
  c.fill(random);
  fill_result(b, beta, random);
  const GuardedMatrix<T> before = b;
  const GuardedMatrix<T> zeros = without_opposite(c, triangle, T(0));
  GuardedMatrix<T> poisoned = without_opposite(c, triangle, poison<T>());
  using Wide = wide_of<T>;
  GuardedMatrix<Wide> expected = widened(b, Layout::row_major);
  reference::tsmm(Wide(alpha), widened(a, Layout::row_major).view(), widened(zeros, Layout::column_major).view(),
                  Wide(beta), expected.view());
  const typename Run::template Copy<T> copy_a(a), copy_c(poisoned);
  typename Run::template Copy<T> copy_b(b);
  run.template tsmm<T>(alpha, copy_a.view(), copy_c.view(), beta, copy_b.view(), triangle);
  copy_b.download();
  ASSERT_TRUE(b.guards_hold());
  expect_close(b, expected, a, zeros, before, alpha, beta, run.template row_bound<T>(m, n));
}

template <class T, class Run>
void expect_tsmm(const Run& run, std::int64_t k, std::int64_t m, std::int64_t n, const Placement& place, T alpha,
                 T beta, Triangle triangle = Triangle::general) {
  expect_tsmm<T>(run, k, m, n, place, beside(place), alpha, beta, triangle);
}

template <class T, class Run>
void expect_tsmm_inplace(const Run& run, std::int64_t k, std::int64_t m, std::int64_t n, const Placement& place,
                         Triangle triangle = Triangle::general, std::int64_t first = 0) {
  if (left_out()) return;
  SCOPED_TRACE("tsmm_inplace " + shape(k, m, n) + " from column " + std::to_string(first) + name(place) + run.name());
  std::mt19937 random = random_of(k, m, n);
  GuardedMatrix<T> v = placed(k, m, place, mark<T>());
  GuardedMatrix<T> c = small_placed(m, n, place, poison<T>());
  v.fill(random);
  c.fill(random);
  const GuardedMatrix<T> before = v;
  const GuardedMatrix<T> zeros = without_opposite(c, triangle, T(0));
  GuardedMatrix<T> poisoned = without_opposite(c, triangle, poison<T>());
  GuardedMatrix<wide_of<T>> expected = widened(v, Layout::row_major);
  reference::tsmm_inplace(expected.view(), widened(zeros, Layout::column_major).view(), Triangle::general, first);
  const typename Run::template Copy<T> copy_c(poisoned);
  typename Run::template Copy<T> copy_v(v);
  run.template tsmm_inplace<T>(copy_v.view(), copy_c.view(), triangle, first);
  copy_v.download();
  ASSERT_TRUE(v.guards_hold());
  expect_close(v, expected, before, zeros, before, T(1), T(0), run.template row_bound<T>(m, n), first);
  for (std::int64_t row = 0; row < k; ++row) {
    for (std::int64_t j = 0; j < m; ++j) {
      ASSERT_TRUE((j >= first && j < first + n) || same_bits(v(row, j), before(row, j))) << "column " << j << " to keep";
    }
  }
}

}  // namespace blockvec::kernels::test

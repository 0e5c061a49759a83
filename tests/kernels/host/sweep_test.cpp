#include <gtest/gtest.h>

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
class Sweep : public testing::Test {};
using Scalars = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Sweep, Scalars);

constexpr Layout layouts[] = {Layout::row_major, Layout::column_major};

/// Entries of C = A^H B against the exact ones of the oracle, either within its bound.
template <class T>
void expect_product(const GuardedMatrix<T>& a, const GuardedMatrix<T>& b, const GuardedMatrix<T>& c) {
  GuardedMatrix<T> expected(c.view().rows, c.view().columns, Layout::column_major, 0, 0, mark<T>());
  reference::tsmttsm<T>(Op::conjugate_transpose, T(1), a.view(), b.view(), T(0), expected.view());
  const std::int64_t k = a.view().rows, n = b.view().columns;
  // A slab's sum, then the tree of slabs: no deeper than two sums over all rows.
  const double bound = gamma<T>(2 * summation_depth(k) + 3) + gamma<T>(k + 3);
  const std::vector<double> scale = absolute_product(a, b);
  for (std::int64_t i = 0; i < c.view().rows; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      ASSERT_LE(std::abs(c(i, j) - expected(i, j)), bound * scale[static_cast<std::size_t>(i * n + j)])
          << "entry " << i << ", " << j;
    }
  }
}

/// Which steps are asked for.
struct Steps {
  bool s = true, x = true, p = true, g = true;
};

template <class T>
void expect_sweep(std::int64_t k, std::int64_t m, std::int64_t n, Layout layout, std::int64_t pad, Triangle triangle,
                  Steps steps) {
  SCOPED_TRACE(std::to_string(k) + " rows, m = " + std::to_string(m) + ", n = " + std::to_string(n) + ", layout " +
               std::to_string(static_cast<int>(layout)) + ", pad " + std::to_string(pad));
  std::mt19937_64 random(static_cast<unsigned>(k + 1000 * m + n));
  GuardedMatrix<T> v(k, m, layout, pad, pad, poison<T>()), w(k, n, layout, pad, pad % 3, mark<T>());
  GuardedMatrix<T> s(m, n, Layout::column_major, 1, 0, poison<T>()), x(n, n, Layout::row_major, 1, 0, poison<T>());
  v.fill(random);
  w.fill(random);
  s.fill(random);
  x.fill(random);
  const std::int64_t widths[] = {m / 4, m / 2, m - m / 4 - m / 2};  // of V's matrices
  const Matrix<const T> all = v.view();
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    Matrix<const T> a = all;
    a.data += begin * (layout == Layout::row_major ? 1 : a.ld);
    a.columns = end - begin;
    return a;
  };
  const Matrix<const T> pieces[] = {part(0, widths[0]), part(widths[0], widths[0] + widths[1]), part(m - widths[2], m)};
  GuardedMatrix<T> step_by_step = w;
  for (std::int64_t i = 0, above = 0; i < 3 && steps.s; above += widths[i++]) {
    Matrix<const T> rows = s.view();
    rows.data += above;
    rows.rows = widths[i];
    tsmm<T>(T(-1), pieces[i], rows, T(1), step_by_step.view());
  }
  if (steps.x) tsmm_inplace<T>(step_by_step.view(), x.view(), triangle);
  const Matrix<T> none{nullptr, 0, 0, 1, Layout::column_major};
  GuardedMatrix<T> p(m, n, Layout::column_major, 2, 0, mark<T>());
  GuardedMatrix<T> g(n, n, Layout::column_major, 2, 0, mark<T>());
  p.fill_with(poison<T>());
  g.fill_with(poison<T>());
  GuardedMatrix<T> on_three = w;
  const auto sweep = [&](const GuardedMatrix<T>& block, const HostExecution& execution) {
    gram_schmidt_sweep<T>(pieces, steps.s ? s.view() : none, block.view(), steps.x ? x.view() : none, triangle,
                          steps.p ? p.view() : none, steps.g ? g.view() : none, execution);
  };
  sweep(w, {1, {}});
  EXPECT_TRUE(w.same_bits_as(step_by_step));
  EXPECT_TRUE(w.guards_hold() && p.guards_hold() && g.guards_hold());
  if (steps.p) expect_product(v, w, p);
  if (steps.g) expect_product(w, w, g);
  const GuardedMatrix<T> p_of_one = p, g_of_one = g;
  std::vector<std::byte> workspace(gram_schmidt_sweep_workspace<T>(k, widths, n, steps.p, steps.g, layout, 3));
  sweep(on_three, {3, workspace});
  EXPECT_TRUE(on_three.same_bits_as(w) && (!steps.p || p.same_bits_as(p_of_one)) &&
              (!steps.g || g.same_bits_as(g_of_one)));
}

TYPED_TEST(Sweep, IsItsStepsOneAfterTheOther) {
  for (const Layout layout : layouts) {
    for (const std::int64_t m : {0, 1, 3, 16, 33}) {
      for (const std::int64_t n : {1, 2, 8, 17}) {
        expect_sweep<TypeParam>(700, m, n, layout, (m + n) % 3, n % 2 == 0 ? Triangle::upper : Triangle::general, {});
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(Sweep, EveryLength) {
  for (const Layout layout : layouts) {
    for (const std::int64_t k : {0, 1, 63, 511, 512, 513, 1024, 9000}) {
      for (int asked = 0; asked < 16; ++asked) {
        const Steps steps{(asked & 1) != 0, (asked & 2) != 0, (asked & 4) != 0, (asked & 8) != 0};
        expect_sweep<TypeParam>(k, 6, 4, layout, 1, Triangle::upper, steps);
        if (this->HasFatalFailure()) return;
      }
    }
    expect_sweep<TypeParam>(3000, 130, 40, layout, 0, Triangle::upper, {});  // columns that are packed by rows
  }
}

TYPED_TEST(Sweep, OnEveryTarget) {
  for (const std::int64_t target : supported_targets()) {
    const OnTarget on(target);
    for (const Layout layout : layouts) expect_sweep<TypeParam>(1100, 9, 5, layout, 2, Triangle::upper, {});
  }
}

TEST(SweepErrors, NameOperandsAndTouchNothing) {
  const auto matrix = [](std::int64_t rows, std::int64_t columns) {
    return GuardedMatrix<double>(rows, columns, Layout::column_major, 0, 0, 3.0);
  };
  const auto v = matrix(20, 4), s = matrix(4, 2), x = matrix(2, 2), p = matrix(4, 2), g = matrix(2, 2);
  auto w = matrix(20, 2);
  const auto call = [&](const auto& v_, const auto& s_, const auto& x_, const auto& p_, const auto& g_) {
    const Matrix<const double> basis[] = {v_.view()};
    gram_schmidt_sweep<double>(basis, s_.view(), w.view(), x_.view(), Triangle::upper, p_.view(), g_.view());
  };
  EXPECT_THROW(call(matrix(19, 4), s, x, p, g), ShapeError);
  EXPECT_THROW(call(v, matrix(3, 2), x, p, g), ShapeError);
  EXPECT_THROW(call(v, s, matrix(3, 2), p, g), ShapeError);
  EXPECT_THROW(call(v, s, x, matrix(5, 2), g), ShapeError);
  EXPECT_THROW(call(v, s, x, p, matrix(2, 3)), ShapeError);
  EXPECT_THROW(call(w, x, x, g, g), ShapeError);
  try {
    call(v, matrix(3, 2), x, p, g);
  } catch (const ShapeError& error) {
    EXPECT_NE(std::string(error.what()).find("S is 3 x 2"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(w.same_bits_as(matrix(20, 2)));
}

}  // namespace
}  // namespace blockvec::kernels

#pragma once

#include <gtest/gtest.h>

#include <blockvec/kernels/dense.hpp>
#include <random>
#include <type_traits>
#include <vector>

#include "tests/kernels/support/products.hpp"

/// Dense products of the fast kernels and of the oracle in double precision, compared entry by entry; on the host or on
/// a device, as a `Run` has it:
///   Run::Copy<T>(matrix)   a guarded matrix where the product runs: view(), and download() into the matrix
///   run.multiply(product, alpha, a, x, beta, y)
///   run.bound<T>(k)        relative error of sums of k terms, as documented
namespace blockvec::kernels::test {

/// Run::Copy on the host: the matrix itself.
template <class T>
class OnHostMatrix {
 public:
  explicit OnHostMatrix(GuardedMatrix<T>& of) : view_(of.view()) {}
  const Matrix<T>& view() const { return view_; }
  void download() const {}

 private:
  Matrix<T> view_;
};

/// Which product: Y = A X, A^T X, A^H X, or with the lower or upper triangle of a Hermitian A.
enum class Dense { plain, transposed, adjoint, lower, upper };
inline constexpr Dense dense_products[] = {Dense::plain, Dense::transposed, Dense::adjoint, Dense::lower, Dense::upper};
inline bool is_hermitian(Dense product) { return product == Dense::lower || product == Dense::upper; }
inline bool is_transposed(Dense product) { return product == Dense::transposed || product == Dense::adjoint; }

/// Calls gemm or hemm with `more` arguments behind the usual ones; Which: where the functions stand.
template <class T, class Gemm, class GemmOp, class Hemm>
void call_dense(Dense product, Gemm&& gemm, GemmOp&& gemm_op, Hemm&& hemm) {
  switch (product) {
    case Dense::plain:
      return gemm();
    case Dense::transposed:
      return gemm_op(Op::transpose);
    case Dense::adjoint:
      return gemm_op(Op::conjugate_transpose);
    case Dense::lower:
      return hemm(Triangle::lower);
    case Dense::upper:
      return hemm(Triangle::upper);
  }
}

template <class T>
void multiply_by_reference(Dense product, T alpha, const Matrix<const T>& a, const Matrix<const T>& x, T beta,
                           const Matrix<T>& y) {
  call_dense<T>(
      product, [&] { reference::gemm<T>(alpha, a, x, beta, y); },
      [&](Op op) { reference::gemm<T>(op, alpha, a, x, beta, y); },
      [&](Triangle triangle) { reference::hemm<T>(triangle, alpha, a, x, beta, y); });
}

/// How the operands lie in memory: A, then X and Y.
struct DensePlaces {
  Placement a, x;
};

/// A product with n x k matrix S, which is A or its transpose, and b columns.
template <class T>
struct DenseCase {
  Dense product;
  std::int64_t n, k, b;
  DensePlaces places;
  T alpha = T(1), beta = T(0);
};

/// Random operands of a case; what must not count holds NaN.
template <class T>
struct DenseOperands {
  explicit DenseOperands(const DenseCase<T>& c)
      : a(placed(is_transposed(c.product) ? c.k : c.n, is_transposed(c.product) ? c.n : c.k, c.places.a, poison<T>())),
        x(placed(c.k, c.b, c.places.x, poison<T>())),
        y(placed(c.n, c.b, c.places.x, mark<T>())) {
    std::mt19937 random = random_of(c.n, c.k, c.b);
    a.fill(random);
    x.fill(random);
    fill_result(y, c.beta, random);
    if (!is_hermitian(c.product)) return;
    for (std::int64_t i = 0; i < c.n; ++i) {
      for (std::int64_t j = 0; j < c.n; ++j) {
        if (c.product == Dense::lower ? i < j : i > j) a(i, j) = poison<T>();
      }
    }
  }
  GuardedMatrix<T> a, x, y;
};

template <class T, class Run>
void expect_dense(const Run& run, const DenseCase<T>& c) {
  if (left_out()) return;
  SCOPED_TRACE("product " + std::to_string(static_cast<int>(c.product)) + ' ' + shape(c.n, c.k, c.b) + "A " +
               name(c.places.a) + ", X " + name(c.places.x));
  DenseOperands<T> of(c);
  const GuardedMatrix<T> before = of.y;
  using Wide = wide_of<T>;
  const auto wide_a = widened(of.a, Layout::row_major), wide_x = widened(of.x, Layout::row_major);
  GuardedMatrix<Wide> expected = widened(of.y, Layout::row_major);
  multiply_by_reference<Wide>(c.product, Wide(c.alpha), wide_a.view(), wide_x.view(), Wide(c.beta), expected.view());
  const auto sizes = [](const auto& m, Layout layout) {
    GuardedMatrix<double> to(m.view().rows, m.view().columns, layout, 0, 0, 0);
    for (std::int64_t i = 0; i < m.view().rows; ++i) {
      for (std::int64_t j = 0; j < m.view().columns; ++j) to(i, j) = std::abs(m(i, j));
    }
    return to;
  };
  const auto size_a = sizes(of.a, Layout::row_major), size_x = sizes(of.x, Layout::row_major);
  GuardedMatrix<double> scale(c.n, c.b, Layout::row_major, 0, 0, 0);
  multiply_by_reference<double>(c.product, 1, size_a.view(), size_x.view(), 0, scale.view());

  const typename Run::template Copy<T> copy_a(of.a), copy_x(of.x);
  typename Run::template Copy<T> copy_y(of.y);
  run.template multiply<T>(c.product, c.alpha, copy_a.view(), copy_x.view(), c.beta, copy_y.view());
  copy_y.download();
  ASSERT_TRUE(of.y.guards_hold());
  const double bound = (run.template bound<T>(c.k) + gamma<Wide>(c.k + 3)) * std::abs(c.alpha);
  for (std::int64_t i = 0; i < c.n; ++i) {
    for (std::int64_t j = 0; j < c.b; ++j) {
      ASSERT_LE(std::abs(Wide(of.y(i, j)) - expected(i, j)), bound * scale(i, j) + error_of_old(c.beta, before(i, j)))
          << "entry " << i << ", " << j << ": " << of.y(i, j) << " for " << expected(i, j);
    }
  }
}

/// Aligned operands, and gaps, offsets and complex numbers at odd multiples of 8 bytes.
template <class T>
std::vector<DensePlaces> dense_places() {
  constexpr int odd = std::is_same_v<T, std::complex<float>> ? 2 : 1;  // real numbers: devices load 8 bytes whole
  std::vector<DensePlaces> places;
  for (const Layout of_a : layouts) {
    for (const Layout of_x : layouts) {
      for (const auto& [pad, offset, shift] : {std::array{0, 0, 0}, {1, 3, 0}, {4, 4, 0}, {2, 0, odd}}) {
        places.push_back({{of_a, of_a, pad, offset, shift}, {of_x, of_x, pad, offset, shift}});
      }
    }
  }
  return places;
}

/// All widths that have kernels of their own or several slabs, small shapes on every boundary of tiles.
template <class T, class Run>
void expect_dense_products(const Run& run) {
  const auto places = dense_places<T>();
  std::size_t turn = 0;
  for (const Dense product : dense_products) {
    for (const std::int64_t n : {1, 7, 16, 33, 130, 257}) {
      for (const std::int64_t k : {1, 5, 31, 64, 100}) {
        for (const std::int64_t b : {1, 2, 4, 8, 9, 17, 24, 33, 48, 64, 70}) {
          const bool general = !is_hermitian(product);
          if (!general && k != 1) continue;
          const T alpha = turn % 3 == 0 ? T(1) : value<T>(0.5, -1);
          const T beta = turn % 2 == 0 ? T(0) : value<T>(-1.5, 0.25);
          expect_dense<T>(run, {product, n, general ? k : n, b, places[turn++ % places.size()], alpha, beta});
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
  for (const Dense product : dense_products) {
    for (const DensePlaces& place : places) {
      for (const std::int64_t b : {1, 3, 16}) {
        expect_dense<T>(run, {product, 45, is_hermitian(product) ? 45 : 67, b, place, T(2), T(1)});
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

/// beta = 0 reads no Y, alpha = 0 reads neither A nor X, and a matrix without columns counts as zero.
template <class T, class Run>
void expect_nothing_read(const Run& run) {
  for (const Dense product : dense_products) {
    for (const std::int64_t k : {std::int64_t{40}, is_hermitian(product) ? std::int64_t{40} : std::int64_t{0}}) {
      const DenseCase<T> c{product, 40, k, 3, {}, T(k == 0 ? 1 : 0), T(3)};
      DenseOperands<T> of(c);
      const GuardedMatrix<T> before = of.y;
      of.a.fill_with(poison<T>());
      of.x.fill_with(poison<T>());
      for (const T beta : {T(3), T(0)}) {
        const typename Run::template Copy<T> copy_a(of.a), copy_x(of.x);
        of.y.fill_with(beta == T(0) ? poison<T>() : T(2));
        typename Run::template Copy<T> copy_y(of.y);
        run.template multiply<T>(product, c.alpha, copy_a.view(), copy_x.view(), beta, copy_y.view());
        copy_y.download();
        for (std::int64_t i = 0; i < 40; ++i) {
          for (std::int64_t j = 0; j < 3; ++j) ASSERT_EQ(of.y(i, j), beta == T(0) ? T(0) : T(6));
        }
      }
    }
  }
}

/// NaN in an entry of X spoils its column only, one of A its rows only.
template <class T, class Run>
void expect_nan_passes(const Run& run) {
  for (const Dense product : dense_products) {
    const DenseCase<T> c{product, 50, 50, 5, {}};
    for (const bool in_a : {false, true}) {
      DenseOperands<T> of(c);
      // A(30, 20) counts in row 30, transposed in row 20, of a Hermitian matrix in both.
      const std::int64_t i = product == Dense::upper ? 20 : 30, j = product == Dense::upper ? 30 : 20;
      (in_a ? of.a(i, j) : of.x(20, 2)) = poison<T>();
      const typename Run::template Copy<T> copy_a(of.a), copy_x(of.x);
      typename Run::template Copy<T> copy_y(of.y);
      run.template multiply<T>(product, T(1), copy_a.view(), copy_x.view(), T(0), copy_y.view());
      copy_y.download();
      for (std::int64_t row = 0; row < c.n; ++row) {
        const bool row_of_a = is_hermitian(product)    ? row == 20 || row == 30
                              : is_transposed(product) ? row == 20
                                                       : row == 30;
        for (std::int64_t column = 0; column < c.b; ++column) {
          ASSERT_EQ(is_nan(of.y(row, column)), in_a ? row_of_a : column == 2)
              << "product " << static_cast<int>(product) << " entry " << row << ", " << column;
        }
      }
    }
  }
}

}  // namespace blockvec::kernels::test

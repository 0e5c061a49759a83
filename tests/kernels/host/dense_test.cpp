#include "tests/kernels/support/dense.hpp"

#include <gtest/gtest.h>

#include <blockvec/kernels/dense.hpp>
#include <blockvec/kernels/error.hpp>

/// Dense products on the host, by the BLAS, against the oracle.
namespace blockvec::kernels {
namespace {

using namespace test;

struct OnHost {
  template <class T>
  using Copy = OnHostMatrix<T>;
  template <class T>
  void multiply(Dense product, T alpha, const Matrix<const T>& a, const Matrix<const T>& x, T beta,
                const Matrix<T>& y) const {
    call_dense<T>(
        product, [&] { gemm<T>(alpha, a, x, beta, y); }, [&](Op op) { gemm<T>(op, alpha, a, x, beta, y); },
        [&](Triangle triangle) { hemm<T>(triangle, alpha, a, x, beta, y); });
  }
  template <class T>
  double bound(std::int64_t k) const {
    return gamma<T>(k + 3);
  }
};

template <class T>
class HostDense : public testing::Test {};
TYPED_TEST_SUITE(HostDense, Scalars);

TYPED_TEST(HostDense, AgreesWithTheReference) { expect_dense_products<TypeParam>(OnHost{}); }
TYPED_TEST(HostDense, ReadsNothingThatDoesNotCount) { expect_nothing_read<TypeParam>(OnHost{}); }
TYPED_TEST(HostDense, PassesNaN) { expect_nan_passes<TypeParam>(OnHost{}); }

TEST(DenseArguments, AreChecked) {
  double memory[4096] = {};
  const Matrix<double> a{memory, 30, 40, 40}, square{memory, 30, 30, 30};
  const Matrix<double> x{memory + 2048, 40, 4, 4}, y{memory + 3072, 30, 4, 4}, x30{memory + 2048, 30, 4, 4};
  const auto with = [](auto of, auto change) {
    change(of);
    return of;
  };
  const auto rejects = [](const Matrix<double>& of_a, const Matrix<double>& of_x, const Matrix<double>& of_y) {
    EXPECT_THROW(gemm<double>(1, of_a, of_x, 0, of_y), ShapeError);
    EXPECT_THROW(reference::gemm<double>(1, of_a, of_x, 0, of_y), ShapeError);
    EXPECT_THROW(hemm<double>(Triangle::lower, 1, of_a, of_x, 0, of_y), ShapeError);
  };
  rejects(with(a, [](auto& m) { m.rows = -1; }), x, y);
  rejects(with(a, [](auto& m) { m.ld = 39; }), x, y);
  rejects(with(a, [](auto& m) { m.data = nullptr; }), x, y);
  rejects(a, with(x, [](auto& m) { m.rows = 39; }), y);
  rejects(a, with(x, [](auto& m) { m = {m.data, 40, 4, 40, Layout::column_major}; }), y);
  rejects(a, x, with(y, [](auto& m) { m.columns = 3; }));
  rejects(a, x, with(y, [](auto& m) { m.rows = 29; }));
  rejects(a, x, with(y, [&](auto& m) { m.data = x.data + 8; }));
  rejects(a, x, with(y, [&](auto& m) { m.data = a.data + 8; }));
  EXPECT_THROW(hemm<double>(Triangle::lower, 1, a, x, 0, y), ShapeError);
  EXPECT_THROW(hemm<double>(Triangle::general, 1, square, x30, 0, y), ShapeError);
  EXPECT_THROW(gemm<double>(Op::transpose, 1, a, x, 0, y), ShapeError);
  EXPECT_NO_THROW(hemm<double>(Triangle::upper, 1, square, x30, 0, y));
  try {
    gemm<double>(1, a, x30, 0, y);
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "gemm: A is 30 x 40 row-major and X is 30 x 4 row-major: expected X to have 40 rows");
  }
}

// No BLAS takes more: one row, so that no memory stands behind its leading dimension.
TEST(DenseArguments, FitABlas) {
  double memory[3] = {};
  constexpr std::int64_t beyond = std::int64_t{1} << 31;
  const Matrix<double> a{memory, 1, 1, 1}, x{memory + 1, 1, 1, 1}, y{memory + 2, 1, 1, 1};
  const auto far = [](Matrix<double> of) {
    of.ld = beyond;
    return of;
  };
  const auto rejects = [](const Matrix<double>& of_a, const Matrix<double>& of_x, const Matrix<double>& of_y) {
    EXPECT_THROW(gemm<double>(1, of_a, of_x, 0, of_y), ShapeError);
    EXPECT_THROW(hemm<double>(Triangle::lower, 1, of_a, of_x, 0, of_y), ShapeError);
  };
  rejects(far(a), x, y);
  rejects(a, far(x), y);
  rejects(a, x, far(y));
  EXPECT_NO_THROW(gemm<double>(1, a, x, 0, y));
}

}  // namespace
}  // namespace blockvec::kernels

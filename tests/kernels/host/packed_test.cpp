#include "tests/kernels/support/packed.hpp"

#include <gtest/gtest.h>

#include <blockvec/kernels/error.hpp>
#include <blockvec/kernels/packed.hpp>
#include <set>

#include "src/reference/entry.hpp"

/// Packed Hermitian matrices: where entries stand, and products on the host against the oracle.
namespace blockvec::kernels {
namespace {

using namespace test;

template <class T>
class HostPacked : public testing::Test {};
TYPED_TEST_SUITE(HostPacked, Scalars);

/// Products of a matrix that is packed first, for expect_dense.
struct PackedOnHost {
  template <class T>
  using Copy = OnHostMatrix<T>;
  template <class T>
  void multiply(Dense product, T alpha, const Matrix<const T>& a, const Matrix<const T>& x, T beta,
                const Matrix<T>& y) const {
    Packed<T> packed(product == Dense::lower ? Triangle::lower : Triangle::upper, a);
    hemm<T>(alpha, packed.view(), x, beta, y);
  }
  /// The panel's square and all parts below it give a sum each.
  template <class T>
  double bound(std::int64_t k) const {
    return gamma<T>(k + 3 + 2 * (k / 512 + 1));
  }
};

TYPED_TEST(HostPacked, EntriesHavePlacesOfTheirOwn) {
  using T = TypeParam;
  for (const std::int64_t n : packed_sizes) {
    std::set<std::int64_t> places;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) places.insert(packed_place<T>(n, i, j));
    }
    ASSERT_EQ(static_cast<std::int64_t>(places.size()), n * (n + 1) / 2);
    ASSERT_GE(*places.begin(), 0);
    ASSERT_LT(*places.rbegin(), packed_entries<T>(n));
    // Half a panel for each column, and the rows that fill up the last strips.
    ASSERT_LE(packed_entries<T>(n), (n + packed_panel<T>)*(n + packed_panel<T> + 2 * packed_rows) / 2);
  }
  EXPECT_EQ(packed_entries<T>(0), 0);
}

TYPED_TEST(HostPacked, ComesBack) {
  using T = TypeParam;
  for (const std::int64_t n : packed_sizes) {
    for (const Layout layout : layouts) {
      for (const Dense product : {Dense::lower, Dense::upper}) {
        DenseOperands<T> of(DenseCase<T>{product, n, n, 1, {{.layout = layout, .pad = 3}, {}}});
        Packed<T> packed(product == Dense::lower ? Triangle::lower : Triangle::upper, of.a.view());
        GuardedMatrix<T> back = placed<T>(n, n, {.layout = layout, .pad = 1}, mark<T>());
        unpack<T>(packed.view(), back.view());
        ASSERT_TRUE(back.guards_hold());
        for (std::int64_t i = 0; i < n; ++i) {
          ASSERT_EQ(back(i, i), T(std::real(of.a(i, i))));
          for (std::int64_t j = 0; j < i; ++j) {
            const T other = back(j, i);
            ASSERT_EQ(product == Dense::lower ? back(i, j) : other, product == Dense::lower ? of.a(i, j) : of.a(j, i));
            ASSERT_EQ(back(i, j), reference::conjugate(other));
          }
        }
      }
    }
  }
}

TYPED_TEST(HostPacked, AgreesWithTheReference) {
  using T = TypeParam;
  for (const std::int64_t n : packed_sizes) {
    for (const std::int64_t b : {1, 2, 8, 17}) {
      for (const Layout layout : layouts) {
        const T alpha = b == 2 ? T(1) : value<T>(0.5, -1), beta = b == 8 ? T(0) : value<T>(-1.5, 0.25);
        const DensePlaces places{{.layout = layout, .pad = 1}, {.layout = layout, .small_layout = layout, .pad = 2}};
        expect_dense<T>(PackedOnHost{}, {b == 1 ? Dense::upper : Dense::lower, n, n, b, places, alpha, beta});
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(HostPacked, TheReferenceAddsAsForTheFullMatrix) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 17, 300, 600}) {
    DenseOperands<T> of(DenseCase<T>{Dense::lower, n, n, 3, {}, T(2), T(1)});
    GuardedMatrix<T> full = of.y;
    Packed<T> packed(Triangle::lower, of.a.view());
    reference::hemm<T>(Triangle::lower, T(2), of.a.view(), of.x.view(), T(1), full.view());
    reference::hemm<T>(T(2), packed.view(), of.x.view(), T(1), of.y.view());
    EXPECT_TRUE(of.y.same_bits_as(full)) << n;
  }
}

TEST(PackedArguments, AreChecked) {
  std::vector<double> memory(static_cast<std::size_t>(packed_entries<double>(30)) + 30 * 30 + 2 * 120);
  const PackedHermitian<double> packed{memory.data(), 30};
  double* const behind = memory.data() + packed_entries<double>(30);
  const Matrix<double> a{behind, 30, 30, 30}, x{behind + 900, 30, 4, 4}, y{behind + 1020, 30, 4, 4};
  const auto rejects = [](const PackedHermitian<double>& of, const Matrix<double>& of_x, const Matrix<double>& of_y) {
    EXPECT_THROW(hemm<double>(1, of, of_x, 0, of_y), ShapeError);
    EXPECT_THROW(reference::hemm<double>(1, of, of_x, 0, of_y), ShapeError);
  };
  rejects({memory.data(), -1}, x, y);
  rejects({memory.data(), 29}, x, y);
  rejects({nullptr, 30}, x, y);
  rejects(packed, {x.data, 29, 4, 4}, y);
  rejects(packed, x, {y.data, 30, 3, 3});
  rejects(packed, x, {memory.data() + 100, 30, 4, 4});
  rejects(packed, x, x);
  EXPECT_NO_THROW(hemm<double>(1, packed, x, 0, y));
  EXPECT_THROW(pack<double>(Triangle::general, a, packed), ShapeError);
  EXPECT_THROW(pack<double>(Triangle::lower, Matrix<double>{a.data, 30, 29, 30}, packed), ShapeError);
  EXPECT_THROW(pack<double>(Triangle::lower, Matrix<double>{memory.data(), 30, 30, 30}, packed), ShapeError);
  EXPECT_THROW(unpack<double>(packed, Matrix<double>{a.data, 29, 29, 30}), ShapeError);
  try {
    hemm<double>(1, packed, {x.data, 29, 4, 4}, 0, y);
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(),
                 "hemm: packed A is 30 x 30 row-major and X is 29 x 4 row-major: expected X to have 30 rows");
  }
}

}  // namespace
}  // namespace blockvec::kernels

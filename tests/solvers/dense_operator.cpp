#include <gtest/gtest.h>

#include <blockvec/solvers/chebyshev.hpp>
#include <blockvec/solvers/dense_operator.hpp>
#include <blockvec/solvers/lanczos.hpp>
#include <cstring>
#include <limits>

#include "problems/anderson.hpp"
#include "tests/solvers/exact.hpp"
#include "tests/solvers/expect_right.hpp"
#include "tests/solvers/haldane_shastry.hpp"
#include "tests/solvers/operator_products.hpp"
#include "tests/solvers/prescribed_spectrum.hpp"

namespace blockvec::solvers {
namespace {

std::vector<double> levels(std::size_t count) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = std::sqrt(1 + static_cast<double>(i)) - 3;
  return values;
}

template <class Scalar, class Space>
struct PackedOperator : DenseOperator<Scalar, Space> {
  PackedOperator(const Context& context, const RowDistribution& rows, const RowSource<Scalar>& source)
      : DenseOperator<Scalar, Space>(context, rows, source, DenseStorage::packed) {}
};

TEST(DenseOperator, MultipliesAsTheDenseMatrix) {
  for (const int threads : {1, 3}) {
    for (const std::size_t n : {1, 2, 61}) {
      expect_product<DenseOperator, float, RowMajor>(PrescribedMatrix<float>(levels(n)), threads);
      expect_product<DenseOperator, double, RowMajor>(PrescribedMatrix<double>(levels(n)), threads);
      expect_product<DenseOperator, double, ColumnMajor>(PrescribedMatrix<double>(levels(n)), threads);
      expect_product<DenseOperator, Complex<float>, ColumnMajor>(PrescribedMatrix<Complex<float>>(levels(n)), threads);
      expect_product<DenseOperator, Complex<double>, RowMajor>(PrescribedMatrix<Complex<double>>(levels(n)), threads);
      expect_product<DenseOperator, Complex<double>, ColumnMajor>(PrescribedMatrix<Complex<double>>(levels(n)),
                                                                  threads);
    }
    // What a source leaves out is zero, and what it gives twice adds up.
    expect_product<DenseOperator, double, RowMajor>(examples::Anderson({3, 4, 5}, 2, 1), threads);
    expect_product<DenseOperator, double, RowMajor>(
        RowFunction<double>(9,
                            [](std::int64_t row, RowEntries<double>& entries) {
                              for (const double part : {0.5, 0.25}) entries.add(8 - row, part);
                            }),
        threads);
  }
}

TEST(DenseOperator, MultipliesAPackedMatrix) {
  for (const std::size_t n : {1, 2, 61}) {
    expect_product<PackedOperator, float, RowMajor>(PrescribedMatrix<float>(levels(n)), 1);
    expect_product<PackedOperator, double, ColumnMajor>(PrescribedMatrix<double>(levels(n)), 3);
    expect_product<PackedOperator, Complex<float>, ColumnMajor>(PrescribedMatrix<Complex<float>>(levels(n)), 1);
    expect_product<PackedOperator, Complex<double>, RowMajor>(PrescribedMatrix<Complex<double>>(levels(n)), 1);
  }
  expect_product<PackedOperator, double, RowMajor>(examples::Anderson({3, 4, 5}, 2, 1), 1);
}

TEST(DenseOperator, CountsAndRecords) {
  const auto context = Context::world();
  const PrescribedMatrix<double> matrix(levels(64));
  const auto rows = RowDistribution::uniform(matrix.size(), context.communicator());
  DenseOperator<double> op(context, rows, matrix);
  EXPECT_EQ(op.nonzeros(), 64 * 64);
  BlockVector<double> x(context, rows, 3), y(context, rows, 3);
  op.apply(x, y);
  const std::int64_t allocations = context.workspace().allocations();
  const std::int64_t reductions = context.reductions();
  context.profile().start();
  op.apply(x, y);
  EXPECT_EQ(context.workspace().allocations(), allocations);
  EXPECT_EQ(context.reductions(), reductions);
  ASSERT_EQ(context.profile().records().size(), 1U);
  EXPECT_EQ(context.profile().records()[0].name, operation_name(Operation::user_operator));
  EXPECT_EQ(op.applications(), 6);
  op.apply(2, 0.5, x, 1, y);
  EXPECT_EQ(op.applications(), 9);
}

/// The same bits in a reproducible Context, whichever ranks have the rows, as on one rank with the full matrix.
template <class Scalar, class Layout, class Space>
void expect_reproducible(DenseStorage storage) {
  const PrescribedMatrix<Scalar> matrix(levels(83));
  const auto alone = Context::self(1, Summation::reproducible);
  const auto all_rows = RowDistribution::uniform(matrix.size(), alone.communicator());
  DenseOperator<Scalar, Space> whole(alone, all_rows, matrix);
  for (const int threads : {1, 3}) {
    const auto context = Context::world(threads, Summation::reproducible);
    for (const RowDistribution& rows : distributions(matrix.size(), context.communicator())) {
      DenseOperator<Scalar, Space> op(context, rows, matrix, storage);
      for (const std::int64_t width : {1, 4, 7}) {
        BlockVector<Scalar, Layout, Space> x(context, rows, width), y(context, rows, width);
        BlockVector<Scalar, Layout, Space> all_x(alone, all_rows, width), all_y(alone, all_rows, width);
        fill_random(x, 1);
        fill_random(all_x, 1);
        op.apply(Scalar(2), Scalar(1), x, Scalar(0), y);
        whole.apply(Scalar(2), Scalar(1), all_x, Scalar(0), all_y);
        const auto got = testing::on_host(y).view();
        const auto expected = testing::on_host(all_y).view();
        for (std::int64_t i = 0; i < rows.local_rows(); ++i) {
          for (std::int64_t j = 0; j < width; ++j) {
            const Scalar a = got(i, j), b = expected(rows.begin() + i, j);
            ASSERT_EQ(std::memcmp(&a, &b, sizeof a), 0) << rows.describe() << " row " << i << " column " << j;
          }
        }
      }
    }
  }
}

/// Small whole numbers, whose products are exact whatever the order of sums.
template <class Scalar>
class WholeNumbers final : public RowSource<Scalar> {
 public:
  /// `copies`: gives its entries by copy_entries too, but for every third row.
  WholeNumbers(std::int64_t size, bool copies) : size_(size), copies_(copies) {}
  static Scalar entry(std::int64_t i, std::int64_t j) {
    const auto part = [](std::int64_t value) { return static_cast<RealOf<Scalar>>(value); };
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      return {part((i + j) % 7 - 3), part((i - j) % 5)};
    } else {
      return part((i + j) % 7 - 3);
    }
  }
  std::int64_t size() const override { return size_; }
  void append_row(std::int64_t row, RowEntries<Scalar>& entries) const override {
    for (std::int64_t j = 0; j < size_; ++j) entries.add(j, entry(row, j));
  }
  bool copy_entries(std::int64_t row, std::int64_t first, std::int64_t count, Scalar* to) const override {
    if (!copies_ || row % 3 == 0) return false;
    for (std::int64_t j = 0; j < count; ++j) to[j] = entry(row, first + j);
    return true;
  }
  std::string describe() const override { return "whole numbers"; }

 private:
  std::int64_t size_;
  bool copies_;
};

/// Matrices of several panels, whose rows pass through the host's memory in three parts.
template <class Scalar, class Layout, class Space>
void expect_large_product() {
  constexpr std::int64_t n = 4200, width = 3;
  const auto context = Context::world(2);
  const auto rows = distributions(n, context.communicator()).back();
  const auto of_x = [](std::int64_t i, std::int64_t j) { return static_cast<RealOf<Scalar>>((i + j) % 3 - 1); };
  BlockVector<Scalar, Layout> given(context, rows, width), expected(context, rows, width);
  for (std::int64_t i = 0; i < rows.local_rows(); ++i) {
    Scalar sums[width] = {};
    for (std::int64_t k = 0; k < n; ++k) {
      const Scalar entry = WholeNumbers<Scalar>::entry(rows.begin() + i, k);
      for (std::int64_t j = 0; j < width; ++j) sums[j] += entry * of_x(k, j);
    }
    for (std::int64_t j = 0; j < width; ++j) {
      given.view()(i, j) = of_x(rows.begin() + i, j);
      expected.view()(i, j) = sums[j];
    }
  }
  BlockVector<Scalar, Layout, Space> x(context, rows, width), y(context, rows, width);
  copy(given, x);
  for (const bool copies : {false, true}) {
    for (const DenseStorage storage : {DenseStorage::full, DenseStorage::packed}) {
      DenseOperator<Scalar, Space> a(context, rows, WholeNumbers<Scalar>(n, copies), storage);
      a.apply(x, y);
      const auto got = testing::on_host(y).view();
      for (std::int64_t i = 0; i < rows.local_rows(); ++i) {
        for (std::int64_t j = 0; j < width; ++j) {
          ASSERT_EQ(got(i, j), expected.view()(i, j)) << "row " << rows.begin() + i << " column " << j;
        }
      }
    }
  }
}

/// Lanczos and Chebyshev find a spectrum that is known.
template <class Scalar, class Layout, class Space>
void expect_spectrum(DenseStorage storage, const RowSource<Scalar>& matrix, const std::vector<double>& values) {
  using Vector = BlockVector<Scalar, Layout, Space>;
  const auto context = Context::world(1);
  for (const RowDistribution& rows : distributions(matrix.size(), context.communicator())) {
    DenseOperator<Scalar, Space> a(context, rows, matrix, storage);
    for (const Which which : {Which::smallest, Which::largest}) {
      LanczosOptions lanczos{.wanted = 6};
      lanczos.which = which;
      expect_right(block_lanczos<Vector>({a}, lanczos), lanczos, matrix.size(), values);
      ChebyshevOptions chebyshev{.wanted = 6};
      chebyshev.which = which;
      expect_right(chebyshev_subspace<Vector>({a}, chebyshev), chebyshev, matrix.size(), values);
    }
  }
}

template <class Space>
class DenseOperatorIn : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::is_void_v<Space>) GTEST_SKIP() << "no memory of a device in this build";
  }
};
#if BLOCKVEC_HAVE_CUDA_SPACE
using Spaces = ::testing::Types<Kokkos::HostSpace, Kokkos::CudaSpace>;
#else
using Spaces = ::testing::Types<Kokkos::HostSpace, void>;
#endif
TYPED_TEST_SUITE(DenseOperatorIn, Spaces);

TYPED_TEST(DenseOperatorIn, GivesTheSameBitsInReproducibleContexts) {
  if constexpr (!std::is_void_v<TypeParam>) {
    expect_reproducible<double, RowMajor, TypeParam>(DenseStorage::full);
    expect_reproducible<double, ColumnMajor, TypeParam>(DenseStorage::full);
    expect_reproducible<double, RowMajor, TypeParam>(DenseStorage::packed);
    expect_reproducible<Complex<float>, RowMajor, TypeParam>(DenseStorage::full);
    expect_reproducible<Complex<double>, ColumnMajor, TypeParam>(DenseStorage::full);
    expect_reproducible<Complex<double>, ColumnMajor, TypeParam>(DenseStorage::packed);
  }
}

TYPED_TEST(DenseOperatorIn, TakesLargeMatricesInParts) {
  if constexpr (!std::is_void_v<TypeParam>) {
    expect_large_product<double, RowMajor, TypeParam>();
    expect_large_product<Complex<float>, ColumnMajor, TypeParam>();
  }
}

TYPED_TEST(DenseOperatorIn, FindsAPrescribedSpectrum) {
  if constexpr (!std::is_void_v<TypeParam>) {
    const auto values = sorted(levels(240));
    const PrescribedMatrix<double> real(values);
    const PrescribedMatrix<Complex<double>> complex(values);
    expect_spectrum<double, RowMajor, TypeParam>(DenseStorage::full, real, values);
    expect_spectrum<double, ColumnMajor, TypeParam>(DenseStorage::packed, real, values);
    expect_spectrum<Complex<double>, RowMajor, TypeParam>(DenseStorage::full, complex, values);
  }
}

// Levels of 9 copies and more at one end.
TYPED_TEST(DenseOperatorIn, FindsAllCopiesOfSpinsThatAreAllCoupled) {
  if constexpr (!std::is_void_v<TypeParam>) {
    const HaldaneShastry ring(8);
    expect_spectrum<double, RowMajor, TypeParam>(DenseStorage::packed, ring.matrix(), ring.eigenvalues());
  }
}

template <class Body>
std::string message_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(DenseOperator, NamesWhatIsWrong) {
  const auto context = Context::self();
  const auto five = RowDistribution::uniform(5, context.communicator());
  const auto with = [](std::int64_t column, double value) {
    return RowFunction<double>(5, [=](std::int64_t row, RowEntries<double>& entries) {
      entries.add(row == 3 ? column : row, row == 3 ? value : 1.0);
    });
  };
  EXPECT_EQ(message_of([&] { DenseOperator<double>(context, five, with(5, 1)); }),
            "row 3 has an entry in column 5 of a matrix with 5 columns");
  EXPECT_EQ(message_of([&] { DenseOperator<double>(context, five, with(-1, 1)); }),
            "row 3 has an entry in column -1 of a matrix with 5 columns");
  EXPECT_EQ(message_of([&] { DenseOperator<double>(context, five, with(1, std::numeric_limits<double>::infinity())); }),
            "entry (3, 1) of the matrix is not finite");
  EXPECT_EQ(message_of([&] { PackedOperator<double, Kokkos::HostSpace>(context, five, with(5, 1)); }),
            "row 3 has an entry in column 5 of a matrix with 5 columns");
  EXPECT_EQ(message_of([&] {
              PackedOperator<double, Kokkos::HostSpace>(context, five,
                                                        with(1, -std::numeric_limits<double>::infinity()));
            }),
            "entry (3, 1) of the matrix is not finite");
  const auto six = RowDistribution::uniform(6, context.communicator());
  EXPECT_EQ(message_of([&] { DenseOperator<double>(context, six, with(3, 1)); }),
            "DenseOperator: " + six.describe() + " for a matrix of 5 rows");
  DenseOperator<double> op(context, five, with(3, 1));
  BlockVector<double> x(context, five, 2), y(context, five, 3), z(context, six, 2);
  EXPECT_NE(message_of([&] { op.apply(x, y); }).find("both must have the same width"), std::string::npos);
  EXPECT_NE(message_of([&] { op.apply(x, z); }).find("both must have the same width"), std::string::npos);
}

}  // namespace
}  // namespace blockvec::solvers

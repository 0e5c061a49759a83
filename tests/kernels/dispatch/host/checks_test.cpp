#include "src/dispatch/host/checks.hpp"

#include <gtest/gtest.h>

#include <blockvec/kernels/error.hpp>
#include <blockvec/kernels/tall_skinny.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace blockvec::kernels {
namespace {

constexpr Layout row = Layout::row_major;
constexpr Layout column = Layout::column_major;

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "no ShapeError";
}

class Checks : public testing::Test {
 protected:
  std::string tsmttsm_error(Matrix<double> a, Matrix<double> b, Matrix<double> c, HostExecution execution = {}) {
    return message_of([&] { tsmttsm(Op::transpose, 1.0, a, b, 0.0, c, execution); });
  }
  std::string tsmm_error(Matrix<double> a, Matrix<double> c, Matrix<double> b, HostExecution execution = {}) {
    return message_of([&] { tsmm(1.0, a, c, 0.0, b, Triangle::general, execution); });
  }
  std::string inplace_error(Matrix<double> v, Matrix<double> c, std::int64_t first = 0) {
    return message_of([&] { tsmm_inplace(v, c, Triangle::general, {}, first); });
  }

  std::vector<double> x = std::vector<double>(100, 7.0);
  std::vector<double> y = std::vector<double>(100, 7.0);
  std::vector<double> z = std::vector<double>(100, 7.0);
};

TEST_F(Checks, NegativeExtent) {
  EXPECT_EQ(tsmttsm_error({x.data(), -1, 3, 3, row}, {y.data(), 10, 2, 2, row}, {z.data(), 3, 2, 2, row}),
            "tsmttsm: A is -1 x 3 row-major: expected extents of at least 0");
  EXPECT_EQ(tsmm_error({x.data(), 10, 3, 3, row}, {y.data(), 3, -2, 2, row}, {z.data(), 10, 2, 2, row}),
            "tsmm: C is 3 x -2 row-major: expected extents of at least 0");
}

TEST_F(Checks, LeadingDimensionBelowWidth) {
  EXPECT_EQ(tsmttsm_error({x.data(), 10, 3, 2, row}, {y.data(), 10, 2, 2, row}, {z.data(), 3, 2, 2, row}),
            "tsmttsm: A is 10 x 3 row-major with leading dimension 2: expected at least 3");
  EXPECT_EQ(tsmm_error({x.data(), 10, 3, 10, column}, {y.data(), 3, 2, 2, row}, {z.data(), 10, 2, 9, column}),
            "tsmm: B is 10 x 2 column-major with leading dimension 9: expected at least 10");
}

TEST_F(Checks, NullData) {
  EXPECT_EQ(tsmttsm_error({x.data(), 10, 3, 3, row}, {nullptr, 10, 2, 2, row}, {z.data(), 3, 2, 2, row}),
            "tsmttsm: B is 10 x 2 row-major with null data: expected memory for its entries");
  EXPECT_EQ(tsmttsm_error({nullptr, 0, 3, 3, row}, {nullptr, 0, 2, 2, row}, {z.data(), 3, 2, 2, row}), "no ShapeError");
}

TEST_F(Checks, ExtentsBeyondAddresses) {
  constexpr std::int64_t huge = std::int64_t{1} << 61;
  EXPECT_EQ(tsmttsm_error({x.data(), huge, 3, 3, row}, {y.data(), huge, 2, 2, row}, {z.data(), 3, 2, 2, row}),
            "tsmttsm: A is 2305843009213693952 x 3 row-major with leading dimension 3: expected a matrix that 64-bit "
            "addresses can reach");
}

TEST_F(Checks, LayoutsOfTallOperandsDiffer) {
  EXPECT_EQ(tsmttsm_error({x.data(), 10, 3, 3, row}, {y.data(), 10, 2, 10, column}, {z.data(), 3, 2, 2, row}),
            "tsmttsm: A is 10 x 3 row-major and B is 10 x 2 column-major: expected one layout for both");
  EXPECT_EQ(tsmm_error({x.data(), 10, 3, 3, row}, {y.data(), 3, 2, 2, row}, {z.data(), 10, 2, 10, column}),
            "tsmm: A is 10 x 3 row-major and B is 10 x 2 column-major: expected one layout for both");
}

TEST_F(Checks, ShapesDoNotFit) {
  EXPECT_EQ(tsmttsm_error({x.data(), 10, 3, 3, row}, {y.data(), 9, 2, 2, row}, {z.data(), 3, 2, 2, row}),
            "tsmttsm: A is 10 x 3 row-major and B is 9 x 2 row-major: expected as many rows in both");
  EXPECT_EQ(tsmttsm_error({x.data(), 10, 3, 3, row}, {y.data(), 10, 2, 2, row}, {z.data(), 2, 3, 3, row}),
            "tsmttsm: A is 10 x 3 row-major, B is 10 x 2 row-major and C is 2 x 3 row-major: expected C to be 3 x 2");
  EXPECT_EQ(tsmm_error({x.data(), 10, 3, 3, row}, {y.data(), 3, 2, 2, row}, {z.data(), 9, 2, 2, row}),
            "tsmm: A is 10 x 3 row-major and B is 9 x 2 row-major: expected as many rows in both");
  EXPECT_EQ(tsmm_error({x.data(), 10, 3, 3, row}, {y.data(), 2, 2, 2, row}, {z.data(), 10, 2, 2, row}),
            "tsmm: A is 10 x 3 row-major, B is 10 x 2 row-major and C is 2 x 2 row-major: expected C to be 3 x 2");
  EXPECT_EQ(inplace_error({x.data(), 10, 3, 3, row}, {y.data(), 3, 4, 4, row}),
            "tsmm_inplace: V is 10 x 3 row-major and C is 3 x 4 row-major: expected C to be 3 x n with n at most 3");
  EXPECT_EQ(inplace_error({x.data(), 10, 3, 3, row}, {y.data(), 3, 2, 2, row}, 2),
            "tsmm_inplace: V is 10 x 3 row-major and C is 3 x 2 row-major: expected C to be 3 x n with n at most 1");
  EXPECT_EQ(inplace_error({x.data(), 10, 3, 3, row}, {y.data(), 3, 2, 2, row}, 4),
            "tsmm_inplace: V is 10 x 3 row-major: columns from 4 on, of which there are none");
}

TEST_F(Checks, OutputSharesMemoryWithAnInput) {
  EXPECT_EQ(tsmttsm_error({x.data(), 10, 3, 3, row}, {y.data(), 10, 2, 2, row}, {x.data() + 29, 3, 2, 2, row}),
            "tsmttsm: C is 3 x 2 row-major and A is 10 x 3 row-major share memory: expected C apart from A");
  EXPECT_EQ(tsmm_error({x.data(), 10, 3, 8, row}, {y.data(), 3, 2, 2, row}, {x.data() + 2, 10, 2, 8, row}),
            "tsmm: B is 10 x 2 row-major and A is 10 x 3 row-major share memory: expected B apart from A");
  EXPECT_EQ(tsmm_error({x.data(), 10, 3, 3, row}, {y.data(), 3, 2, 2, row}, {y.data() + 5, 10, 2, 2, row}),
            "tsmm: B is 10 x 2 row-major and C is 3 x 2 row-major share memory: expected B apart from C");
  EXPECT_EQ(inplace_error({x.data(), 10, 3, 3, row}, {x.data() + 3, 3, 3, 3, row}),
            "tsmm_inplace: V is 10 x 3 row-major and C is 3 x 3 row-major share memory: expected V apart from C");
}

TEST_F(Checks, ColumnRangesOfOneParentAreApart) {
  // Columns [0, 3) and [3, 5) of a parent of leading dimension 8, in either order; [6, 9) runs into the next row.
  EXPECT_EQ(tsmm_error({x.data(), 10, 3, 8, row}, {y.data(), 3, 2, 2, row}, {x.data() + 3, 10, 2, 8, row}),
            "no ShapeError");
  EXPECT_EQ(tsmm_error({x.data() + 2, 10, 3, 8, row}, {y.data(), 3, 2, 2, row}, {x.data(), 10, 2, 8, row}),
            "no ShapeError");
  EXPECT_NE(tsmm_error({x.data(), 10, 3, 8, row}, {y.data(), 3, 3, 3, row}, {x.data() + 6, 10, 3, 8, row}),
            "no ShapeError");
  // Rows [0, 5) and [5, 10) of one column-major parent.
  EXPECT_EQ(tsmm_error({x.data(), 5, 3, 10, column}, {y.data(), 3, 2, 2, row}, {x.data() + 5, 5, 2, 10, column}),
            "no ShapeError");
}

TEST_F(Checks, EntriesOfDevicesAtMultiplesOfTheirSize) {
  const auto error = [](std::int64_t entry_bytes, std::uintptr_t address, std::int64_t rows = 5) {
    const dispatch::Operand a{"A", reinterpret_cast<const void*>(address), rows, 3, 3, row, entry_bytes};
    return message_of([&] { dispatch::check_alignment("tsmm", a); });
  };
  EXPECT_EQ(error(8, 4100),
            "tsmm: A is 5 x 3 row-major with data 4 bytes beyond a multiple of 8: expected entries at such multiples");
  EXPECT_EQ(error(4, 4098),
            "tsmm: A is 5 x 3 row-major with data 2 bytes beyond a multiple of 4: expected entries at such multiples");
  EXPECT_EQ(error(4, 4100), "no ShapeError");
  EXPECT_EQ(error(16, 4104), "no ShapeError");
  EXPECT_EQ(error(8, 4100, 0), "no ShapeError");
}

TEST_F(Checks, WorkspaceTooSmall) {
  const std::size_t needed = tsmttsm_workspace<double>(10, 3, 2, row);
  std::vector<std::byte> memory(needed - 1);
  EXPECT_EQ(tsmttsm_error({x.data(), 10, 3, 3, row}, {y.data(), 10, 2, 2, row}, {z.data(), 3, 2, 2, row}, {1, memory}),
            "tsmttsm: workspace of " + std::to_string(needed - 1) + " bytes: expected at least " +
                std::to_string(needed) + " bytes, or none at all");
  EXPECT_EQ(z, std::vector<double>(100, 7.0)) << "outputs are untouched";
}

TEST_F(Checks, NegativeThreads) {
  EXPECT_EQ(tsmm_error({x.data(), 10, 3, 3, row}, {y.data(), 3, 2, 2, row}, {z.data(), 10, 2, 2, row}, {-1, {}}),
            "tsmm: -1 threads: expected at least 0");
}

TEST_F(Checks, TheOracleChecksAsWell) {
  EXPECT_EQ(message_of([&] {
              reference::tsmm(1.0, Matrix<double>{x.data(), 10, 3, 2, row}, Matrix<double>{y.data(), 3, 2, 2, row}, 0.0,
                              Matrix<double>{z.data(), 10, 2, 2, row});
            }),
            "tsmm: A is 10 x 3 row-major with leading dimension 2: expected at least 3");
}

}  // namespace
}  // namespace blockvec::kernels

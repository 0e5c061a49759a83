#include "src/dispatch/cuda/dense.hpp"

#include <gtest/gtest.h>

#include <blockvec/kernels/packed.hpp>

/// How dense products are cut up: every unit belongs to one block, and the sums find it.
namespace blockvec::kernels::dispatch {
namespace {

const CudaDevice device{132, 232448, true, "H100"};

TEST(DenseUnits, BlocksShareThemOut) {
  for (const std::int64_t units : {1, 5, 131, 132, 133, 1000, 123457}) {
    for (const std::int64_t blocks : {1, 3, 132}) {
      if (blocks > units) continue;
      EXPECT_EQ(first_unit(units, blocks, 0), 0);
      EXPECT_EQ(first_unit(units, blocks, blocks), units);
      for (std::int64_t block = 0; block < blocks; ++block) {
        const std::int64_t first = first_unit(units, blocks, block), end = first_unit(units, blocks, block + 1);
        ASSERT_LT(first, end);
        ASSERT_EQ(block_of_unit(units, blocks, first), block);
        ASSERT_EQ(block_of_unit(units, blocks, end - 1), block);
      }
    }
  }
}

TEST(DenseUnits, PanelsCoverTheTriangle) {
  for (const bool lower : {true, false}) {
    for (const int parts : {1, 2}) {
      for (const std::int64_t n : {1, 15, 16, 17, 255, 256, 257, 511, 512, 513, 2000, 5121}) {
        SCOPED_TRACE(testing::Message() << "n " << n << " parts " << parts << " lower " << lower);
        const auto units = configure_hemm(device, {n, parts * n, 8}, parts, lower, 8).units;
        EXPECT_EQ(units.before(0), 0);
        const std::int64_t columns = hemm_panel / parts;
        for (std::int64_t panel = 0; panel < units.panels; ++panel) {
          const std::int64_t first = units.first_strip(panel);
          const std::int64_t strips = units.before(panel + 1) - units.before(panel);
          ASSERT_GT(strips, 0);
          // The strips that have an entry of the triangle in these columns, and no others.
          const std::int64_t begin = panel * columns, end = std::min(n, begin + columns);
          EXPECT_EQ(first, lower ? begin / hemm_lines : 0);
          EXPECT_EQ(first + strips, lower ? ceil_div(n, hemm_lines) : ceil_div(end, hemm_lines));
        }
        EXPECT_EQ(units.count(), units.before(units.panels));
      }
    }
  }
}

// A packed matrix has its panels in the order of units.
template <class T>
void expect_units_of_packed(int parts) {
  for (const std::int64_t n : {1, 16, 255, 512, 513, 5121}) {
    const auto units = configure_hemm(device, {n, parts * n, 8}, parts, true, 8).units;
    EXPECT_EQ(units.count() * hemm_lines * hemm_panel, parts * packed_entries<T>(n));
    for (std::int64_t panel = 0; panel < units.panels; ++panel) {
      EXPECT_EQ(units.before(panel) * hemm_lines, packed_rows_before<T>(n, panel));
    }
  }
}
TEST(DenseUnits, ArePackedOneAfterTheOther) {
  expect_units_of_packed<double>(1);
  expect_units_of_packed<std::complex<double>>(2);
}

TEST(DenseUnits, StagesFitSharedMemory) {
  for (const int real_bytes : {4, 8}) {
    for (int columns = 1; columns <= gemm_columns; ++columns) {
      for (const bool by_rows : {true, false}) {
        const auto c = configure_gemm(device, {40960, 40960, real_bytes}, by_rows, columns);
        EXPECT_GE(c.columns(), columns);
        EXPECT_GE(c.stages, 2);
        EXPECT_LE(1024 + c.stages * (c.stage_bytes + c.packed_bytes) + 2 * max_stages * 8, device.shared_bytes);
        EXPECT_EQ(c.blocks, device.multiprocessors);
      }
    }
    for (int columns = 1; columns <= hemm_columns; ++columns) {
      const auto c = configure_hemm(device, {40960, 40960, real_bytes}, 1, true, columns);
      EXPECT_GE(c.columns(), columns);
      EXPECT_GE(c.stages, real_bytes == 8 && columns > 8 ? 2 : 3);
      EXPECT_EQ(c.exchanges, hemm_exchanges);
      EXPECT_EQ(c.exchange_bytes, computing_warps * c.packed_bytes);
      EXPECT_LE(1024 + c.stages * (c.stage_bytes + c.packed_bytes) + c.exchanges * c.exchange_bytes +
                    2 * (max_stages + hemm_exchanges) * 8,
                device.shared_bytes);
    }
  }
}

}  // namespace
}  // namespace blockvec::kernels::dispatch

#include "tests/kernels/cuda/longer.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "src/tuning/rows.hpp"

/// What long calls run, tried on few rows: every row of the tables, every call of the benchmarks, and every end of
/// chunks and rings.
namespace blockvec::kernels {
namespace {

using namespace test;

template <class T>
class CudaLonger : public OnDevice {};
TYPED_TEST_SUITE(CudaLonger, Scalars);

template <class T>
bool is_of(const tuning::Row& row) {
  return row.real_bytes == dispatch::real_bytes<T> && row.parts == dispatch::parts<T>;
}

/// Calls of the narrowest and the widest operands that a row covers, of as many rows as make the table answer with it.
template <class T>
void expect_row(const tuning::Row& row) {
  SCOPED_TRACE(row.place);
  const auto ends = [](const tuning::Range& range) {
    const std::int64_t first = std::max<std::int64_t>(1, range.from);
    return std::vector<std::int64_t>{first, std::min(range.to, std::max<std::int64_t>(first, 512))};
  };
  std::int64_t before = 0;
  for (const std::int64_t m : ends(row.m)) {
    if (m == before) continue;
    before = m;
    for (const std::int64_t n : row.square ? std::vector<std::int64_t>{m, m} : ends(row.n)) {
      Call call{row.product, row.row_major ? Layout::row_major : Layout::column_major, 0, m, n};
      if (!row.tight && row.row_major) call.ld = std::max(m, row.ld.from);
      // Some serve only columns that begin anywhere, some only where no row above them does.
      bool found = false;
      for (const std::int64_t k : {row.k.from, row.k.from + 1, row.k.from + 64, 2 * row.k.from, 2 * row.k.from + 1}) {
        call.k = std::max<std::int64_t>(1, std::min(k, row.k.to));
        found = visit_choice<T>(whole_device(), call, [&](const auto& x) { return x.row == row.place; });
        if (found) break;
      }
      EXPECT_TRUE(found) << name(call) << " does not run it";
      if (found) expect_as_longer<T>(call, row.place);
      if (row.square || row.n.to == row.n.from) break;
    }
  }
}

TYPED_TEST(CudaLonger, RowsOfTables) {
  const dispatch::CudaDevice& device = whole_device();
  for (const tuning::Row& row : tuning::rows()) {
    if (!is_of<TypeParam>(row) || row.device != device.name) continue;
    expect_row<TypeParam>(row);
    if (this->HasFatalFailure()) return;
  }
}

// Both products of squares of every width.
TYPED_TEST(CudaLonger, Squares) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (std::int64_t width = 1; width <= 64; ++width) {
      if (width == 1 && layout == Layout::column_major) continue;  // runs as rows
      for (const char* const product : {"tsmttsm", "tsmm"}) {
        expect_as_longer<T>({product, layout, usual_rows<T>(width), width, width});
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

// One operand read once, or overwritten.
TYPED_TEST(CudaLonger, SquaresOfOneOperand) {
  using T = TypeParam;
  std::vector<std::int64_t> all{128, 256, 512};
  for (std::int64_t width = 1; width <= 64; ++width) all.push_back(width);
  for (const Layout layout : layouts) {
    for (const std::int64_t width : all) {
      if (width == 1 && layout == Layout::column_major) continue;
      for (const char* const product : {"gram", "tsmm_inplace"}) {
        expect_as_longer<T>({product, layout, usual_rows<T>(width), width, width});
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(CudaLonger, Rectangles) {
  using T = TypeParam;
  for (const Layout layout : layouts) {
    for (const char* const product : {"tsmttsm", "tsmm", "update", "tsmm_inplace"}) {
      for (const std::int64_t m : {16, 64, 128, 256, 512}) {
        for (const std::int64_t n : {1, 2, 4, 8, 16, 32}) {
          if (std::string(product) == "tsmm_inplace" && n > m) continue;
          expect_as_longer<T>({product, layout, usual_rows<T>(m), m, n});
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

// Columns of a basis of 64 or 128.
TYPED_TEST(CudaLonger, Views) {
  using T = TypeParam;
  for (const std::int64_t ld : {64, 128}) {
    for (const char* const product : {"tsmttsm", "tsmm", "update"}) {
      for (const std::int64_t m : {16, 24, 32, 48, 56, 64}) {
        for (const std::int64_t n : {std::int64_t{4}, std::int64_t{8}, std::int64_t{16}, m}) {
          expect_as_longer<T>({product, Layout::row_major, usual_rows<T>(ld), m, n, ld});
          if (this->HasFatalFailure()) return;
        }
      }
    }
    for (const std::int64_t m : {4, 8, 16, 24, 32, 48, 56}) {
      for (const char* const product : {"gram", "tsmm_inplace"}) {
        expect_as_longer<T>({product, Layout::row_major, usual_rows<T>(ld), m, m, ld});
      }
    }
  }
}

// Leading dimensions and first columns that are multiples of nothing.
TYPED_TEST(CudaLonger, OddViews) {
  using T = TypeParam;
  for (const std::int64_t ld : {65, 100, 513}) {
    const std::int64_t k = usual_rows<T>(ld);
    for (std::int64_t width = 1; width <= 32; ++width) {
      for (const char* const product : {"tsmttsm", "tsmm", "update", "gram", "tsmm_inplace"}) {
        expect_as_longer<T>({product, Layout::row_major, k, width, width, ld});
        if (width % 8 == 0 || width % 8 == 7) expect_as_longer<T>({product, Layout::row_major, k, width, width, ld, 3});
        if (this->HasFatalFailure()) return;
      }
    }
    for (const std::int64_t m : {16, 31}) {
      for (const std::int64_t n : {1, 4, 8}) {
        for (const char* const product : {"tsmttsm", "tsmm", "update"}) {
          expect_as_longer<T>({product, Layout::row_major, k, m, n, ld});
        }
      }
    }
  }
}

// Gaps behind columns, which begin anywhere.
TYPED_TEST(CudaLonger, ColumnsWithGaps) {
  using T = TypeParam;
  for (const char* const product : {"tsmttsm", "tsmm", "update", "gram", "tsmm_inplace"}) {
    for (const std::int64_t gap : {62, 63}) {
      for (const std::int64_t width : {2, 4, 8, 16, 24, 33, 48, 64}) {
        for (const std::int64_t offset : {0, 1}) {
          expect_as_longer<T>({product, Layout::column_major, usual_rows<T>(width), width, width, gap, offset});
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

// Rows that end with a chunk, with a ring or with all blocks' rings, or one before or after that.
TYPED_TEST(CudaLonger, EndsOfChunksAndRings) {
  using T = TypeParam;
  int turn = 0;
  for (const Layout layout : layouts) {
    for (std::int64_t width = 21; width <= 70; ++width) {
      for (const char* const product : {"tsmttsm", "tsmm", "update", "gram", "tsmm_inplace"}) {
        const std::int64_t n = turn % 7 == 0 && std::string_view(product) != "gram" ? width - 3 : width;
        const Call call{product, layout, usual_rows<T>(width) + turn % 2, width, n};
        SCOPED_TRACE(name(call));
        const auto [chunk, ring] = visit_choice<T>(whole_device(), call, [](const auto& choice) {
          const auto& x = choice.configuration;
          return std::pair{chunk_of(x), std::max(x->stages, 1) * chunk_of(x)};
        });
        const std::int64_t ends[] = {chunk, ring, 2 * ring};
        ++turn;
        expect_as_longer<T>(call, ends[turn % 3] + turn / 3 % 3 - 1);
        expect_as_longer<T>(call, ends[(turn + 1) % 3] + (turn / 3 + turn) % 3 - 1);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace blockvec::kernels

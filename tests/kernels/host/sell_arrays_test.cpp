#include <gtest/gtest.h>

#include <blockvec/kernels/error.hpp>
#include <blockvec/kernels/spmmv.hpp>
#include <complex>
#include <map>
#include <vector>

#include "tests/kernels/support/sparse.hpp"

/// Conversion to SELL-C-sigma keeps every entry, and the order in every row.
namespace blockvec::kernels {
namespace {

using namespace test;

template <class T>
using Rows = std::vector<std::vector<std::pair<std::int32_t, T>>>;

template <class T, class Offset>
Rows<T> rows_of(const SparseMatrix<T, Offset>& a) {
  Rows<T> rows(static_cast<std::size_t>(a.rows()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (auto at = static_cast<std::size_t>(a.row_begin[i]); at < static_cast<std::size_t>(a.row_begin[i + 1]); ++at) {
      rows[i].emplace_back(a.column[at], a.value[at]);
    }
  }
  return rows;
}

/// What kernels read. Each row must stand at one place.
template <class T>
Rows<T> rows_of(const SellMatrix<T>& a) {
  Rows<T> rows(static_cast<std::size_t>(a.rows));
  std::vector<int> places(rows.size(), 0);
  for (std::int64_t place = 0; place < a.chunks() * sell_chunk; ++place) {
    const std::int64_t chunk = place / sell_chunk;
    const std::int64_t i = a.row != nullptr ? a.row[place] : place < a.rows ? place : -1;
    bool ended = false;
    for (std::int64_t at = a.chunk_begin[chunk] + place % sell_chunk; at < a.chunk_begin[chunk + 1]; at += sell_chunk) {
      EXPECT_TRUE(!ended || a.column[at] < 0) << "padding stands behind a row's entries";
      ended = a.column[at] < 0;
      if (ended) {
        EXPECT_EQ(a.value[at], T(0));
      } else {
        EXPECT_GE(i, 0);
        rows[static_cast<std::size_t>(i)].emplace_back(a.column[at], a.value[at]);
      }
    }
    if (i >= 0) ++places[static_cast<std::size_t>(i)];
  }
  for (std::int64_t l = 0; l < a.long_rows; ++l) {
    ++places[static_cast<std::size_t>(a.long_row[l])];
    for (std::int64_t at = a.long_begin[l]; at < a.long_begin[l + 1]; ++at) {
      rows[static_cast<std::size_t>(a.long_row[l])].emplace_back(a.column[at], a.value[at]);
    }
  }
  for (const int count : places) EXPECT_EQ(count, 1);
  return rows;
}

template <class T>
class SellArraysOf : public testing::Test {};
using Scalars = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(SellArraysOf, Scalars);

TYPED_TEST(SellArraysOf, KeepEveryEntry) {
  using T = TypeParam;
  for (const Pattern pattern : patterns) {
    for (const std::int64_t rows : {0, 1, 31, 32, 33, 1500, 2500}) {
      const auto a = random_sparse<T>(rows, rows + 300, pattern);
      const SellArrays<T> sell = sell_arrays(a.view());
      EXPECT_EQ(rows_of(sell.view()), rows_of(a)) << rows << " rows, pattern " << static_cast<int>(pattern);
      EXPECT_EQ(sell.long_row.empty(), pattern != Pattern::with_long_rows || rows < 6);
    }
  }
}

TYPED_TEST(SellArraysOf, OffsetsOf32And64BitsGiveTheSame) {
  using T = TypeParam;
  const auto narrow = sell_arrays(random_sparse<T, std::int32_t>(1300, 1400, Pattern::with_long_rows).view());
  const auto wide = sell_arrays(random_sparse<T, std::int64_t>(1300, 1400, Pattern::with_long_rows).view());
  EXPECT_EQ(narrow.chunk_begin, wide.chunk_begin);
  EXPECT_EQ(narrow.row, wide.row);
  EXPECT_EQ(narrow.column, wide.column);
  EXPECT_EQ(narrow.value, wide.value);
  EXPECT_EQ(narrow.long_begin, wide.long_begin);
}

// 1024 neighbours sorted by lengths of 0 to 12: at most 13 chunks of a window have rows of two lengths.
TEST(SellArrays, PadFewEntries) {
  const auto a = random_sparse<double>(100000, 100000, Pattern::ragged);
  EXPECT_LE(static_cast<double>(sell_arrays(a.view()).column.size()), 1.08 * static_cast<double>(a.column.size()));
  const auto even = random_sparse<double>(3200, 100000, Pattern::even);
  EXPECT_EQ(sell_arrays(even.view()).column.size(), even.column.size());
  EXPECT_TRUE(sell_arrays(even.view()).row.empty());
}

TEST(SellArrays, ShareRowsAmongThreadsWhereThereAreFew) {
  for (const std::int32_t rows : {100, 16383, 16384}) {
    for (const std::int32_t longest : {16, 17}) {
      SparseMatrix<double, std::int32_t> a{100};
      for (std::int32_t i = 0; i < rows; ++i) {
        for (std::int32_t j = 0; j < (i == 70 ? longest : i % 4); ++j) a.column.push_back(j);
        a.row_begin.push_back(static_cast<std::int32_t>(a.column.size()));
      }
      a.value.assign(a.column.size(), 1.0);
      const bool shared = rows < 16384 && longest > 16;
      const auto sell = sell_arrays(a.view());
      EXPECT_EQ(sell.long_row.size(), shared ? static_cast<std::size_t>(rows) : 0U);
      EXPECT_EQ(rows_of(sell.view()), rows_of(a));
      EXPECT_TRUE(sell_arrays(a.view(), LongRows::in_chunks).long_row.empty());
    }
  }
}

TEST(SellArrays, RejectWhatIsNoMatrix) {
  auto a = random_sparse<double>(40, 50, Pattern::even);
  const auto expect_error = [&] { EXPECT_THROW(sell_arrays(a.view()), ShapeError); };
  const auto good = a;
  a.column[3] = 50;
  expect_error();
  a.column[3] = -1;
  expect_error();
  a = good;
  a.row_begin[5] = 100;
  expect_error();
  a = good;
  a.row_begin[0] = 1;
  expect_error();
  a = good;
  auto view = a.view();
  view.rows = -1;
  EXPECT_THROW(sell_arrays(view), ShapeError);
  view = a.view();
  view.columns = std::int64_t{1} << 31;
  EXPECT_THROW(sell_arrays(view), ShapeError);
  view = a.view();
  view.row_begin = nullptr;
  EXPECT_THROW(sell_arrays(view), ShapeError);
  view = a.view();
  view.value = nullptr;
  EXPECT_THROW(sell_arrays(view), ShapeError);
}

}  // namespace
}  // namespace blockvec::kernels

#pragma once

#include <algorithm>
#include <blockvec/kernels/matrix.hpp>
#include <cstdint>

#include "src/host/summation.hpp"

/// What the SIMD files of this folder offer to the drivers. All of it is real arithmetic: a row-major complex K x M
/// matrix is a real K x 2M one, a column of a column-major complex one is 2K real numbers.
namespace blockvec::kernels::host {

/// P = A^T B for row-major tall A (k x m) and B (k x n).
template <class T>
struct RowMajorPair {
  const T* a;
  std::int64_t lda;
  std::int64_t m;
  const T* b;
  std::int64_t ldb;
  std::int64_t n;
  bool symmetric;  ///< A is B: half of P is computed
  T* packed;       ///< if not null, A and B are column-major: chunks are packed by rows first, to here
};

/// P = A^T B or A^H B for column-major tall A (k x m) and B (k x n). A row of a complex matrix is two numbers.
template <class T>
struct ColumnMajorPair {
  const T* a;
  std::int64_t lda;
  std::int64_t m;
  const T* b;
  std::int64_t ldb;
  std::int64_t n;
  bool symmetric;
  bool complex;
  bool conjugate;
};

/// Numbers of scratch that a part's tree needs for each of its levels.
std::int64_t row_major_entries(std::int64_t m, std::int64_t n);

/// The sum over the rows of one part, to out: m x n without gaps (complex column-major: re and im of each entry).
void part_of_product(const RowMajorPair<float>& pair, const SumPlan& plan, std::int64_t part, float* levels,
                     float* out);
void part_of_product(const RowMajorPair<double>& pair, const SumPlan& plan, std::int64_t part, double* levels,
                     double* out);
void part_of_product(const ColumnMajorPair<float>& pair, const SumPlan& plan, std::int64_t part, float* levels,
                     float* out);
void part_of_product(const ColumnMajorPair<double>& pair, const SumPlan& plan, std::int64_t part, double* levels,
                     double* out);

/// How results reach memory.
enum class Store : std::uint8_t {
  plain,   ///< through the caches
  stream,  ///< around them: the output is not read first
  add      ///< beta times what is there is added
};

/// B = A C (+ beta B) for row-major A (k x m), B (k x n), or column-major ones. B may be A.
/// C is packed, alpha included: m rows of n entries, ldc apart. Complex row-major: each entry x + iy of C is the real
/// 2 x 2 block [x y; -y x], and m and n count real numbers. Complex column-major: each row of C is two, re and im.
template <class T>
struct Product {
  const T* a;
  std::int64_t lda;
  std::int64_t m;
  const T* c;
  std::int64_t ldc;
  std::int64_t n;
  T* b;
  std::int64_t ldb;
  Store store;
  T beta_re;
  T beta_im;
  bool complex;
  Triangle triangle;
  bool in_place;  ///< B is a range of A's columns
};

/// Rows [first, first + rows) of a product whose operands have this layout; buffer has room for
/// row_major_blocks().buffer or column_major_buffer() numbers.
void product_rows(const Product<float>& product, Layout layout, std::int64_t first, std::int64_t rows, float* buffer);
void product_rows(const Product<double>& product, Layout layout, std::int64_t first, std::int64_t rows, double* buffer);

/// How product_rows goes through rows of row-major operands.
struct RowMajorBlocks {
  std::int64_t rows;    ///< of A and B in a block: about half a kibibyte of results
  std::int64_t terms;   ///< of the sums at a time: these rows of C stay in the first-level cache
  std::int64_t buffer;  ///< numbers in a buffer that a block fits in as it stands in its line of memory
};
template <class T>
RowMajorBlocks row_major_blocks(std::int64_t m, std::int64_t n) {
  RowMajorBlocks blocks{};
  blocks.rows = std::clamp<std::int64_t>(512 / bytes_of<T>(n) / 8 * 8, 8, 64);
  blocks.terms = std::max<std::int64_t>(m, 1);
  if (bytes_of<T>(m * n) > 32768) {
    // Rows of C come from the second-level cache once a block: taller blocks make up for it.
    blocks.rows = 32;
    blocks.terms = std::max<std::int64_t>(16384 / bytes_of<T>(n) / 8 * 8, 8);
  }
  blocks.buffer = blocks.rows * n + line_bytes / bytes_of<T>(1);
  return blocks;
}

/// Numbers in its buffer for column-major ones: of each column of B four vectors of results and one that waits.
template <class T>
std::int64_t column_major_buffer(std::int64_t n) {
  return 5 * line_bytes / bytes_of<T>(1) * n;
}

}  // namespace blockvec::kernels::host

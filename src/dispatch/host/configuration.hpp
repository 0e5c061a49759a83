#pragma once

#include <blockvec/kernels/matrix.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

#include "src/dispatch/host/checks.hpp"
#include "src/host/products.hpp"
#include "src/host/summation.hpp"

/// Problem -> configuration of the host kernels, in one place. Nothing here depends on threads or on the processor.
namespace blockvec::kernels::dispatch {

/// What a tsmttsm runs with. P is the product of real views that the kernels compute (products.hpp).
struct TsmttsmConfiguration {
  host::SumPlan plan;
  bool packed;                  ///< column-major operands are packed by rows, chunk after chunk
  std::int64_t entries;         ///< numbers in a level of a part's tree
  std::int64_t result;          ///< numbers in P
  std::int64_t packed_entries;  ///< numbers of a packed chunk
  std::int64_t part_stride;     ///< numbers of workspace of one part
  std::size_t workspace_bytes;  ///< of all parts, and to align them
};
template <class T>
TsmttsmConfiguration configure_tsmttsm(std::int64_t k, std::int64_t m, std::int64_t n, Layout layout);

/// What a tsmttsm in double-double runs with: chunks are packed as columns of real numbers, the m x n pairs of a part
/// are summed in place. Threads decide about scratch alone.
struct TsmttsmDdConfiguration {
  host::SumPlan plan;
  int threads;
  std::int64_t packed_ld;       ///< numbers between packed columns
  std::int64_t packed_entries;  ///< numbers of a thread's packed chunk
  std::int64_t part_stride;     ///< numbers of a part's pairs
  std::size_t workspace_bytes;
};
template <class T>
TsmttsmDdConfiguration configure_tsmttsm_dd(std::int64_t k, std::int64_t m, std::int64_t n, int threads);

/// What a tsmm runs with: work items of `item_rows` rows, each thread with a buffer, C packed in front.
struct TsmmConfiguration {
  std::int64_t item_rows;
  std::int64_t items;
  std::int64_t threads;
  std::int64_t packed_ld;       ///< numbers between the rows of packed C
  std::int64_t packed_entries;  ///< numbers of packed C
  std::int64_t buffer_entries;  ///< numbers of a thread's buffer
  std::size_t workspace_bytes;
};
template <class T>
TsmmConfiguration configure_tsmm(std::int64_t k, std::int64_t m, std::int64_t n, Layout layout, int threads);

/// What a Gram-Schmidt sweep runs with: slabs of rows that stay in the second-level cache from step to step.
struct SweepConfiguration {
  static constexpr std::size_t most_pieces = 4;
  /// The products with one of the matrices that V consists of.
  struct Piece {
    TsmmConfiguration projection;  ///< W - V S
    TsmttsmConfiguration p;        ///< V^H W of one slab, in one part; result = 0 where nobody wants it
  };
  host::SumPlan plan;  ///< its chunks are the slabs
  Piece piece[most_pieces];
  TsmmConfiguration factor;     ///< W X
  TsmttsmConfiguration g;       ///< W^H W of one slab, in one part; result = 0 where nobody wants it
  std::int64_t results;         ///< numbers in all products
  std::int64_t part_stride;     ///< numbers of workspace of one part
  std::int64_t buffer_entries;  ///< numbers of a thread's buffer for the products
  std::int64_t thread_entries;  ///< numbers of workspace of a thread in all
  std::int64_t threads;
  std::size_t workspace_bytes;
};
template <class T>
SweepConfiguration configure_sweep(std::int64_t k, std::span<const std::int64_t> m, std::int64_t n, bool with_p,
                                   bool with_g, Layout layout, int threads);

/// How tsmm's results reach memory: past the caches if they are large, nothing of theirs is read, and they leave no
/// gaps in lines of memory.
template <class T>
host::Store store_of(const Matrix<const T>& a, const Matrix<T>& b, bool reads_output) {
  constexpr double large = 8e6;  // bytes, about what second-level caches hold
  if (reads_output) return host::Store::add;
  const bool gaps = b.layout == Layout::row_major && b.ld != b.columns;
  const double bytes = static_cast<double>(sizeof(T)) * static_cast<double>(b.rows) * static_cast<double>(b.columns);
  return overlap(operand("A", a), operand("B", b)) || gaps || bytes < large ? host::Store::plain : host::Store::stream;
}

}  // namespace blockvec::kernels::dispatch

#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

namespace blockvec::kernels {

/// Where the entries of a matrix stand.
enum class Layout : std::uint8_t {
  row_major,    ///< entry (i, j) at data[i * ld + j]
  column_major  ///< entry (i, j) at data[i + j * ld]
};

/// A matrix in memory that somebody else owns: tall operands and small ones alike.
/// ld counts elements and is at least `columns` (row-major) or `rows` (column-major).
/// data may be null only if the matrix has no entries.
template <class T>
struct Matrix {
  T* data = nullptr;  ///< entry (0, 0)
  std::int64_t rows = 0;  ///< the number of rows
  std::int64_t columns = 0;  ///< the number of columns
  std::int64_t ld = 0;  ///< from one row or column to the next, in entries
  Layout layout = Layout::row_major;  ///< rows or columns first

  /// A matrix of mutable entries is accepted wherever one of const entries is asked for.
  operator Matrix<const T>() const  // NOLINT(google-explicit-constructor)
    requires(!std::is_const_v<T>)
  {
    return {data, rows, columns, ld, layout};
  }
};

/// What A^op means in C = alpha A^op B + beta C. The same thing for real types.
enum class Op : std::uint8_t { transpose, conjugate_transpose };

/// Which entries of a small matrix count; the others are taken as zero and never read.
enum class Triangle : std::uint8_t { general, upper, lower };

}  // namespace blockvec::kernels

#pragma once

#include <blockvec/kernels/error.hpp>
#include <blockvec/kernels/matrix.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

struct CUstream_st;

/// @file
/// Sparse matrix times block vector (SpMMV). T is float, double, std::complex<float> or std::complex<double>.
namespace blockvec::kernels {

/// A sparse matrix in compressed rows (CSR) in memory that somebody else owns. The entries of row i stand at
/// [row_begin[i], row_begin[i + 1]), in any order; entries of one column add up. A distributed matrix has more columns
/// than rows: its own ones first, then those of the halo. Offset: std::int32_t or std::int64_t.
template <class T, class Offset>
struct CsrMatrix {
  std::int64_t rows = 0;                 ///< the number of rows
  std::int64_t columns = 0;              ///< the number of columns
  const Offset* row_begin = nullptr;     ///< rows + 1 numbers, from 0 on
  const std::int32_t* column = nullptr;  ///< of each entry
  const T* value = nullptr;              ///< of each entry
};

/// Rows in a chunk of SELL-C-sigma: C.
inline constexpr int sell_chunk = 32;

/// A sparse matrix in SELL-C-sigma format, in memory that somebody else owns. A chunk holds 32 rows: their first
/// entries, then their second ones, and so on to the end of the longest row. Where a row is shorter, the column is -1.
/// Rows far longer than the others are not in chunks. Their entries stand behind those of the chunks.
/// Source: Kreutzer, Hager, Wellein, Fehske, Bishop 2014, "A unified sparse matrix data format".
template <class T>
struct SellMatrix {
  std::int64_t rows = 0;                      ///< the number of rows
  std::int64_t columns = 0;                   ///< the number of columns
  const std::int64_t* chunk_begin = nullptr;  ///< ceil(rows / 32) + 1 positions in `column` and `value`
  const std::int32_t* row = nullptr;          ///< the row at each place of the chunks, or -1; null: rows in order
  const std::int32_t* column = nullptr;       ///< of each entry; -1: padding
  const T* value = nullptr;                   ///< of each entry
  std::int64_t long_rows = 0;                 ///< rows that are not in chunks
  const std::int32_t* long_row = nullptr;     ///< which rows these are
  const std::int64_t* long_begin = nullptr;   ///< long_rows + 1 positions in `column` and `value`
  std::int64_t diagonal = 0;                  ///< the column to which the shift of row 0 belongs

  /// The number of chunks.
  std::int64_t chunks() const { return (rows + sell_chunk - 1) / sell_chunk; }
};

/// The arrays of a SellMatrix in host memory. A caller copies them to the device.
template <class T>
struct SellArrays {
  std::int64_t rows = 0;                  ///< the number of rows
  std::int64_t columns = 0;               ///< the number of columns
  std::vector<std::int64_t> chunk_begin;  ///< as SellMatrix::chunk_begin
  std::vector<std::int32_t> row;          ///< empty: rows in order
  std::vector<std::int32_t> column;       ///< as SellMatrix::column
  std::vector<T> value;                   ///< as SellMatrix::value
  std::vector<std::int32_t> long_row;     ///< as SellMatrix::long_row
  std::vector<std::int64_t> long_begin;   ///< as SellMatrix::long_begin

  /// The same arrays without ownership: they live as long as this object.
  SellMatrix<T> view() const {
    return {rows,
            columns,
            chunk_begin.data(),
            row.empty() ? nullptr : row.data(),
            column.data(),
            value.data(),
            static_cast<std::int64_t>(long_row.size()),
            long_row.data(),
            long_begin.data()};
  }
};

/// Where rows far longer than the others go.
enum class LongRows {
  apart,     ///< thread blocks of their own add them up, in another order
  in_chunks  ///< among the others: each sum has the order of its row's entries, whatever the other rows are
};

/// Converts a matrix in host memory, with all threads that OpenMP gives. Rows stay in order where at most 2 % of the
/// stored entries are then padding; else they are sorted by length among 1024 neighbours. Rows of more than 64 entries
/// and of more than 8 times the average are long ones; in a matrix of fewer than 16384 rows, all are where one has more
/// than 16. Cost: three passes over the row lengths, one over the entries. Throws ShapeError for a matrix whose rows do
/// not ascend, whose columns are out of range, or which has 2^31 rows or columns.
template <class T, class Offset>
SellArrays<T> sell_arrays(const CsrMatrix<T, Offset>& a, LongRows long_rows = LongRows::apart);

/// Bytes of the least traffic of Y = alpha (A - shift) X + beta Z: A (`entries` of them, without padding), X and Y
/// once, and Z where it is read.
template <class T>
double spmmv_bytes(std::int64_t rows, std::int64_t columns, std::int64_t entries, std::int64_t width, bool reads_z) {
  const double matrix = static_cast<double>(entries) * (sizeof(T) + 4) + 4.0 * static_cast<double>(rows);
  const double vectors = static_cast<double>(columns) + static_cast<double>(reads_z ? 2 * rows : rows);
  return matrix + vectors * static_cast<double>(width) * sizeof(T);
}

/// Y = alpha (A - shift) X + beta Z on the current CUDA device. A, X, Z and Y are in device memory. In libraries that
/// were built with CUDA, as BLOCKVEC_HAVE_CUDA says.
/// A is rows x columns, X columns x width, Z and Y rows x width, with any leading dimensions. Z and Y have one layout,
/// X may have another. Z may be Y; X is apart from Y. The shift belongs to entries (i, A.diagonal + i). A recurrence of
/// Chebyshev polynomials is one call.
/// alpha = 0 never reads A and X; beta = 0 never reads Z.
/// Cost: one pass over A, X, Z and Y; more than 128 bytes of a row are computed in turn, with A read again for each
/// 128. Nothing is allocated, the host does not wait, and a CUDA graph can capture the call. The same call gives the
/// same bits: sums run in the order of a row's entries, in row-major blocks of any width and stride, and for long rows
/// in a tree that depends on the width only. Row-major operands at multiples of 16 bytes are fastest; column-major ones
/// are slower. Error: at most gamma(n + 4) |alpha| (|A| + |shift|) |X| + 2 u |beta Z| in T's precision, entry by entry,
/// for rows of n entries, with a factor of 2 sqrt(2) for complex types. Throws ShapeError naming operands and shapes
/// before anything is launched, CudaError naming shape and cause. Source: Kreutzer et al. 2014; lanes over the columns
/// of a row-major block as Anzt, Tomov, Dongarra 2015.
template <class T>
void spmmv(T alpha, const SellMatrix<T>& a, T shift, std::type_identity_t<Matrix<const T>> x, T beta,
           std::type_identity_t<Matrix<const T>> z, Matrix<T> y, CUstream_st* stream);

/// Which kernel serves these operands: "sell vector 2 lanes 4"; "long rows" where all rows are. Nothing is launched.
template <class T>
std::string explain_spmmv(const SellMatrix<T>& a, std::type_identity_t<Matrix<const T>> x,
                          std::type_identity_t<Matrix<const T>> z, Matrix<T> y);

/// A row-major block of complex numbers as one of twice as many real columns: a real matrix multiplies it, with real
/// alpha, shift and beta, at half of the matrix traffic. Throws ShapeError for a column-major block.
template <class T, class Real = typename std::remove_const_t<T>::value_type>
Matrix<std::conditional_t<std::is_const_v<T>, const Real, Real>> real_columns(const Matrix<T>& x) {
  if (x.layout != Layout::row_major) throw ShapeError("real_columns: expected a row-major block");
  using To = std::conditional_t<std::is_const_v<T>, const Real, Real>;
  return {reinterpret_cast<To*>(x.data), x.rows, 2 * x.columns, 2 * x.ld, x.layout};
}

namespace reference {

/// Y = alpha (A - shift) X + beta Z in host memory by obvious loops: what the kernels are compared with.
template <class T, class Offset>
void spmmv(T alpha, const CsrMatrix<T, Offset>& a, T shift, std::type_identity_t<Matrix<const T>> x, T beta,
           std::type_identity_t<Matrix<const T>> z, Matrix<T> y);

}  // namespace reference
}  // namespace blockvec::kernels

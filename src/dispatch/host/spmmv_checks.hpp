#pragma once

#include <blockvec/kernels/spmmv.hpp>

#include "src/dispatch/host/checks.hpp"

/// Argument checks of sparse products, shared by the oracle and the kernels.
namespace blockvec::kernels::dispatch {

/// A sparse matrix without its type.
struct SparseOperand {
  std::int64_t rows, columns;
  std::int64_t diagonal;  ///< the column to which the shift of row 0 belongs
  bool complete;          ///< the arrays that its extents ask for are not null
  bool aligned;           ///< values stand at multiples of their size
};

template <class T, class Offset>
SparseOperand operand(const CsrMatrix<T, Offset>& a) {
  return {a.rows, a.columns, 0, a.row_begin != nullptr || a.rows == 0, true};
}
template <class T>
SparseOperand operand(const SellMatrix<T>& a) {
  const bool long_rows = a.long_rows == 0 || (a.long_row != nullptr && a.long_begin != nullptr);
  return {a.rows, a.columns, a.diagonal, (a.chunk_begin != nullptr || a.rows == 0) && long_rows,
          reinterpret_cast<std::uintptr_t>(a.value) % sizeof(T) == 0};
}

/// A is rows x columns, X columns x width, Z (where it is read) and Y rows x width, of one layout; Y is apart from X,
/// and apart from Z unless it is the same matrix.
void check_spmmv(const SparseOperand& a, bool shifts, const Operand& x, bool reads_z, const Operand& z,
                 const Operand& y);

}  // namespace blockvec::kernels::dispatch

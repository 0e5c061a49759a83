#pragma once

#include <blockvec/kernels/matrix.hpp>
#include <blockvec/kernels/packed.hpp>
#include <initializer_list>

#include "src/dispatch/host/checks.hpp"

/// Argument checks of dense products, shared by the oracle and the kernels.
namespace blockvec::kernels::dispatch {

/// Y is n x b and X is k x b, of one layout; A is n x k, or k x n if it is `transposed`. Y is apart from A and X.
void check_gemm(const Operand& a, bool transposed, const Operand& x, const Operand& y);
/// A is n x n, X and Y are n x b; the triangle is upper or lower.
void check_hemm(const Operand& a, Triangle triangle, const Operand& x, const Operand& y);
/// n is not negative.
void check_packed_rows(const char* operation, std::int64_t n);
/// The panels of a packed matrix, one below the other. Throws ShapeError for a negative n.
template <class T>
Matrix<T> panels(const char* operation, const PackedHermitian<T>& a) {
  check_packed_rows(operation, a.n);
  return {a.data, packed_entries<T>(a.n) / packed_panel<T>, packed_panel<T>, packed_panel<T>};
}
/// As check_hemm, for a packed A, n x n.
void check_packed_hemm(std::int64_t n, const Operand& panels, const Operand& x, const Operand& y);
/// A is n x n and apart from the panels; the triangle is upper or lower.
void check_packing(const char* operation, Triangle triangle, const Operand& a, std::int64_t n, const Operand& panels);
/// Extents and leading dimensions of the operands fit the 32-bit numbers of a BLAS.
void check_blas_extents(const char* product, std::initializer_list<Operand> operands);

}  // namespace blockvec::kernels::dispatch

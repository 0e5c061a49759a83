#pragma once

#include <blockvec/kernels/matrix.hpp>

#include "src/dispatch/host/checks.hpp"

/// Argument checks of dense products, shared by the oracle and the kernels.
namespace blockvec::kernels::dispatch {

/// Y is n x b and X is k x b, of one layout; A is n x k, or k x n if it is `transposed`. Y is apart from A and X.
void check_gemm(const Operand& a, bool transposed, const Operand& x, const Operand& y);
/// A is n x n, X and Y are n x b; the triangle is upper or lower.
void check_hemm(const Operand& a, Triangle triangle, const Operand& x, const Operand& y);
/// Extents and leading dimensions fit the 32-bit numbers of a BLAS.
void check_blas_extents(const char* product, const Operand& a);

}  // namespace blockvec::kernels::dispatch

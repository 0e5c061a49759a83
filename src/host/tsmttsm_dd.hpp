#pragma once

#include <blockvec/kernels/tall_skinny.hpp>
#include <cstdint>

#include "src/dispatch/host/configuration.hpp"

namespace blockvec::kernels::host {

/// high + low = A^op B for operands that have been checked, none of K, M, N zero, and scratch of
/// configuration.workspace_bytes less its alignment.
template <class T>
void tsmttsm_dd(Op op, const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& high, const Matrix<T>& low,
                const dispatch::TsmttsmDdConfiguration& configuration, double* scratch);

/// A chunk of rows as columns of real numbers, `ld` apart and filled up with zeros to whole vectors: A has m of them, B
/// n. A symmetric product of A with itself needs no entry below its diagonal.
struct PackedColumns {
  const double* a;
  std::int64_t m;
  const double* b;
  std::int64_t n;
  std::int64_t length;
  std::int64_t ld;
  bool symmetric;
  bool exact;  ///< products of two entries are double-precision numbers
};

/// Adds A^T B to sums: m x n pairs (sum, what rounding took from it).
void add_packed_products(const PackedColumns& columns, double* sums);

}  // namespace blockvec::kernels::host

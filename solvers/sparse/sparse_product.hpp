#pragma once

#include <cstdint>

#include "solvers/sparse/compressed_rows.hpp"

namespace blockvec::solvers {

/// A tall operand of the sparse product as its loops see it.
template <class Scalar>
struct TallPointer {
  Scalar* data;
  std::int64_t ld;
};

/// Y = alpha (A - shift) X + beta Y for `width` columns, on the host with threads: by AVX2 where the processor has it.
/// beta = 0 never reads Y. Double and Complex<double>; X row- or column-major, Y likewise.
template <class XLayout, class YLayout, class Scalar>
void sparse_product(int threads, const CompressedRows<Scalar>& a, Scalar alpha, Scalar shift,
                    TallPointer<const Scalar> x, Scalar beta, TallPointer<Scalar> y, std::int64_t width);

}  // namespace blockvec::solvers

#pragma once

#include <cstdint>

#include "solvers/sparse/compressed_rows.hpp"

namespace blockvec::solvers {

/// A tall operand of the sparse product as its loops see it.
template <class Scalar>
struct TallPointer {
  Scalar* data = nullptr;
  std::int64_t ld = 0;
};

/// To what Y is added, times a weight: to nothing without data.
template <class Scalar>
struct RunningSum {
  TallPointer<Scalar> to;
  Scalar weight{};
};

/// Y = alpha (A - shift) X + beta Y for `width` columns, on the host with threads: by AVX2 where the processor has it.
/// beta = 0 never reads Y. Every entry of Y is the same sum, in the order of A's entries, for any number of threads. X
/// row- or column-major, Y likewise; both row-major is up to 3 times faster, and only then there may be a running sum.
template <class XLayout, class YLayout, class Scalar>
void sparse_product(int threads, const CompressedRows<Scalar>& a, Scalar alpha, Scalar shift,
                    TallPointer<const Scalar> x, Scalar beta, TallPointer<Scalar> y, std::int64_t width,
                    RunningSum<Scalar> sum = {});

}  // namespace blockvec::solvers

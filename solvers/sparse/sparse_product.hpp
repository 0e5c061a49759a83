#pragma once

#include <blockvec/kernels/matrix.hpp>
#include <blockvec/kernels/spmmv.hpp>
#include <cstddef>

namespace blockvec::solvers {

/// To what Y is added, times a weight: to nothing without data.
template <class T>
struct RunningSum {
  kernels::Matrix<T> to;
  T weight{};
};

/// Y = alpha (A - shift) X + beta Y on the host with threads: by AVX2 where the processor has it. beta = 0 never reads
/// Y. Every entry of Y is the same sum for any number of threads. Its order depends on the entries of its row, on the
/// layouts and on the width: long rows of narrow row-major blocks are two sums, of every other entry. T as in kernels.
/// X row-major and Y in any layout, or both column-major; both row-major is up to 3 times faster, and only then there
/// may be a running sum, in the same layout. Compiled for the host alone: nvcc does not know the compiler's vectors.
template <class T>
void sparse_product(int threads, const kernels::CsrMatrix<T, std::size_t>& a, T alpha, T shift,
                    const kernels::Matrix<const T>& x, T beta, const kernels::Matrix<T>& y,
                    const RunningSum<T>& sum = {});

}  // namespace blockvec::solvers

#pragma once

#include <algorithm>
#include <blockvec/kernels/matrix.hpp>
#include <blockvec/kernels/parallel.hpp>
#include <cstdint>

#include "src/dispatch/host/configuration.hpp"
#include "src/host/products.hpp"
#include "src/host/real.hpp"

/// Sums over rows: one part of P = A^op B, and from the parts' sums to entries of the result.
namespace blockvec::kernels::host {

/// The sum over the rows of one part, to `levels + plan.levels * entries`. levels has room for that, the result and,
/// if columns are packed by rows, configuration.packed_entries after it.
template <class T>
void part_of_sum(Op op, const Matrix<const T>& a, const Matrix<const T>& b, const SumPlan& plan, std::int64_t part,
                 const dispatch::TsmttsmConfiguration& configuration, real_t<T>* levels) {
  using R = real_t<T>;
  constexpr std::int64_t parts = real_parts<T>;
  const bool same = a.data == b.data && a.ld == b.ld && a.columns == b.columns;
  R* const out = levels + plan.levels * configuration.entries;
  if (a.layout == Layout::row_major || configuration.packed) {
    R* const packed =
        configuration.packed ? levels + configuration.part_stride - configuration.packed_entries : nullptr;
    const RowMajorPair<R> pair{real_view(a.data),
                               parts * a.ld,
                               parts * a.columns,
                               real_view(b.data),
                               parts * b.ld,
                               parts * b.columns,
                               same,
                               packed};
    part_of_product(pair, plan, part, levels, out);
  } else {
    const ColumnMajorPair<R> pair{real_view(a.data),
                                  parts * a.ld,
                                  a.columns,
                                  real_view(b.data),
                                  parts * b.ld,
                                  b.columns,
                                  same,
                                  parts == 2,
                                  op == Op::conjugate_transpose};
    part_of_product(pair, plan, part, levels, out);
  }
}

/// The sums of the parts, added in a binary tree into the first.
template <class R>
void add_parts(R* sums, std::int64_t parts, std::int64_t stride, std::int64_t entries, int threads) {
  constexpr std::int64_t block = 4096;
  // Small sums are not worth waking threads up for.
  const int helpers = parts * entries > 16 * block ? threads : 1;
  parallel_for(helpers, ceil_div(entries, block), [&](std::int64_t item, int) {
    const std::int64_t begin = item * block;
    const std::int64_t end = std::min(entries, begin + block);
    for (std::int64_t step = 1; step < parts; step *= 2) {
      for (std::int64_t part = 0; part + step < parts; part += 2 * step) {
        R* const to = sums + part * stride;
        const R* const from = sums + (part + step) * stride;
        for (std::int64_t i = begin; i < end; ++i) to[i] += from[i];
      }
    }
  });
}

/// Entry (i, j) of A^op B from the real product P (products.hpp).
template <class T>
T entry_of(const real_t<T>* p, Op op, bool by_rows, std::int64_t n, std::int64_t i, std::int64_t j) {
  if constexpr (!is_complex<T>) {
    return p[i * n + j];
  } else if (!by_rows) {
    return {p[2 * (i * n + j)], p[2 * (i * n + j) + 1]};
  } else {
    const real_t<T>* const re = p + 2 * i * 2 * n + 2 * j;  // row of the real parts of A's column i
    const real_t<T>* const im = re + 2 * n;
    return op == Op::conjugate_transpose ? T(re[0] + im[1], re[1] - im[0]) : T(re[0] - im[1], re[1] + im[0]);
  }
}

template <class T>
T times(T x, T y) {
  if constexpr (is_complex<T>) {
    return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
  } else {
    return x * y;
  }
}

/// C = alpha P + beta C for a sum P; beta = 0 never reads C.
template <class T>
void write_result(Op op, T alpha, const real_t<T>* p, bool by_rows, T beta, const Matrix<T>& c) {
  for (std::int64_t i = 0; i < c.rows; ++i) {
    for (std::int64_t j = 0; j < c.columns; ++j) {
      T& out = c.layout == Layout::row_major ? c.data[i * c.ld + j] : c.data[i + j * c.ld];
      const T value = times(alpha, entry_of<T>(p, op, by_rows, c.columns, i, j));
      out = beta == T(0) ? value : value + times(beta, out);
    }
  }
}

}  // namespace blockvec::kernels::host

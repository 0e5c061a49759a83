#pragma once

#include <algorithm>
#include <blockvec/kernels/parallel.hpp>
#include <blockvec/scalar.hpp>
#include <cstdint>
#include <type_traits>

#include "compressed_rows.hpp"

namespace blockvec::examples {

/// A tall operand of the sparse product as its loops see it.
template <class Scalar>
struct TallPointer {
  Scalar* data;
  std::int64_t ld;
};

namespace detail {

template <class Layout>
constexpr std::int64_t tall_index(std::int64_t row, std::int64_t column, std::int64_t ld) {
  return std::is_same_v<Layout, RowMajor> ? row * ld + column : row + column * ld;
}

/// `Width` columns of one row: the sums stay in registers.
template <int Width, class XLayout, class YLayout, class Scalar>
inline void multiply_row(const CompressedRows<Scalar>& a, std::int64_t row, Scalar alpha, Scalar shift,
                         TallPointer<const Scalar> x, Scalar beta, TallPointer<Scalar> y) {
  const std::size_t* const row_begin = a.row_begin.data();
  const int* const columns = a.columns.data();
  const Scalar* const values = a.values.data();
  Scalar sums[Width] = {};
  for (std::size_t entry = row_begin[row]; entry < row_begin[row + 1]; ++entry) {
    const Scalar value = values[entry];
    const std::int64_t column = columns[entry];
    for (int j = 0; j < Width; ++j) sums[j] += value * x.data[tall_index<XLayout>(column, j, x.ld)];
  }
  if (shift != Scalar(0)) {
    for (int j = 0; j < Width; ++j) sums[j] -= shift * x.data[tall_index<XLayout>(row, j, x.ld)];
  }
  for (int j = 0; j < Width; ++j) {
    Scalar& result = y.data[tall_index<YLayout>(row, j, y.ld)];
    result = beta == Scalar(0) ? alpha * sums[j] : alpha * sums[j] + beta * result;
  }
}

template <int Width, class XLayout, class YLayout, class Scalar>
void multiply_columns(int threads, const CompressedRows<Scalar>& a, Scalar alpha, Scalar shift,
                      TallPointer<const Scalar> x, Scalar beta, TallPointer<Scalar> y) {
  constexpr std::int64_t rows_per_item = 512;
  kernels::parallel_for(threads, (a.rows() + rows_per_item - 1) / rows_per_item, [&](std::int64_t item, int) {
    const std::int64_t end = std::min(a.rows(), (item + 1) * rows_per_item);
    for (std::int64_t row = item * rows_per_item; row < end; ++row) {
      // An empty row that only adds to Y leaves it as it is: most rows of a ghost part.
      if (beta == Scalar(1) && shift == Scalar(0) &&
          a.row_begin(static_cast<std::size_t>(row)) == a.row_begin(static_cast<std::size_t>(row + 1)))
        continue;
      multiply_row<Width, XLayout, YLayout>(a, row, alpha, shift, x, beta, y);
    }
  });
}

/// Wider blocks go in strips of 16, two cache lines of doubles; what is left takes one strip of its own width.
template <int Width, class XLayout, class YLayout, class Scalar>
void multiply_rest(std::int64_t width, int threads, const CompressedRows<Scalar>& a, Scalar alpha, Scalar shift,
                   TallPointer<const Scalar> x, Scalar beta, TallPointer<Scalar> y) {
  if constexpr (Width > 0) {
    if (width == Width) {
      multiply_columns<Width, XLayout, YLayout>(threads, a, alpha, shift, x, beta, y);
    } else {
      multiply_rest<Width - 1, XLayout, YLayout>(width, threads, a, alpha, shift, x, beta, y);
    }
  }
}

}  // namespace detail

/// Y = alpha (A - shift) X + beta Y for `width` columns, on the host with threads. beta = 0 never reads Y.
template <class XLayout, class YLayout, class Scalar>
void sparse_product(int threads, const CompressedRows<Scalar>& a, Scalar alpha, Scalar shift,
                    TallPointer<const Scalar> x, Scalar beta, TallPointer<Scalar> y, std::int64_t width) {
  constexpr int strip = 16;
  for (; width > strip; width -= strip) {
    detail::multiply_columns<strip, XLayout, YLayout>(threads, a, alpha, shift, x, beta, y);
    x.data += detail::tall_index<XLayout>(0, strip, x.ld);
    y.data += detail::tall_index<YLayout>(0, strip, y.ld);
  }
  detail::multiply_rest<strip, XLayout, YLayout>(width, threads, a, alpha, shift, x, beta, y);
}

}  // namespace blockvec::examples

#include "solvers/sparse/sparse_product.hpp"

#include <algorithm>
#include <blockvec/instantiate.hpp>
#include <blockvec/kernels/parallel.hpp>
#include <blockvec/layout.hpp>
#include <blockvec/scalar.hpp>
#include <type_traits>

namespace blockvec::solvers {
namespace {

template <class Scalar>
struct Problem {
  const std::size_t* row_begin;
  const int* columns;
  const Scalar* values;
  Scalar alpha, shift, beta;
  TallPointer<const Scalar> x;
  TallPointer<Scalar> y;
  std::int64_t width;
};

template <class Layout>
[[gnu::always_inline]] constexpr inline std::int64_t tall_index(std::int64_t row, std::int64_t column,
                                                                std::int64_t ld) {
  return std::is_same_v<Layout, RowMajor> ? row * ld + column : row + column * ld;
}

/// Columns that go together: their sums stay in registers. By rows two cache lines of doubles; by columns each is a
/// stream of its own, and more than a few of them cost more than they save.
template <class XLayout>
constexpr std::int64_t strip_width = std::is_same_v<XLayout, RowMajor> ? 16 : 4;

/// `width` columns of one row of Y, from `first` on.
template <std::int64_t width, class XLayout, class YLayout, class Scalar>
[[gnu::always_inline]] inline void multiply_row(const Problem<Scalar> problem, std::int64_t row, std::int64_t first) {
  const Scalar* const x = problem.x.data + tall_index<XLayout>(0, first, problem.x.ld);
  Scalar* const y = problem.y.data + tall_index<YLayout>(0, first, problem.y.ld);
  const std::int64_t x_ld = problem.x.ld, y_ld = problem.y.ld;
  const std::size_t row_end = problem.row_begin[row + 1];
  Scalar sums[width] = {};
  for (std::size_t entry = problem.row_begin[row]; entry < row_end; ++entry) {
    const Scalar value = problem.values[entry];
    const std::int64_t column = problem.columns[entry];
    for (int j = 0; j < width; ++j) sums[j] += value * x[tall_index<XLayout>(column, j, x_ld)];
  }
  if (problem.shift != Scalar(0)) {
    for (int j = 0; j < width; ++j) sums[j] -= problem.shift * x[tall_index<XLayout>(row, j, x_ld)];
  }
  if (problem.beta == Scalar(0)) {
    for (int j = 0; j < width; ++j) y[tall_index<YLayout>(row, j, y_ld)] = problem.alpha * sums[j];
  } else {
    for (int j = 0; j < width; ++j) {
      Scalar& result = y[tall_index<YLayout>(row, j, y_ld)];
      result = problem.alpha * sums[j] + problem.beta * result;
    }
  }
}

/// Rows [begin, end) of Y; `rest` columns follow the last whole strip. Inlined into functions that are compiled for
/// different processors.
template <std::int64_t rest, class XLayout, class YLayout, class Scalar>
[[gnu::always_inline]] inline void multiply_rows(const Problem<Scalar>& of, std::int64_t begin, std::int64_t end) {
  const Problem<Scalar> problem(of);  // a copy that nothing else can change
  constexpr std::int64_t strip = strip_width<XLayout>;
  const std::int64_t whole = problem.width - rest;
  const auto rows = [&](auto body) __attribute__((always_inline)) {
    // An empty row that only adds to Y leaves it as it is: most rows of a ghost part.
    const bool only_adds = problem.beta == Scalar(1) && problem.shift == Scalar(0);
    const std::size_t* const row_begin = problem.row_begin;
    for (std::int64_t row = begin; row < end; ++row) {
      if (!only_adds || row_begin[row] != row_begin[row + 1]) body(row);
    }
  };
  if constexpr (std::is_same_v<XLayout, RowMajor>) {
    // A row of X is read at once.
    rows([&](std::int64_t row) __attribute__((always_inline)) {
      for (std::int64_t j = 0; j < whole; j += strip) multiply_row<strip, XLayout, YLayout>(problem, row, j);
      if constexpr (rest > 0) multiply_row<rest, XLayout, YLayout>(problem, row, whole);
    });
  } else {
    for (std::int64_t j = 0; j < whole; j += strip) {
      rows([&](std::int64_t row)
               __attribute__((always_inline)) { multiply_row<strip, XLayout, YLayout>(problem, row, j); });
    }
    if constexpr (rest > 0) {
      rows([&](std::int64_t row)
               __attribute__((always_inline)) { multiply_row<rest, XLayout, YLayout>(problem, row, whole); });
    }
  }
}

#if defined(__x86_64__) && defined(__GNUC__)
template <std::int64_t rest, class XLayout, class YLayout, class Scalar>
[[gnu::target("avx2,fma")]] void multiply_rows_avx2(const Problem<Scalar>& problem, std::int64_t begin,
                                                    std::int64_t end) {
  multiply_rows<rest, XLayout, YLayout>(problem, begin, end);
}
#endif

template <std::int64_t rest, class XLayout, class YLayout, class Scalar>
void multiply_rows_anywhere(const Problem<Scalar>& problem, std::int64_t begin, std::int64_t end) {
  multiply_rows<rest, XLayout, YLayout>(problem, begin, end);
}

template <class Scalar>
using RowsFunction = void (*)(const Problem<Scalar>&, std::int64_t, std::int64_t);

/// The function for `width` columns, of which `rest` or fewer are no whole strip.
template <std::int64_t rest, class XLayout, class YLayout, class Scalar>
RowsFunction<Scalar> rows_function(std::int64_t width) {
  if constexpr (rest > 0) {
    if (width % strip_width<XLayout> != rest) return rows_function<rest - 1, XLayout, YLayout, Scalar>(width);
  }
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return &multiply_rows_avx2<rest, XLayout, YLayout, Scalar>;
#endif
  return &multiply_rows_anywhere<rest, XLayout, YLayout, Scalar>;
}

}  // namespace

template <class XLayout, class YLayout, class Scalar>
void sparse_product(int threads, const CompressedRows<Scalar>& a, Scalar alpha, Scalar shift,
                    TallPointer<const Scalar> x, Scalar beta, TallPointer<Scalar> y, std::int64_t width) {
  // By columns, rows of the matrix stay in the cache from strip to strip.
  constexpr std::int64_t rows_per_item = 512;
  const Problem<Scalar> problem{a.row_begin.data(), a.columns.data(), a.values.data(), alpha, shift, beta, x, y, width};
  const auto multiply = rows_function<strip_width<XLayout> - 1, XLayout, YLayout, Scalar>(width);
  kernels::parallel_for(threads, (a.rows() + rows_per_item - 1) / rows_per_item, [&](std::int64_t item, int) {
    multiply(problem, item * rows_per_item, std::min(a.rows(), (item + 1) * rows_per_item));
  });
}

#define BLOCKVEC_SPARSE_PRODUCT(Scalar, XLayout, YLayout)                                                \
  template void sparse_product<XLayout, YLayout>(int, const CompressedRows<Scalar>&, Scalar, Scalar,     \
                                                 TallPointer<const Scalar>, Scalar, TallPointer<Scalar>, \
                                                 std::int64_t);
#define BLOCKVEC_SPARSE_PRODUCTS(Scalar)                 \
  BLOCKVEC_SPARSE_PRODUCT(Scalar, RowMajor, RowMajor)    \
  BLOCKVEC_SPARSE_PRODUCT(Scalar, RowMajor, ColumnMajor) \
  BLOCKVEC_SPARSE_PRODUCT(Scalar, ColumnMajor, ColumnMajor)
BLOCKVEC_FOR_SCALARS(BLOCKVEC_SPARSE_PRODUCTS)

}  // namespace blockvec::solvers

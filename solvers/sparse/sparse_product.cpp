#include "solvers/sparse/sparse_product.hpp"

#include <algorithm>
#include <blockvec/instantiate.hpp>
#include <blockvec/kernels/parallel.hpp>
#include <blockvec/layout.hpp>
#include <type_traits>

#include "solvers/sparse/row_sums.hpp"

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
  RunningSum<Scalar> sum;
};

/// Columns that go together: their sums stay in registers. By rows two cache lines; by columns each is a stream of its
/// own, and more than a few of them cost more than they save.
template <class XLayout, class Scalar>
constexpr int strip_width = std::is_same_v<XLayout, ColumnMajor> ? 4
                            : ScalarTraits<Scalar>::is_complex   ? 8
                                                                 : 16;

/// `width` columns of one row of Y, from `first` on; all row-major.
template <int width, class Scalar>
[[gnu::always_inline]] inline void multiply_row(const Problem<Scalar>& problem, std::int64_t row, std::int64_t first) {
  const Scalar* const x = problem.x.data + first;
  const std::int64_t x_ld = problem.x.ld;
  const std::size_t row_end = problem.row_begin[row + 1];
  RowSums<Scalar, width> sums;
  for (std::size_t entry = problem.row_begin[row]; entry != row_end; ++entry) {
    sums.add(problem.values[entry], x + problem.columns[entry] * x_ld);
  }
  if (problem.shift != Scalar(0)) sums.add(-problem.shift, x + row * x_ld);
  sums.scale(problem.alpha);
  Scalar* const y = problem.y.data + row * problem.y.ld + first;
  if (problem.beta != Scalar(0)) sums.add(problem.beta, y);
  sums.store(y);
  if (problem.sum.to.data != nullptr) {
    Scalar* const sum = problem.sum.to.data + row * problem.sum.to.ld + first;
    sums.scale(problem.sum.weight);
    sums.add(Scalar(1), sum);
    sums.store(sum);
  }
}

/// The same with other layouts, without a running sum.
template <int width, class XLayout, class YLayout, class Scalar>
[[gnu::always_inline]] inline void multiply_strided_row(const Problem<Scalar>& problem, std::int64_t row,
                                                        std::int64_t first) {
  const auto index =
      []<class Layout>(Layout, std::int64_t i, std::int64_t j, std::int64_t ld) __attribute__((always_inline)) {
    return std::is_same_v<Layout, RowMajor> ? i * ld + j : i + j * ld;
  };
  const std::int64_t x_ld = problem.x.ld, y_ld = problem.y.ld;
  const Scalar* const x = problem.x.data + index(XLayout(), 0, first, x_ld);
  Scalar* const y = problem.y.data + index(YLayout(), row, first, y_ld);
  const std::size_t row_end = problem.row_begin[row + 1];
  Scalar sums[width] = {};
  for (std::size_t entry = problem.row_begin[row]; entry < row_end; ++entry) {
    const Scalar value = problem.values[entry];
    const std::int64_t column = problem.columns[entry];
    for (int j = 0; j < width; ++j) sums[j] += value * x[index(XLayout(), column, j, x_ld)];
  }
  if (problem.shift != Scalar(0)) {
    for (int j = 0; j < width; ++j) sums[j] -= problem.shift * x[index(XLayout(), row, j, x_ld)];
  }
  for (int j = 0; j < width; ++j) {
    Scalar& result = y[index(YLayout(), 0, j, y_ld)];
    result = problem.beta == Scalar(0) ? problem.alpha * sums[j] : problem.alpha * sums[j] + problem.beta * result;
  }
}

/// Rows [begin, end) of Y; `rest` columns follow the last whole strip. Inlined into functions that are compiled for
/// different processors.
template <int rest, class XLayout, class YLayout, class Scalar>
[[gnu::always_inline]] inline void multiply_rows(const Problem<Scalar>& of, std::int64_t begin, std::int64_t end) {
  const Problem<Scalar> problem(of);  // a copy that nothing else can change
  constexpr bool by_rows = std::is_same_v<XLayout, RowMajor>;
  constexpr int strip = strip_width<XLayout, Scalar>;
  const std::int64_t whole = problem.width - rest;
  const auto multiply = [&]<int width>(std::integral_constant<int, width>, std::int64_t row, std::int64_t first)
      __attribute__((always_inline)) {
    if constexpr (by_rows && std::is_same_v<YLayout, RowMajor>) {
      multiply_row<width>(problem, row, first);
    } else {
      multiply_strided_row<width, XLayout, YLayout>(problem, row, first);
    }
  };
  const auto rows = [&](auto body) __attribute__((always_inline)) {
    // An empty row that only adds to Y leaves it as it is: most rows of a ghost part.
    const bool only_adds = problem.beta == Scalar(1) && problem.shift == Scalar(0) && problem.sum.to.data == nullptr;
    const std::size_t* const row_begin = problem.row_begin;
    for (std::int64_t row = begin; row < end; ++row) {
      if (!only_adds || row_begin[row] != row_begin[row + 1]) body(row);
    }
  };
  const std::integral_constant<int, strip> whole_strip;
  const std::integral_constant<int, rest> last_strip;
  if constexpr (by_rows) {
    // A row of X is read at once.
    if (whole == 0 && rest > 0)
      return rows([&](std::int64_t row) __attribute__((always_inline)) { multiply(last_strip, row, 0); });
    rows([&](std::int64_t row) __attribute__((always_inline)) {
      for (std::int64_t j = 0; j < whole; j += strip) multiply(whole_strip, row, j);
      if constexpr (rest > 0) multiply(last_strip, row, whole);
    });
  } else {
    for (std::int64_t j = 0; j < whole; j += strip) {
      rows([&](std::int64_t row) __attribute__((always_inline)) { multiply(whole_strip, row, j); });
    }
    if constexpr (rest > 0)
      rows([&](std::int64_t row) __attribute__((always_inline)) { multiply(last_strip, row, whole); });
  }
}

#if defined(__x86_64__) && defined(__GNUC__)
template <int rest, class XLayout, class YLayout, class Scalar>
[[gnu::target("avx2,fma")]] void multiply_rows_avx2(const Problem<Scalar>& problem, std::int64_t begin,
                                                    std::int64_t end) {
  multiply_rows<rest, XLayout, YLayout>(problem, begin, end);
}
#endif

template <int rest, class XLayout, class YLayout, class Scalar>
void multiply_rows_anywhere(const Problem<Scalar>& problem, std::int64_t begin, std::int64_t end) {
  multiply_rows<rest, XLayout, YLayout>(problem, begin, end);
}

template <class Scalar>
using RowsFunction = void (*)(const Problem<Scalar>&, std::int64_t, std::int64_t);

/// The function for `width` columns, of which `rest` or fewer are no whole strip.
template <int rest, class XLayout, class YLayout, class Scalar>
RowsFunction<Scalar> rows_function(std::int64_t width) {
  if constexpr (rest > 0) {
    if (width % strip_width<XLayout, Scalar> != rest) return rows_function<rest - 1, XLayout, YLayout, Scalar>(width);
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
                    TallPointer<const Scalar> x, Scalar beta, TallPointer<Scalar> y, std::int64_t width,
                    RunningSum<Scalar> sum) {
  const Problem<Scalar> problem{
      a.row_begin.data(), a.columns.data(), a.values.data(), alpha, shift, beta, x, y, width, sum};
  const auto multiply = rows_function<strip_width<XLayout, Scalar> - 1, XLayout, YLayout, Scalar>(width);
  // Pieces of equal work, of which a row has some beside its entries. By columns, rows of the matrix stay in the cache
  // from strip to strip. A piece with less work is not worth a thread of its own.
  constexpr std::int64_t row_work = 4, least_work = 2048, rows_per_piece = 512;
  const auto work = [&](std::int64_t row) { return static_cast<std::int64_t>(a.row_begin(row)) + row_work * row; };
  const std::int64_t all = work(a.rows()), most_threads = kernels::resolve_threads(threads);
  const auto team = static_cast<int>(std::min(most_threads, all * width / least_work + 1));
  const std::int64_t pieces = std::is_same_v<XLayout, RowMajor>
                                  ? team
                                  : team * ((a.rows() + team * rows_per_piece - 1) / (team * rows_per_piece));
  const auto begin_of = [&](std::int64_t piece) {
    const std::int64_t done = all * piece / pieces;
    std::int64_t first = 0, last = a.rows();
    while (first < last) {
      const std::int64_t middle = first + (last - first) / 2;
      work(middle) < done ? first = middle + 1 : last = middle;
    }
    return first;
  };
  kernels::parallel_for(team, pieces,
                        [&](std::int64_t piece, int) { multiply(problem, begin_of(piece), begin_of(piece + 1)); });
}

#define BLOCKVEC_SPARSE_PRODUCT(Scalar, XLayout, YLayout)                                                              \
  template void sparse_product<XLayout, YLayout>(int, const CompressedRows<Scalar>&, Scalar, Scalar,                   \
                                                 TallPointer<const Scalar>, Scalar, TallPointer<Scalar>, std::int64_t, \
                                                 RunningSum<Scalar>);
#define BLOCKVEC_SPARSE_PRODUCTS(Scalar)                 \
  BLOCKVEC_SPARSE_PRODUCT(Scalar, RowMajor, RowMajor)    \
  BLOCKVEC_SPARSE_PRODUCT(Scalar, RowMajor, ColumnMajor) \
  BLOCKVEC_SPARSE_PRODUCT(Scalar, ColumnMajor, ColumnMajor)
BLOCKVEC_FOR_SCALARS(BLOCKVEC_SPARSE_PRODUCTS)

}  // namespace blockvec::solvers

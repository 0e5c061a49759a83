#include "solvers/sparse/sparse_product.hpp"

#include <algorithm>
#include <blockvec/kernels/parallel.hpp>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "solvers/sparse/row_sums.hpp"

namespace blockvec::solvers {
namespace {

using kernels::Layout;

template <class T>
struct Problem {
  kernels::CsrMatrix<T, std::size_t> a;
  T alpha, shift, beta;
  kernels::Matrix<const T> x;
  kernels::Matrix<T> y;
  RunningSum<T> sum;
};

/// Columns that go together: their sums stay in registers. By rows two cache lines; by columns each is a stream of its
/// own, and more than a few of them cost more than they save.
template <Layout x_layout, class T>
constexpr int strip_width = x_layout == Layout::column_major                                                    ? 4
                            : std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>> ? 8
                                                                                                                : 16;

/// `width` columns of one row of Y, from `first` on; all row-major.
template <int width, class T>
[[gnu::always_inline]] inline void multiply_row(const Problem<T>& problem, std::int64_t row, std::int64_t first) {
  const T* const x = problem.x.data + first;
  const std::int64_t x_ld = problem.x.ld;
  const std::size_t row_end = problem.a.row_begin[row + 1];
  RowSums<T, width> sums;
  std::size_t entry = problem.a.row_begin[row];
  const auto add_to = [&](RowSums<T, width> & to, std::size_t i) __attribute__((always_inline)) {
    to.add(problem.a.value[i], x + problem.a.column[i] * x_ld);
  };
  // A sum waits for its last product. Where there are few columns, a long row is two sums.
  constexpr std::size_t cache_line = 64, long_row = 12;
  if (width * sizeof(T) <= cache_line && row_end - entry >= long_row) {
    RowSums<T, width> others;
#pragma GCC unroll 4
    for (; entry + 1 < row_end; entry += 2) {
      add_to(sums, entry);
      add_to(others, entry + 1);
    }
    sums.add(others);
  }
#pragma GCC unroll 4
  for (; entry != row_end; ++entry) add_to(sums, entry);
  if (problem.shift != T(0)) sums.add(-problem.shift, x + row * x_ld);
  sums.scale(problem.alpha);
  T* const y = problem.y.data + row * problem.y.ld + first;
  if (problem.beta != T(0)) sums.add(problem.beta, y);
  sums.store(y);
  if (problem.sum.to.data != nullptr) {
    T* const sum = problem.sum.to.data + row * problem.sum.to.ld + first;
    sums.scale(problem.sum.weight);
    sums.add(T(1), sum);
    sums.store(sum);
  }
}

template <Layout layout>
[[gnu::always_inline]] constexpr inline std::int64_t tall_index(std::int64_t row, std::int64_t column,
                                                                std::int64_t ld) {
  return layout == Layout::row_major ? row * ld + column : row + column * ld;
}

/// The same with other layouts, without a running sum.
template <int width, Layout x_layout, Layout y_layout, class T>
[[gnu::always_inline]] inline void multiply_strided_row(const Problem<T>& problem, std::int64_t row,
                                                        std::int64_t first) {
  const std::int64_t x_ld = problem.x.ld, y_ld = problem.y.ld;
  const T* const x = problem.x.data + tall_index<x_layout>(0, first, x_ld);
  T* const y = problem.y.data + tall_index<y_layout>(row, first, y_ld);
  const std::size_t row_end = problem.a.row_begin[row + 1];
  T sums[width] = {};
  for (std::size_t entry = problem.a.row_begin[row]; entry < row_end; ++entry) {
    const T value = problem.a.value[entry];
    const std::int64_t column = problem.a.column[entry];
    for (int j = 0; j < width; ++j) sums[j] += value * x[tall_index<x_layout>(column, j, x_ld)];
  }
  if (problem.shift != T(0)) {
    for (int j = 0; j < width; ++j) sums[j] -= problem.shift * x[tall_index<x_layout>(row, j, x_ld)];
  }
  for (int j = 0; j < width; ++j) {
    T& result = y[tall_index<y_layout>(0, j, y_ld)];
    result = problem.beta == T(0) ? problem.alpha * sums[j] : problem.alpha * sums[j] + problem.beta * result;
  }
}

/// Rows [begin, end) of Y; `rest` columns follow the last whole strip. Inlined into functions that are compiled for
/// different processors.
template <int rest, Layout x_layout, Layout y_layout, class T>
[[gnu::always_inline]] inline void multiply_rows(const Problem<T>& of, std::int64_t begin, std::int64_t end) {
  const Problem<T> problem(of);  // a copy that nothing else can change
  constexpr bool by_rows = x_layout == Layout::row_major;
  constexpr int strip = strip_width<x_layout, T>;
  const std::int64_t whole = problem.y.columns - rest;
  const auto multiply = [&]<int width>(std::integral_constant<int, width>, std::int64_t row, std::int64_t first)
      __attribute__((always_inline)) {
    if constexpr (by_rows && y_layout == Layout::row_major) {
      multiply_row<width>(problem, row, first);
    } else {
      multiply_strided_row<width, x_layout, y_layout>(problem, row, first);
    }
  };
  const auto rows = [&](auto body) __attribute__((always_inline)) {
    // An empty row that only adds to Y leaves it as it is: most rows of a ghost part.
    const bool only_adds = problem.beta == T(1) && problem.shift == T(0) && problem.sum.to.data == nullptr;
    const std::size_t* const row_begin = problem.a.row_begin;
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
template <int rest, Layout x_layout, Layout y_layout, class T>
[[gnu::target("avx2,fma")]] void multiply_rows_avx2(const Problem<T>& problem, std::int64_t begin, std::int64_t end) {
  multiply_rows<rest, x_layout, y_layout>(problem, begin, end);
}
#endif

template <int rest, Layout x_layout, Layout y_layout, class T>
void multiply_rows_anywhere(const Problem<T>& problem, std::int64_t begin, std::int64_t end) {
  multiply_rows<rest, x_layout, y_layout>(problem, begin, end);
}

template <class T>
using RowsFunction = void (*)(const Problem<T>&, std::int64_t, std::int64_t);

/// The function for `width` columns, of which `rest` or fewer are no whole strip.
template <int rest, Layout x_layout, Layout y_layout, class T>
RowsFunction<T> rows_function(std::int64_t width) {
  if constexpr (rest > 0) {
    if (width % strip_width<x_layout, T> != rest) return rows_function<rest - 1, x_layout, y_layout, T>(width);
  }
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return &multiply_rows_avx2<rest, x_layout, y_layout, T>;
#endif
  return &multiply_rows_anywhere<rest, x_layout, y_layout, T>;
}

template <Layout x_layout, Layout y_layout, class T>
void multiply(int threads, const Problem<T>& problem) {
  const kernels::CsrMatrix<T, std::size_t>& a = problem.a;
  const auto multiply_some = rows_function<strip_width<x_layout, T> - 1, x_layout, y_layout, T>(problem.y.columns);
  // Shares of equal work, of which a row has some beside its entries. Less work is not worth a thread of its own. By
  // columns, a share goes in pieces: rows of the matrix stay in the cache from strip to strip.
  constexpr std::int64_t row_work = 4, least_work = 2048, rows_per_piece = 512;
  const auto work = [&](std::int64_t row) { return static_cast<std::int64_t>(a.row_begin[row]) + row_work * row; };
  const std::int64_t all = a.rows == 0 ? 0 : work(a.rows), most_threads = kernels::resolve_threads(threads);
  const std::int64_t shares = std::min(most_threads, all * problem.y.columns / least_work + 1);
  const std::int64_t rows_of_pieces = shares * rows_per_piece;
  const std::int64_t pieces =
      x_layout == Layout::row_major ? 1 : (a.rows + rows_of_pieces - 1) / rows_of_pieces;  // of a share
  const auto begin_of = [&](std::int64_t piece) {
    const std::int64_t done = all * piece / (shares * pieces);
    std::int64_t first = 0, last = a.rows;
    while (first < last) {
      const std::int64_t middle = first + (last - first) / 2;
      work(middle) < done ? first = middle + 1 : last = middle;
    }
    return first;
  };
  kernels::parallel_for(threads, shares, [&](std::int64_t share, int) {
    for (std::int64_t piece = share * pieces; piece < (share + 1) * pieces; ++piece)
      multiply_some(problem, begin_of(piece), begin_of(piece + 1));
  });
}

}  // namespace

template <class T>
void sparse_product(int threads, const kernels::CsrMatrix<T, std::size_t>& a, T alpha, T shift,
                    const kernels::Matrix<const T>& x, T beta, const kernels::Matrix<T>& y, const RunningSum<T>& sum) {
  const Problem<T> problem{a, alpha, shift, beta, x, y, sum};
  if (x.layout == Layout::column_major) {
    multiply<Layout::column_major, Layout::column_major>(threads, problem);
  } else if (y.layout == Layout::column_major) {
    multiply<Layout::row_major, Layout::column_major>(threads, problem);
  } else {
    multiply<Layout::row_major, Layout::row_major>(threads, problem);
  }
}

#define BLOCKVEC_SPARSE_PRODUCT(T)                                                                                    \
  template void sparse_product(int, const kernels::CsrMatrix<T, std::size_t>&, T, T, const kernels::Matrix<const T>&, \
                               T, const kernels::Matrix<T>&, const RunningSum<T>&);
BLOCKVEC_SPARSE_PRODUCT(float)
BLOCKVEC_SPARSE_PRODUCT(double)
BLOCKVEC_SPARSE_PRODUCT(std::complex<float>)
BLOCKVEC_SPARSE_PRODUCT(std::complex<double>)

}  // namespace blockvec::solvers

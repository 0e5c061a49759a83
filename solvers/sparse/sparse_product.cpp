#include "solvers/sparse/sparse_product.hpp"

#include <algorithm>
#include <blockvec/instantiate.hpp>
#include <blockvec/kernels/parallel.hpp>
#include <blockvec/scalar.hpp>
#include <type_traits>

namespace blockvec::solvers {
namespace {

template <class Scalar>
struct Problem {
  const CompressedRows<Scalar>& a;
  Scalar alpha, shift, beta;
  TallPointer<const Scalar> x;
  TallPointer<Scalar> y;
};

template <class Layout>
[[gnu::always_inline]] constexpr inline std::int64_t tall_index(std::int64_t row, std::int64_t column,
                                                                std::int64_t ld) {
  return std::is_same_v<Layout, RowMajor> ? row * ld + column : row + column * ld;
}

/// `Width` columns of the rows [begin, end): the sums of a row stay in registers. Inlined into functions that are
/// compiled for different processors.
template <int Width, class XLayout, class YLayout, class Scalar>
[[gnu::always_inline]] inline void multiply_rows(const Problem<Scalar>& problem, std::int64_t begin, std::int64_t end) {
  const std::size_t* const row_begin = problem.a.row_begin.data();
  const int* const columns = problem.a.columns.data();
  const Scalar* const values = problem.a.values.data();
  const auto [x, x_ld] = problem.x;
  const auto [y, y_ld] = problem.y;
  const Scalar alpha = problem.alpha;
  const Scalar shift = problem.shift;
  const Scalar beta = problem.beta;
  const bool only_adds = beta == Scalar(1) && shift == Scalar(0);
  for (std::int64_t row = begin; row < end; ++row) {
    const std::size_t row_end = row_begin[row + 1];
    // An empty row that only adds to Y leaves it as it is: most rows of a ghost part.
    if (only_adds && row_begin[row] == row_end) continue;
    Scalar sums[Width] = {};
    for (std::size_t entry = row_begin[row]; entry < row_end; ++entry) {
      const Scalar value = values[entry];
      const std::int64_t column = columns[entry];
      for (int j = 0; j < Width; ++j) sums[j] += value * x[tall_index<XLayout>(column, j, x_ld)];
    }
    if (shift != Scalar(0)) {
      for (int j = 0; j < Width; ++j) sums[j] -= shift * x[tall_index<XLayout>(row, j, x_ld)];
    }
    if (beta == Scalar(0)) {
      for (int j = 0; j < Width; ++j) y[tall_index<YLayout>(row, j, y_ld)] = alpha * sums[j];
    } else {
      for (int j = 0; j < Width; ++j) {
        Scalar& result = y[tall_index<YLayout>(row, j, y_ld)];
        result = alpha * sums[j] + beta * result;
      }
    }
  }
}

#if defined(__x86_64__) && defined(__GNUC__)
template <int Width, class XLayout, class YLayout, class Scalar>
[[gnu::target("avx2,fma")]] void multiply_rows_avx2(const Problem<Scalar>& problem, std::int64_t begin,
                                                    std::int64_t end) {
  multiply_rows<Width, XLayout, YLayout>(problem, begin, end);
}
#endif

template <int Width, class XLayout, class YLayout, class Scalar>
void multiply_rows_anywhere(const Problem<Scalar>& problem, std::int64_t begin, std::int64_t end) {
  multiply_rows<Width, XLayout, YLayout>(problem, begin, end);
}

template <int Width, class XLayout, class YLayout, class Scalar>
auto choose_rows_function() {
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return &multiply_rows_avx2<Width, XLayout, YLayout, Scalar>;
#endif
  return &multiply_rows_anywhere<Width, XLayout, YLayout, Scalar>;
}

template <int Width, class XLayout, class YLayout, class Scalar>
void multiply_columns(int threads, const Problem<Scalar>& problem) {
  constexpr std::int64_t rows_per_item = 512;
  static const auto multiply = choose_rows_function<Width, XLayout, YLayout, Scalar>();
  const std::int64_t rows = problem.a.rows();
  kernels::parallel_for(threads, (rows + rows_per_item - 1) / rows_per_item, [&](std::int64_t item, int) {
    multiply(problem, item * rows_per_item, std::min(rows, (item + 1) * rows_per_item));
  });
}

template <int Width, class XLayout, class YLayout, class Scalar>
void multiply_rest(std::int64_t width, int threads, const Problem<Scalar>& problem) {
  if constexpr (Width > 0) {
    if (width == Width) {
      multiply_columns<Width, XLayout, YLayout>(threads, problem);
    } else {
      multiply_rest<Width - 1, XLayout, YLayout>(width, threads, problem);
    }
  }
}

}  // namespace

template <class XLayout, class YLayout, class Scalar>
void sparse_product(int threads, const CompressedRows<Scalar>& a, Scalar alpha, Scalar shift,
                    TallPointer<const Scalar> x, Scalar beta, TallPointer<Scalar> y, std::int64_t width) {
  // Wider blocks go in strips of 16, two cache lines of doubles; what is left takes one strip of its own width.
  constexpr int strip = 16;
  Problem<Scalar> problem{a, alpha, shift, beta, x, y};
  for (; width > strip; width -= strip) {
    multiply_columns<strip, XLayout, YLayout>(threads, problem);
    problem.x.data += tall_index<XLayout>(0, strip, x.ld);
    problem.y.data += tall_index<YLayout>(0, strip, y.ld);
  }
  multiply_rest<strip, XLayout, YLayout>(width, threads, problem);
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

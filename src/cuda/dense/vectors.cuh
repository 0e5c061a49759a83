#pragma once

#include "src/cuda/dense/pieces.cuh"
#include "src/cuda/operands/matrix.cuh"

/// X and Y of dense products: X is packed before the product, in double precision and in the order in which tensor
/// cores take it, with zeros around it; Y is made of partial sums after it.
///
/// The product is one of real matrices. Where the depth runs along lines, a complex matrix of real and imaginary parts
/// side by side takes an X of two rows a scalar, (re, im) and (-im, re): the product is complex. Where results run
/// along lines, X is taken as real columns, and rows of real and imaginary parts of A come apart: the sum joins them.
namespace blockvec::kernels::cuda {

inline constexpr int vector_threads = 256;

template <class Real>
struct PackedX {
  const Real* x;
  std::int64_t row_stride, column_stride;  ///< between scalars
  std::int64_t rows;                       ///< of scalars
  int columns, parts;                      ///< columns of scalars
  bool by_lines;                           ///< the depth runs along lines
  bool conjugate;                          ///< of A; by lines
  int tiles_n;
  double* to;
  std::int64_t count;  ///< packed numbers

  /// Row `k` and column `c` of the real X.
  __device__ double entry(std::int64_t k, int c) const {
    const std::int64_t row = by_lines ? k / parts : k;
    const int column = c / parts, part = c % parts;
    if (row >= rows || column >= columns) return 0;
    const Real* const at = x + row * row_stride + column * column_stride;
    if (!by_lines || k % parts == 0) return at[part];
    // i times the number, or -i times it
    const double other = at[1 - part];
    return (part == 0) == conjugate ? other : -other;
  }
};

template <class Real>
__device__ inline void pack(const PackedX<Real>& p, std::int64_t i) {
  const int in_lane = static_cast<int>(i % 2), lane = static_cast<int>(i / 2 % warp_size);
  const int half = static_cast<int>(i / (2 * warp_size) % 2);
  const std::int64_t factor = i / (4 * warp_size);
  const std::int64_t sixteen = factor / p.tiles_n;
  const int j = 2 * half + in_lane, g = lane / 4, q = lane % 4;
  const int step = static_cast<int>(sixteen % piece_tiles<Real>);
  const std::int64_t k =
      p.by_lines ? sixteen / piece_tiles<Real> * piece<Real> + depth_by_lines<Real>(step, q, j)
                 : 16 * sixteen + depth_by_numbers(0, q, j);
  p.to[i] = p.entry(k, static_cast<int>(factor % p.tiles_n) * 8 + g);
}

/// Packs X for one or two products.
template <class Real>
struct PackedXs {
  PackedX<Real> of[2];
  int count;
};
template <class Real>
__global__ void __launch_bounds__(vector_threads) pack_kernel(const __grid_constant__ PackedXs<Real> p) {
  await_previous_kernel();
  release_next_kernel();
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * vector_threads + static_cast<int>(threadIdx.x);
  if (i < p.of[0].count) return pack(p.of[0], i);
  i -= p.of[0].count;
  if (p.count > 1 && i < p.of[1].count) pack(p.of[1], i);
}

/// Y = alpha (sums) + beta Y.
template <class Real>
struct DenseResult {
  Real* y;
  std::int64_t row_stride, column_stride;  ///< real numbers between scalars
  std::int64_t rows;
  int columns, parts;  ///< columns of scalars
  bool rows_first;     ///< threads that follow one another have columns of one row
  bool multiplies;     ///< alpha is not zero
  Factor alpha, beta;
};

/// The complex number of sums of its parts: A's real part times (re, im) of X, and its imaginary part times them.
__device__ inline Factor joined(const Factor& real_part, const Factor& imaginary_part, bool conjugate) {
  const double sign = conjugate ? -1 : 1;
  return {real_part.re - sign * imaginary_part.im, real_part.im + sign * imaginary_part.re};
}

/// Two neighbouring sums of a row, or one.
__device__ inline void add(Factor& to, const double* from, int parts) {
  to.re += from[0];
  if (parts == 2) to.im += from[1];
}

template <class Real>
struct GemmSum {
  DenseResult<Real> result;
  const double* partial;
  std::int64_t units, steps, blocks;
  int pitch;       ///< columns of partial sums
  bool by_lines;   ///< complex products are whole
  bool conjugate;  ///< of A; where they are not

  __device__ Factor row(std::int64_t i, int j) const {
    const std::int64_t tile = i / dispatch::gemm_rows;
    const std::int64_t first = dispatch::block_of_unit(units, blocks, tile * steps);
    const std::int64_t last = dispatch::block_of_unit(units, blocks, (tile + 1) * steps - 1);
    constexpr std::int64_t rows = dispatch::gemm_rows;
    const double* at = partial + ((first + tile) * rows + i % rows) * pitch + result.parts * j;
    Factor sum{};
#pragma unroll 4
    for (std::int64_t block = first; block <= last; ++block, at += rows * pitch) add(sum, at, result.parts);
    return sum;
  }
  __device__ Factor operator()(std::int64_t i, int j) const {
    if (result.parts == 1 || by_lines) return row(i, j);
    return joined(row(2 * i, j), row(2 * i + 1, j), conjugate);
  }
};

template <class Real>
struct HemmSum {
  DenseResult<Real> result;
  const double* strip_sums;
  const double* panel_sums;
  dispatch::HemmUnits units;
  std::int64_t blocks;
  int pitch;
  bool conjugate;  ///< A is the conjugate of what its lines hold

  __device__ Factor panel_row(std::int64_t panel, std::int64_t number, int j) const {
    const std::int64_t all = units.count();
    const std::int64_t first = dispatch::block_of_unit(all, blocks, units.before(panel));
    const std::int64_t last = dispatch::block_of_unit(all, blocks, units.before(panel + 1) - 1);
    const double* at =
        panel_sums + ((first + panel) * dispatch::hemm_panel + number) * pitch + result.parts * j;
    Factor sum{};
#pragma unroll 4
    for (std::int64_t block = first; block <= last; ++block, at += dispatch::hemm_panel * pitch) {
      add(sum, at, result.parts);
    }
    return sum;
  }
  __device__ Factor operator()(std::int64_t i, int j) const {
    const std::int64_t own = result.parts * i / dispatch::hemm_panel;
    const std::int64_t strip = i / dispatch::hemm_lines;
    const std::int64_t begin = units.lower ? 0 : own, end = units.lower ? own + 1 : units.panels;
    Factor sum{};
#pragma unroll 4
    for (std::int64_t panel = begin; panel < end; ++panel) {
      const std::int64_t unit = units.before(panel) + strip - units.first_strip(panel);
      add(sum, strip_sums + (unit * dispatch::hemm_lines + i % dispatch::hemm_lines) * pitch + result.parts * j,
          result.parts);
    }
    const std::int64_t number = result.parts * i % dispatch::hemm_panel;
    const Factor of_panel = result.parts == 1
                                ? panel_row(own, number, j)
                                : joined(panel_row(own, number, j), panel_row(own, number + 1, j), !conjugate);
    sum.re += of_panel.re;
    sum.im += of_panel.im;
    return sum;
  }
};

template <class Sum>
__global__ void __launch_bounds__(vector_threads) dense_sum_kernel(const __grid_constant__ Sum sum) {
  release_next_kernel();
  const auto& p = sum.result;
  const std::int64_t entry = static_cast<std::int64_t>(blockIdx.x) * vector_threads + static_cast<int>(threadIdx.x);
  const std::int64_t i = p.rows_first ? entry / p.columns : entry % p.rows;
  const int j = static_cast<int>(p.rows_first ? entry % p.columns : entry / p.rows);
  await_previous_kernel();
  if (i >= p.rows || j >= p.columns) return;
  Factor value{};
  if (p.multiplies) value = scale(p.alpha, sum(i, j));
  auto* const y = p.y + i * p.row_stride + j * p.column_stride;
  if (!p.beta.is_zero()) {
    const Factor old = scale(p.beta, {static_cast<double>(y[0]), p.parts == 2 ? static_cast<double>(y[1]) : 0.0});
    value.re += old.re;
    value.im += old.im;
  }
  using Real = std::remove_reference_t<decltype(y[0])>;
  y[0] = static_cast<Real>(value.re);
  if (p.parts == 2) y[1] = static_cast<Real>(value.im);
}

}  // namespace blockvec::kernels::cuda

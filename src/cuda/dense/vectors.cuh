#pragma once

#include "src/cuda/dense/pieces.cuh"
#include "src/cuda/operands/matrix.cuh"

/// X and Y of dense products: X is packed before the product, in double precision and in the order in which tensor
/// cores take it, with zeros around it (hemm's computing warps read it themselves where it stays in their registers);
/// Y is made of partial sums after it.
///
/// The product is one of real matrices. Where the depth runs along lines, a complex matrix of real and imaginary parts
/// side by side takes an X of two rows a scalar, (re, im) and (-im, re): the product is complex. Where results run
/// along lines, X is taken as real columns, and rows of real and imaginary parts of A come apart: the sum joins them.
namespace blockvec::kernels::cuda {

inline constexpr int vector_threads = 256;
inline constexpr int sum_rows = dispatch::hemm_lines;
inline constexpr int max_sum_groups = 8;
static_assert(dispatch::gemm_rows % (2 * sum_rows) == 0);  // all rows of a thread block are of one tile

/// A block vector of `rows` x `columns` scalars, `parts` real numbers each, which the strides count.
template <class Number>
struct DenseBlock {
  Number* data;
  std::int64_t row_stride, column_stride;
  std::int64_t rows;
  int columns, parts;

  __device__ Number* at(std::int64_t row, int column) const { return data + row * row_stride + column * column_stride; }
};

template <class Real>
struct DenseX {
  DenseBlock<const Real> x;
  bool conjugate;  ///< of A; where the depth runs along lines

  /// Row `k` and column `c` of the real X. No branch: loads that follow one another do not wait for one another.
  __device__ double entry(bool by_lines, std::int64_t k, int c) const {
    const int complex = x.parts - 1;
    const std::int64_t row = by_lines ? k >> complex : k;
    const int column = c >> complex, part = c & complex;
    const int other = by_lines ? static_cast<int>(k) & complex : 0;  // 1: of i times the number, or of -i times it
    const bool is_inside = row < x.rows && column < x.columns;
    const double number = is_inside ? x.at(row, column)[part ^ other] : 0;
    return other != 0 && (part == 0) != conjugate ? -number : number;
  }
};

/// X as right factors of 16 x 8: [16 terms][tile of 8 columns] of read_right.
template <class Real>
struct PackedX {
  DenseX<Real> x;
  bool by_lines;  ///< the depth runs along lines
  int tiles_n;
  double* to;
  std::int64_t count;  ///< packed numbers
};

template <class Real>
__global__ void __launch_bounds__(vector_threads) pack_kernel(const __grid_constant__ PackedX<Real> p) {
  await_previous_kernel();
  release_next_kernel();
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * vector_threads + static_cast<int>(threadIdx.x);
  if (i >= p.count) return;
  const int in_lane = static_cast<int>(i % 2), lane = static_cast<int>(i / 2 % warp_size);
  const int half = static_cast<int>(i / (2 * warp_size) % 2);
  const std::int64_t factor = i / (4 * warp_size);
  const std::int64_t sixteen = factor / p.tiles_n;
  const int j = 2 * half + in_lane, g = lane / 4, q = lane % 4;
  const int step = static_cast<int>(sixteen % piece_tiles<Real>);
  const std::int64_t k = p.by_lines ? sixteen / piece_tiles<Real> * piece<Real> + depth_by_lines<Real>(step, q, j)
                                    : 16 * sixteen + depth_by_numbers(0, q, j);
  p.to[i] = p.x.entry(p.by_lines, k, static_cast<int>(factor % p.tiles_n) * 8 + g);
}

/// Y = alpha (sums) + beta Y.
template <class Real>
struct DenseResult {
  DenseBlock<Real> y;
  bool rows_first;  ///< threads that follow one another have columns of one row
  bool multiplies;  ///< alpha is not zero
  Factor alpha, beta;

  /// Row i and column j of Y become `value` + beta Y.
  __device__ void store(std::int64_t i, int j, Factor value) const {
    Real* const at = y.at(i, j);
    if (!beta.is_zero()) {
      const Factor old = scale(beta, {static_cast<double>(at[0]), y.parts == 2 ? static_cast<double>(at[1]) : 0.0});
      value.re += old.re;
      value.im += old.im;
    }
    at[0] = static_cast<Real>(value.re);
    if (y.parts == 2) at[1] = static_cast<Real>(value.im);
  }
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

/// The sets, one behind the other, that have a term of a sum.
struct SumTerms {
  std::int64_t first, count;
};
/// The sets of thread blocks that have units from `begin` to before `end`.
__device__ inline SumTerms sets_of(std::int64_t units, std::int64_t blocks, std::int64_t begin, std::int64_t end) {
  const std::int64_t first = dispatch::block_of_unit(units, blocks, begin);
  return {first, dispatch::block_of_unit(units, blocks, end - 1) - first + 1};
}

/// Sums of gemm. As those of hemm they tell where the terms of `sum_rows` rows of scalars stand (terms), and add terms
/// `group`, `group` + `groups` and so on of an entry (share).
template <class Real>
struct GemmSum {
  using Terms = SumTerms;
  static constexpr int most_entries = 256;
  DenseResult<Real> result;
  const double* partial;
  std::int64_t units, steps, blocks;
  int pitch;       ///< columns of partial sums
  bool by_lines;   ///< complex products are whole
  bool conjugate;  ///< of A; where they are not

  __device__ bool is_whole() const { return result.y.parts == 1 || by_lines; }
  __device__ Terms terms(std::int64_t row) const {
    const std::int64_t tile = (is_whole() ? row : 2 * row) / dispatch::gemm_rows;
    Terms sets = sets_of(units, blocks, tile * steps, (tile + 1) * steps);
    sets.first += tile;
    return sets;
  }
  __device__ Factor row(const Terms& sets, std::int64_t i, int j, int group, int groups) const {
    constexpr int rows = dispatch::gemm_rows;
    const double* const at = partial + (sets.first * rows + i % rows) * pitch + result.y.parts * j;
    Factor sum{};
#pragma unroll 4
    for (std::int64_t k = group; k < sets.count; k += groups) add(sum, at + k * rows * pitch, result.y.parts);
    return sum;
  }
  __device__ Factor share(const Terms& sets, std::int64_t i, int j, int group, int groups) const {
    if (is_whole()) return row(sets, i, j, group, groups);
    return joined(row(sets, 2 * i, j, group, groups), row(sets, 2 * i + 1, j, group, groups), conjugate);
  }
};

template <class Real>
struct HemmSum {
  static constexpr int most_entries = 64;
  struct Terms {
    std::int64_t strip;
    SumTerms panels;  ///< that have sums of S X for the strip
    SumTerms sets;    ///< of S^H X for its numbers
  };
  DenseResult<Real> result;
  const double* strip_sums;
  const double* panel_sums;
  dispatch::HemmUnits units;
  std::int64_t blocks;
  int pitch;
  bool conjugate;  ///< A is the conjugate of what its lines hold

  __device__ Terms terms(std::int64_t row) const {
    const std::int64_t own = result.y.parts * row / dispatch::hemm_panel;
    SumTerms sets = sets_of(units.count(), blocks, units.before(own), units.before(own + 1));
    sets.first += own;
    const SumTerms panels = units.lower ? SumTerms{0, own + 1} : SumTerms{own, units.panels - own};
    return {row / dispatch::hemm_lines, panels, sets};
  }
  __device__ Factor panel_row(const SumTerms& sets, std::int64_t number, int j, int group, int groups) const {
    constexpr int numbers = dispatch::hemm_panel;
    const double* const at = panel_sums + (sets.first * numbers + number) * pitch + result.y.parts * j;
    Factor sum{};
#pragma unroll 4
    for (std::int64_t k = group; k < sets.count; k += groups) add(sum, at + k * numbers * pitch, result.y.parts);
    return sum;
  }
  __device__ Factor share(const Terms& terms, std::int64_t i, int j, int group, int groups) const {
    const double* const at = strip_sums + (i % dispatch::hemm_lines) * pitch + result.y.parts * j;
    Factor sum{};
#pragma unroll 4
    for (std::int64_t k = group; k < terms.panels.count; k += groups) {
      const std::int64_t panel = terms.panels.first + k;
      const std::int64_t unit = units.before(panel) + terms.strip - units.first_strip(panel);
      add(sum, at + unit * dispatch::hemm_lines * pitch, result.y.parts);
    }
    const std::int64_t number = result.y.parts * i % dispatch::hemm_panel;
    Factor of_panel = panel_row(terms.sets, number, j, group, groups);
    if (result.y.parts == 2)
      of_panel = joined(of_panel, panel_row(terms.sets, number + 1, j, group, groups), !conjugate);
    sum.re += of_panel.re;
    sum.im += of_panel.im;
    return sum;
  }
};

/// A thread block has entries of sum_rows rows, as many as Sum::most_entries. Groups of threads share the terms of each
/// entry, and the first group adds the shares, always in the same order.
template <class Sum>
__global__ void __launch_bounds__(vector_threads) dense_sum_kernel(const __grid_constant__ Sum sum) {
  __shared__ typename Sum::Terms terms;
  __shared__ Factor shares[vector_threads];
  release_next_kernel();
  const auto& p = sum.result;
  const int all = sum_rows * p.y.columns, together = min(all, Sum::most_entries);
  const int slices = (all + together - 1) / together, slice = static_cast<int>(blockIdx.x) % slices;
  const int groups = min(vector_threads / together, max_sum_groups);
  const int thread = static_cast<int>(threadIdx.x), group = thread / together;
  const int entry = slice * together + thread % together;
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x / slices) * sum_rows;
  const std::int64_t i = first_row + (p.rows_first ? entry / p.y.columns : entry % sum_rows);
  const int j = p.rows_first ? entry % p.y.columns : entry / sum_rows;
  const bool is_inside = group < groups && entry < all && i < p.y.rows;
  if (thread == 0 && p.multiplies) terms = sum.terms(first_row);
  __syncthreads();
  await_previous_kernel();
  Factor value{};
  if (is_inside && p.multiplies) value = sum.share(terms, i, j, group, groups);
  shares[thread] = value;
  __syncthreads();
  if (!is_inside || group != 0) return;
  for (int k = 1; k < groups; ++k) {
    value.re += shares[thread + k * together].re;
    value.im += shares[thread + k * together].im;
  }
  p.store(i, j, p.multiplies ? scale(p.alpha, value) : value);
}

}  // namespace blockvec::kernels::cuda

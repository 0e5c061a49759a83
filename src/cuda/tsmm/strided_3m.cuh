#pragma once

#include "src/cuda/tsmm/strided.cuh"

/// tsmm in complex double precision for wide operands by the 3M method: three real products instead of four (Gauss).
/// These are a policy and the packed C of tsmm/strided.cuh.
namespace blockvec::kernels::cuda {

/// Packs alpha C for GaussTile: [8 rows][8 columns][re, im, re + im][lane][row / 4], with zeros beyond C. To compute
/// sums in the kernel would keep the tensor cores waiting. Where C comes in panels, its sums are left out: to read them
/// again and again costs more.
template <bool with_sums>
struct GaussPack {
  using Real = double;
  static constexpr int piece_numbers = (with_sums ? 3 : 2) * 2 * 32;  ///< of 8 rows x 8 columns

  __device__ static void pack(const TsmmBoxes<double>& p, int rows, double* packed, int thread, int threads) {
    const Factor alpha = p.alpha.read();
    const int lane = thread % warp_size;
    for (int index = thread / warp_size; index < rows / 16 * p.section_pieces; index += threads / warp_size) {
      // The complex columns of one lane stand in two MMA tiles of real columns: tsmm/results.cuh.
      const int column = 2 * (index % p.section_pieces * 8 + column_of(false, lane / 4));
      double* const to = packed + index * piece_numbers + 2 * lane;
      unrolled<2>([&](int half) {
        const int row = 2 * (index / p.section_pieces * 8 + lane % 4 + 4 * half);
        const bool there = row < p.m && column < p.out.n;
        const double re = there ? p.small.scaled(row, column, alpha) : 0.0;
        const double im = there ? p.small.scaled(row, column + 1, alpha) : 0.0;
        to[half] = re;
        to[64 + half] = im;
        if (with_sums) to[128 + half] = re + im;
      });
    }
  }
};

/// A warp's tile of complex double precision: tb x 16 rows times `pieces` x 8 complex columns. It is a policy of
/// tsmm_strided_kernel, as Fp64Tiles is.
template <int tb_, int pieces, bool by_columns>
struct GaussTile : GaussPack<!dispatch::gauss_by_panels({tb_, pieces})> {
  using Sum = double;
  static constexpr int tb = tb_, tn = 2 * pieces;
  static constexpr bool exists = true, wide = false, may_copy = false, may_stage = false, rows_only = false;
  static constexpr bool may_overflow = true;
  static constexpr int blocks = 1, loading_registers = 40, registers = 232;
  static constexpr bool early = false, prefetches = false;
  static constexpr int old_halves = 1;
  static constexpr int together = 2;
  static constexpr bool with_sums = !dispatch::gauss_by_panels({tb, pieces});
  static constexpr int piece_numbers = GaussPack<with_sums>::piece_numbers;
  /// From column to column of a box, in scalars.
  static constexpr int depth_step = by_columns ? dispatch::gauss_column_pitch : 2;
  double sum[3][tb][pieces][4];

  __device__ static int first_c(int warp_column, int lane) { return warp_column * pieces * piece_numbers + 2 * lane; }

  __device__ void clear() {
    unrolled<12 * tb * pieces>([&](int i) { (&sum[0][0][0][0])[i] = 0; });
  }

  __device__ void multiply(const TsmmBoxes<double>& p, const double* const (&first_a)[2], const double* c,
                           int columns) {
    const double* a[2] = {first_a[0], first_a[1]};
    const int box = p.a.numbers();
    const int next = p.section_pieces * piece_numbers;  // to the next 8 rows of C
    const int end = columns / 2;
    int depth = 0;
#pragma unroll steps_at_once
    for (; depth + 12 < end; depth += 16, c += 2 * next) {
      double left[2][tb][8];
      unrolled<tb, 8>(
          [&](int t, int v) { read(a[v % 2] + t * box + 4 * (v / 2) * depth_step, left[0][t][v], left[1][t][v]); });
      a[0] += 16 * depth_step;
      a[1] += 16 * depth_step;
      double right[with_sums ? 3 : 2][pieces][4];
      unrolled<(with_sums ? 3 : 2), pieces>([&](int part, int x) {
#pragma unroll
        for (int v = 0; v < 4; v += 2) {
          const double2 pair = *reinterpret_cast<const double2*>(c + v / 2 * next + x * piece_numbers + 64 * part);
          right[part][x][v] = pair.x;
          right[part][x][v + 1] = pair.y;
        }
      });
      multiply_pieces(sum[0], left[0], right[0]);
      multiply_pieces(sum[1], left[1], right[1]);
      add_to<tb * 8>(left[0][0], left[1][0]);
      if (!with_sums) add_to<pieces * 4>(right[0][0], right[1][0]);
      multiply_pieces(sum[2], left[0], right[with_sums ? 2 : 0]);
    }
#pragma unroll
    for (int v = 0; v < 3; ++v) {
      if (depth + 4 * v >= end) break;
      double left[3][tb][2];
      unrolled<tb, 2>([&](int t, int half) {
        read(a[half] + t * box + 4 * v * depth_step, left[0][t][half], left[1][t][half]);
        left[2][t][half] = left[0][t][half] + left[1][t][half];
      });
      unrolled<pieces>([&](int x) {
        const double* const at = c + v / 2 * next + x * piece_numbers + v % 2;
        const double right[3] = {at[0], at[64], with_sums ? at[128] : at[0] + at[64]};
        unrolled<3, tb>([&](int which, int t) { multiply_16x8x4(sum[which][t][x], left[which][t], right[which]); });
      });
    }
  }

  /// Joins the three sums of a complex product: r = sum re re, i = sum im im, x = sum (re + im)(re + im). The product
  /// is (r - i, x - r - i). Its parts are written as neighbouring real numbers.
  __device__ bool finish(double (&result)[tb][tn][4]) const {
    unsigned largest = 0;  // exponent without sign; integer code leaves the double-precision pipe to tensor cores
    unrolled<4 * tb * pieces>([&](int i) {
      const int t = i / 4 / pieces, x = i / 4 % pieces, v = i % 4;
      const double re = sum[0][t][x][v] - sum[1][t][x][v];
      const double im = sum[2][t][x][v] - sum[0][t][x][v] - sum[1][t][x][v];
      result[t][2 * x + v % 2][v / 2 * 2] = re;
      result[t][2 * x + v % 2][v / 2 * 2 + 1] = im;
      largest = max(largest, static_cast<unsigned>(__double2hiint(re)) << 1);
      largest = max(largest, static_cast<unsigned>(__double2hiint(im)) << 1);
    });
    return __all_sync(0xffffffffU, largest < 0xffe00000U);
  }

 private:
  static constexpr int steps_at_once = with_sums ? 2 : 1;

  __device__ static void multiply_pieces(double (&sums)[tb][pieces][4], const double (&left)[tb][8],
                                         const double (&right)[pieces][4]) {
    unrolled<pieces, tb>([&](int x, int t) { multiply_16x8x16(sums[t][x], left[t], right[x]); });
  }
  template <int count>
  __device__ static void add_to(double* one, const double* other) {
    unrolled<count>([&](int i) { one[i] += other[i]; });
  }
  __device__ static void read(const double* from, double& re, double& im) {
    const double2 both = *reinterpret_cast<const double2*>(from);
    re = both.x;
    im = both.y;
  }
};

}  // namespace blockvec::kernels::cuda

#pragma once

#include "src/cuda/math/recompute.cuh"
#include "src/cuda/operands/load_flat_rows.cuh"
#include "src/cuda/operands/load_plain.cuh"
#include "src/cuda/ptx/pipeline.cuh"
#include "src/cuda/tsmm/factor.cuh"
#include "src/cuda/unrolled.cuh"
#include "src/dispatch/cuda/constants.hpp"

/// How results of tsmm go from registers to B. A warp holds 16 rows of each of `tb` TMA tiles (boxes) times `tn` MMA
/// tiles of 8 columns (pieces). In each MMA tile, lane 4 g + q holds two columns of two rows.
namespace blockvec::kernels::cuda {

template <class Real>
struct Results {
  Tall<Real> b;
  int n;
  std::int64_t k;
  bool in_pairs;    ///< two neighbouring numbers of a row of B lie side by side, aligned for one store
  bool neighbours;  ///< a lane's two columns are neighbours: see column_of
  int box_rows;
  dispatch::RowMap map;  ///< a warp's rows by lane: by_lane (g % 4) + by_first (g / 4) + by_second half
  /// Real numbers from line to line in shared memory, where results wait. 0: they go from registers to B directly.
  int staged_pitch;
  int sharing_lanes;  ///< lanes that write one such line to B together
};

__device__ inline void write_pair(double* to, double a, double b) {
  *reinterpret_cast<double2*>(to) = make_double2(a, b);
}
__device__ inline void write_pair(float* to, float a, float b) { *reinterpret_cast<float2*>(to) = make_float2(a, b); }

/// Knows where a lane's results lie in B. `rows_only`: B is row-major, and a lane's two columns are neighbours.
template <class Real, bool rows_only = false>
class Places {
 public:
  __device__ Places(const Results<Real>& p, int warp_row, int column0, int lane) : p_(p) {
    row_ = 16 * warp_row + row_of(p.map, lane / 4, 0);
    column_ = column0 + column_of(rows_only || p.neighbours, lane % 4 * 2);
    second_ = rows_only || p.neighbours ? 1 : 4;
    first_ = p.b.data + p.b.offset(row_, column_);
    to_second_ = rows_only ? 1 : p.b.offset(0, column_ + second_) - p.b.offset(0, column_);
    to_piece_ = rows_only ? 8 : p.b.offset(0, 8);
    to_half_ = p.map.by_second * p.b.row_stride;
    to_box_ = p.box_rows * p.b.row_stride;
  }

  template <int tb, int tn>
  __device__ void read(std::int64_t first_row, Real (&old)[tb][tn][4]) const {
    visit<tb, tn>(first_row, [&](int t, int x, int half, const Real* one, bool both) {
      old[t][x][2 * half] = *one;
      old[t][x][2 * half + 1] = both ? one[to_second_] : Real(0);
    });
  }

  /// Brings the old numbers of B into the L2 cache, for a later read.
  template <int tb, int tn>
  __device__ void prefetch(std::int64_t first_row) const {
    visit<tb, tn>(first_row, [](int, int, int, const Real* one, bool) { prefetch_line(one); });
  }

  /// Adds beta times B to sum. It reads `halves` sets of 8 rows at a time, so that loads under way need few registers.
  template <int halves, int tb, int tn, class Sum>
  __device__ void add(std::int64_t first_row, Factor beta, Sum (&sum)[tb][tn][4]) const {
#pragma unroll
    for (int i = 0; i < 2 * tb; i += halves) {
      Real old[halves][tn][2] = {};
      visit<1, tn>(first_row + i / 2 * p_.box_rows, [&](int, int x, int half, const Real* one, bool both) {
        if (halves == 1 && half != i % 2) return;
        old[half % halves][x][0] = *one;
        if (both) old[half % halves][x][1] = one[to_second_];
      });
      unrolled<halves, tn>([&](int half, int x) {
        Sum* const to = &sum[i / 2][x][2 * ((i + half) % 2)];
        add_old(to[0], to[1], old[half][x][0], old[half][x][1], beta);
      });
    }
  }

  template <int tb, int tn, class Sum>
  __device__ void write(std::int64_t first_row, const Sum (&sum)[tb][tn][4]) const {
    visit<tb, tn>(first_row, [&](int t, int x, int half, Real* one, bool both) {
      const auto a = static_cast<Real>(sum[t][x][2 * half]);
      const auto b = static_cast<Real>(sum[t][x][2 * half + 1]);
      if (p_.in_pairs && both) {
        write_pair(one, a, b);
      } else {
        *one = a;
        if (both) one[to_second_] = b;
      }
    });
  }

  /// Writes the results to shared memory, line by line.
  template <int tb, int tn, class Sum>
  __device__ void stage(Real* staged, const Sum (&sum)[tb][tn][4]) const {
    const int pitch = p_.staged_pitch;
    const bool rows = p_.b.row_major;
    const int row_step = rows ? pitch : p_.b.parts;
    const int second = rows ? second_ : p_.b.parts == 2 ? 1 : second_ * pitch;
    const int piece = rows ? 8 : 8 / p_.b.parts * pitch;
    Real* const first = staged + row_ * row_step + (rows ? column_ : column_ / p_.b.parts * pitch);
    unrolled<tb, 2>([&](int t, int half) {
      Real* const row = first + (p_.box_rows * t + p_.map.by_second * half) * row_step;
      unrolled<tn>([&](int x) {
        row[piece * x] = static_cast<Real>(sum[t][x][2 * half]);
        row[piece * x + second] = static_cast<Real>(sum[t][x][2 * half + 1]);
      });
    });
  }

 private:
  /// Calls f(t, x, half, place, has_second) for each place in B. has_second: the second column lies in B, too.
  template <int tb, int tn, class F>
  __device__ void visit(std::int64_t first_row, const F& f) const {
    const int rows = static_cast<int>(min(p_.k - first_row, static_cast<std::int64_t>(tb) * p_.box_rows)) - row_;
    const int columns = p_.n - column_;
    Real* const first = first_ + first_row * p_.b.row_stride;
    unrolled<tb, 2>([&](int t, int half) {
      if (p_.box_rows * t + p_.map.by_second * half >= rows) return;
      Real* const row = first + t * to_box_ + half * to_half_;
      unrolled<tn>([&](int x) {
        if (8 * x < columns) f(t, x, half, row + x * to_piece_, 8 * x + second_ < columns);
      });
    });
  }

  const Results<Real>& p_;
  int row_;
  int column_;
  int second_;
  Real* first_;
  std::int64_t to_second_, to_piece_, to_half_, to_box_;
};

/// All computing warps write `rows` rows of B from shared memory. The lanes of a group share a line. They start at a
/// multiple of their common length, so that they write whole memory sectors wherever these belong to B.
template <class Real>
__device__ inline void write_staged(const Results<Real>& p, const Real* staged, std::int64_t first_row, int rows,
                                    int thread, int threads) {
  const bool by_rows = p.b.row_major;
  const int lines = by_rows ? rows : p.n / p.b.parts;
  const int length = by_rows ? p.n : rows * p.b.parts;
  const std::int64_t distance = by_rows ? p.b.row_stride : p.b.column_stride;
  const int lanes = p.sharing_lanes;
  const int lane = thread % lanes;
  const int step = threads / lanes;
  const int first_line = thread / lanes;
  Real* const first = p.b.data + first_row * p.b.row_stride;
  const int misaligned = static_cast<int>(reinterpret_cast<std::uintptr_t>(first) / sizeof(Real) % warp_size);
  const int misaligned_step = static_cast<int>(distance % warp_size);
  const auto begin_of = [&](int line) { return lane - ((misaligned + line * misaligned_step) & (lanes - 1)); };
  if (by_rows && length <= lanes) {  // a lane has at most two numbers of a line
#pragma unroll 4
    for (int line = first_line; line < lines; line += step) {
      const int i = begin_of(line);
      Real* const to = first + line * distance + i;
      const Real* const from = staged + line * p.staged_pitch + i;
      if (i >= 0 && i < length) *to = *from;
      if (i + lanes < length) to[lanes] = from[lanes];
    }
    return;
  }
  for (int line = first_line; line < lines; line += step) {
    const int begin = begin_of(line);
    Real* const to = first + line * distance;
    const Real* const from = staged + line * p.staged_pitch;
    if (begin >= 0 && begin < length) to[begin] = from[begin];
#pragma unroll 8
    for (int i = begin + lanes; i < length; i += lanes) to[i] = from[i];
  }
}

template <int tb, int tn, class Sum, class Real>
__device__ inline void add_scaled(Sum (&sum)[tb][tn][4], const Real (&old)[tb][tn][4], Factor beta) {
  unrolled<tb, tn, 2>([&](int t, int x, int half) {
    add_old(sum[t][x][2 * half], sum[t][x][2 * half + 1], old[t][x][2 * half], old[t][x][2 * half + 1], beta);
  });
}

/// A warp computes a row of up to `numbers` results again. Kernels call it where 3M or 3xTF32 gave infinities that may
/// not be true ones. Column d of A (of scalars) begins at a[d * step]. The results belong to columns `column0` and on
/// of row `row` of B, which may be A. It calls put(column, value) after it has read the row.
template <int numbers, class Task, class Real, class Put>
__device__ inline void row_in_double(const Task& p, const Real* a, std::int64_t step, std::int64_t row, int column0,
                                     const Put& put) {
  int lane;  // read here, so that it needs no register before
  asm volatile("mov.u32 %0, %laneid;" : "=r"(lane));
  constexpr int of_lane = (numbers + warp_size - 1) / warp_size;
  const auto has = [&](int i) { return i < numbers && column0 + i < p.out.n; };
  const Factor alpha = p.alpha.read();
  const Factor beta = p.beta.read();
  double value[of_lane] = {};
  unrolled<of_lane>([&](int i) {
    const int column = column0 + lane + i * warp_size;
    if (!has(lane + i * warp_size)) return;
    value[i] = product_in_double(p, a, step, p.m, alpha, column);
    if (beta.is_zero()) return;
    const int parts = p.small.parts;
    const Real* const old = p.out.b.data + p.out.b.offset(row, column - column % parts);
    const Factor scaled = scale(beta, {static_cast<double>(old[0]), static_cast<double>(old[parts - 1])});
    value[i] += column % parts == 0 ? scaled.re : scaled.im;
  });
  __syncwarp();
  unrolled<of_lane>([&](int i) {
    if (has(lane + i * warp_size)) put(column0 + lane + i * warp_size, static_cast<Real>(value[i]));
  });
}

}  // namespace blockvec::kernels::cuda

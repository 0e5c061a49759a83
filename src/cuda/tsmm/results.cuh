#pragma once

#include "src/cuda/operands/load_flat_rows.cuh"
#include "src/cuda/ptx/pipeline.cuh"
#include "src/cuda/tsmm/factor.cuh"
#include "src/dispatch/cuda/constants.hpp"

/// How results of tsmm go from registers to B. A warp holds 16 rows of each of `tb` TMA tiles (boxes) times `tn` MMA
/// tiles of 8 columns (pieces). In each MMA tile, lane 4 g + q holds two columns of two rows.
namespace blockvec::kernels::cuda {

template <class Real>
struct Results {
  Tall<Real> b;
  int n;
  std::int64_t k;
  bool in_pairs;  ///< two neighbouring numbers of a row of B lie side by side, aligned for one store
  int box_rows;
  dispatch::RowMap map;  ///< a warp's rows by lane: by_lane (g % 4) + by_first (g / 4) + by_second half
  /// Real numbers from line to line in shared memory, where results wait. 0: they go from registers to B directly.
  int staged_pitch;
  int sharing_lanes;  ///< lanes that write one such line to B together

  __host__ __device__ bool has_neighbours() const { return in_pairs || b.parts == 2; }
};

__device__ inline void write_pair(double* to, double a, double b) {
  *reinterpret_cast<double2*>(to) = make_double2(a, b);
}
__device__ inline void write_pair(float* to, float a, float b) { *reinterpret_cast<float2*>(to) = make_float2(a, b); }

/// Knows where a lane's results lie in B.
template <class Real>
class Places {
 public:
  __device__ Places(const Results<Real>& p, int warp_row, int column0, int lane) : p_(p) {
    const int group = lane / 4;
    row_ = 16 * warp_row + p.map.by_lane * (group % 4) + p.map.by_first * (group / 4);
    column_ = column0 + column_of(p.has_neighbours(), lane % 4 * 2);
    second_ = p.has_neighbours() ? 1 : 4;
    first_ = p.b.data + p.b.offset(row_, column_);
    to_second_ = p.b.offset(0, column_ + second_) - p.b.offset(0, column_);
    to_piece_ = p.b.offset(0, 8);
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

  /// Whether all of a lane's rows of a box and all of its column pairs lie in B.
  template <int tn>
  __device__ bool inside(std::int64_t first_row) const {
    return p_.in_pairs && first_row + row_ + p_.map.by_second < p_.k && column_ + 8 * (tn - 1) + second_ < p_.n;
  }
  /// Adds beta times B to sum, where inside() holds. It loads as many numbers at a time as registers can hold.
  template <int tn>
  __device__ void add_inside(std::int64_t first_row, double (&sum)[tn][4], Factor beta) const {
    constexpr int at_a_time = 4;
#pragma unroll
    for (int i = 0; i < 2 * tn; i += at_a_time) {
      const double* const row = first_ + first_row * p_.b.row_stride + i / tn * to_half_ + i % tn * to_piece_;
      double2 old[at_a_time];
#pragma unroll
      for (int x = 0; x < at_a_time; ++x) old[x] = *reinterpret_cast<const double2*>(row + x * to_piece_);
#pragma unroll
      for (int x = 0; x < at_a_time; ++x) {
        const Factor scaled = scale(beta, {old[x].x, old[x].y});
        sum[i % tn + x][2 * (i / tn)] += scaled.re;
        sum[i % tn + x][2 * (i / tn) + 1] += scaled.im;
      }
    }
  }

  /// Adds beta times B to sum, one row at a time, so that loads under way need few registers.
  template <int tb, int tn>
  __device__ void add(std::int64_t first_row, Factor beta, double (&sum)[tb][tn][4]) const {
#pragma unroll
    for (int i = 0; i < 2 * tb; ++i) {
      Real old[tn][2] = {};
      visit<1, tn>(first_row + i / 2 * p_.box_rows, [&](int, int x, int half, const Real* one, bool both) {
        if (half != i % 2) return;
        old[x][0] = *one;
        if (both) old[x][1] = one[to_second_];
      });
#pragma unroll
      for (int x = 0; x < tn; ++x) {
        const Factor scaled = scale(beta, {static_cast<double>(old[x][0]), static_cast<double>(old[x][1])});
        sum[i / 2][x][2 * (i % 2)] += scaled.re;
        sum[i / 2][x][2 * (i % 2) + 1] += scaled.im;
      }
    }
  }

  template <int tb, int tn, class Number>
  __device__ void write(std::int64_t first_row, const Number (&sum)[tb][tn][4]) const {
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
  template <int tb, int tn, class Number>
  __device__ void stage(Real* staged, const Number (&sum)[tb][tn][4]) const {
    const int pitch = p_.staged_pitch;
    const bool rows = p_.b.row_major;
    const int row_step = rows ? pitch : p_.b.parts;
    const int second = rows ? second_ : p_.b.parts == 2 ? 1 : second_ * pitch;
    const int piece = rows ? 8 : 8 / p_.b.parts * pitch;
    Real* const first = staged + row_ * row_step + (rows ? column_ : column_ / p_.b.parts * pitch);
#pragma unroll
    for (int t = 0; t < tb; ++t) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        Real* const row = first + (p_.box_rows * t + p_.map.by_second * half) * row_step;
#pragma unroll
        for (int x = 0; x < tn; ++x) {
          row[piece * x] = static_cast<Real>(sum[t][x][2 * half]);
          row[piece * x + second] = static_cast<Real>(sum[t][x][2 * half + 1]);
        }
      }
    }
  }

 private:
  /// Calls f(t, x, half, place, has_second) for each place in B. has_second: the second column lies in B, too.
  template <int tb, int tn, class F>
  __device__ void visit(std::int64_t first_row, const F& f) const {
    const int rows = static_cast<int>(min(p_.k - first_row, static_cast<std::int64_t>(tb) * p_.box_rows)) - row_;
    const int columns = p_.n - column_;
    Real* const first = first_ + first_row * p_.b.row_stride;
#pragma unroll
    for (int t = 0; t < tb; ++t) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if (p_.box_rows * t + p_.map.by_second * half >= rows) continue;
        Real* const row = first + t * to_box_ + half * to_half_;
#pragma unroll
        for (int x = 0; x < tn; ++x) {
          if (8 * x < columns) f(t, x, half, row + x * to_piece_, 8 * x + second_ < columns);
        }
      }
    }
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

template <int tb, int tn, class Number, class Real>
__device__ inline void add_scaled(Number (&sum)[tb][tn][4], const Real (&old)[tb][tn][4], Factor beta) {
#pragma unroll
  for (int t = 0; t < tb; ++t) {
#pragma unroll
    for (int x = 0; x < tn; ++x) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const Factor scaled =
            scale(beta, {static_cast<double>(old[t][x][2 * half]), static_cast<double>(old[t][x][2 * half + 1])});
        sum[t][x][2 * half] = static_cast<Number>(sum[t][x][2 * half] + scaled.re);
        sum[t][x][2 * half + 1] = static_cast<Number>(sum[t][x][2 * half + 1] + scaled.im);
      }
    }
  }
}

}  // namespace blockvec::kernels::cuda

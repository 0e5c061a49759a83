#pragma once

#include "src/cuda/math/tf32x3.cuh"
#include "src/cuda/ptx/mma_f64.cuh"
#include "src/cuda/tsmm/factor.cuh"
#include "src/cuda/tsmm/row_ring.cuh"

/// tsmm of rows on tensor cores as B^T = C^T A^T, in FP64 or by 3xTF32 (math/tf32x3.cuh). The warps of a group stand
/// side by side along the columns of B. Each warp holds `tn` pieces of 16 columns x `tb` sets of 8 rows in registers.
namespace blockvec::kernels::cuda {

/// FP64 MMA tiles. Packed C has the order [16 columns of B][depth / 4][lane][2].
struct Fp64 {
  using Number = double;
  static constexpr int of_four = 64;  ///< numbers of packed C for 4 columns of A and 16 of B
  static constexpr int last = 1;      ///< numbers of a row that a lane has in a step after the last whole 16
  static constexpr int warps(int, int) { return computing_warps; }
  __host__ __device__ static constexpr int piece(int m) { return (m + 3) / 4 * of_four; }

  template <class Real>
  __device__ static void pack(const TsmmRing<Real>& p, int pieces, double* packed, int thread, int threads) {
    cuda::pack(p.small, p.m, p.n, p.alpha.read(), OrderOfPieces{pieces, (p.m + 3) / 4}, packed, thread, threads);
  }

  /// Adds C^T A^T to sum for 4 `count` columns of A. `c` points to their rows of packed C, in this warp's columns.
  template <int tn, int tb, int count>
  __device__ static void multiply(double (&sum)[tn][tb][4], const double* c, int piece,
                                  const double (&right)[tb][count], int lane) {
    unrolled<tn>([&](int x) {
      double left[2 * count];
      unrolled<count>([&](int v) {
        const double2 pair = *reinterpret_cast<const double2*>(c + x * piece + of_four * v + 2 * lane);
        left[2 * v] = pair.x;
        left[2 * v + 1] = pair.y;
      });
      unrolled<tb>([&](int t) {
        if constexpr (count == 4) {
          multiply_16x8x16(sum[x][t], left, right[t]);
        } else {
          multiply_16x8x4(sum[x][t], left, right[t][0]);
        }
      });
    });
  }
};

/// 3xTF32. Packed C has the order [16 columns of B][depth / 8][high, low][lane][4]: a lane reads 16 bytes at a time.
struct Tf32x3 {
  using Number = float;
  static constexpr int of_four = 128;
  static constexpr int last = 2;
  static constexpr int warps(int tn, int tb) { return dispatch::split_warps({tn, tb}); }
  __host__ __device__ static constexpr int piece(int m) { return (m + 7) / 8 * 2 * of_four; }

  template <class Real>
  __device__ static void pack(const TsmmRing<Real>& p, int pieces, float* packed, int thread, int threads) {
    const Factor alpha = p.alpha.read();
    const int steps = (p.m + 7) / 8;
    for (int i = thread; i < pieces * steps * 128; i += threads) {
      const int lane = i / 4 % 32;
      const int row = i / 128 % steps * 8 + lane % 4 + 4 * (i % 4 / 2);
      const int column = i / 128 / steps * 16 + lane / 4 + 8 * (i % 2);
      const double value = row < p.m && column < p.n ? p.small.scaled(row, column, alpha) : 0.0;
      const SplitNumber parts = split(static_cast<float>(value));
      float* const to = packed + i / 128 * 2 * of_four + i % 128;
      to[0] = __uint_as_float(parts.high);
      to[128] = __uint_as_float(parts.low);
    }
  }

  template <int tn, int tb, int count>
  __device__ static void multiply(float (&sum)[tn][tb][4], const float* c, int piece, const float (&right)[tb][count],
                                  int lane) {
    unrolled<count / 2>([&](int half) {
      unsigned parts[2][tb][2];
      unrolled<tb, 2>([&](int t, int v) { split(right[t][2 * half + v], parts[0][t][v], parts[1][t][v]); });
      unrolled<tn>([&](int x) {
        alignas(16) unsigned left[2][4];
        unrolled<2>([&](int part) {
          const float* const four = c + half * 2 * of_four + x * piece + 128 * part + 4 * lane;
          *reinterpret_cast<uint4*>(left[part]) = *reinterpret_cast<const uint4*>(four);
        });
        // Small products come first. Products that wait for one another stand far apart.
        unrolled<3, tb>(
            [&](int product, int t) { multiply_tf32(sum[x][t], left[product == 0], parts[product == 1][t]); });
      });
    });
  }
};

template <class Real, class Products, int tn, int tb>
class RowTiles {
 public:
  using Number = typename Products::Number;
  static constexpr int warps = Products::warps(tn, tb);

  __device__ static void pack(const TsmmRing<Real>& p, Number* packed, int thread, int threads) {
    Products::pack(p, p.warps * tn, packed, thread, threads);
  }

  /// `place`: which of its group's warps the warp is.
  __device__ RowTiles(const TsmmRing<Real>& p, const Number* packed, int place, int lane)
      : p_(p), piece_(Products::piece(p.m)), column0_(place * 16 * tn), c_(packed + place * tn * piece_), lane_(lane) {
    unrolled<tb>([&](int t) { row_[t] = row_of(lane / 4, t) * p.a.row_step; });
  }

  /// Multiplies a stage. wait_for_room() returns when results may be written to `out`. If it `adds`, it adds beta times
  /// B's old rows.
  template <class Wait>
  __device__ void multiply(const Real* a, const Real* old, Real* out, bool adds, Factor beta,
                           const Wait& wait_for_room) const {
    for (int row0 = 0; row0 < p_.rows; row0 += 8 * tb) {
      Number sum[tn][tb][4] = {};
      const Real* const rows = a + row0 * p_.a.row_step;
      if (p_.a.row_step % 8 == 0) {
        multiply_rows<true>(sum, rows + lane_ % 4);
      } else {
        multiply_rows<false>(sum, rows + lane_ % 4);
      }
      if (row0 == 0) wait_for_room();
      Real* const to = out + row0 * p_.pitch_out;
      const Real* const held = old + row0 * p_.old.row_step;
      if constexpr (sizeof(Number) == 4) {
        if (!__all_sync(0xffffffffU, all_finite<4 * tn * tb>(&sum[0][0][0]))) {
          rows_in_double(p_, rows, p_.a.row_step, adds ? held : nullptr, p_.old.row_step, 8 * tb, column0_,
                         min(16 * tn, p_.n - column0_), lane_, warp_size,
                         [&](int row, int column, Real value) { to[row * p_.pitch_out + column] = value; });
          continue;
        }
      }
      if (adds) {
        put_rows<true>(sum, to, held, beta);
      } else {
        put_rows<false>(sum, to, held, beta);
      }
    }
  }

 private:
  /// The row of a stage that column i (0..7) of set t of 8 rows stands for. With this order, lanes meet different banks
  /// when they load and when they store.
  __device__ int row_of(int i, int t) const {
    const int turn = (i & 4) != 0 ? (i & 3) ^ 1 : i & 3;
    return cuda::row_of(p_.map, i / 4 * 4 + turn, t % 2) + 16 * (t / 2);
  }

  /// Adds C^T A^T to sum for 8 tb rows of a stage. `a` points to this lane's first entries. `turned`: lanes read in
  /// different orders (undo_turn).
  template <bool turned>
  __device__ void multiply_rows(Number (&sum)[tn][tb][4], const Real* a) const {
    const int turn = turned ? lane_ / 4 % 4 : 0;
    const Number* c = c_;
    const int m = p_.m;
    int depth = 0;
    for (; depth + 16 <= m; depth += 16, c += 4 * Products::of_four) {
      Number right[tb][4];
      unrolled<tb>([&](int t) {
        unrolled<4>([&](int v) { right[t][v] = a[row_[t] + depth + 4 * (v ^ turn)]; });
        if (turned) undo_turn(right[t], turn);
      });
      Products::multiply(sum, c, piece_, right, lane_);
    }
    // What follows a row in memory does not belong to A. We must not multiply with it, not even by zero.
    constexpr int last = Products::last;
    for (; depth < m; depth += 4 * last, c += last * Products::of_four) {
      Number right[tb][last];
      unrolled<tb, last>([&](int t, int v) {
        const bool inside = depth + lane_ % 4 + 4 * v < m;
        right[t][v] = inside ? static_cast<Number>(a[row_[t] + depth + 4 * v]) : Number(0);
      });
      Products::multiply(sum, c, piece_, right, lane_);
    }
  }

  /// Writes a lane's entries of 8 tb rows to shared memory. If it `adds`, it adds beta times B's old rows from the
  /// stage.
  template <bool adds>
  __device__ void put_rows(const Number (&sum)[tn][tb][4], Real* out, const Real* old, Factor beta) const {
    const int column = column0_ + lane_ / 4;
    unrolled<tb, 2>([&](int t, int odd) {
      const int row = row_of(2 * (lane_ % 4) + odd, t);
      Real* const to = out + row * p_.pitch_out + column;
      const Real* const from = old + row * p_.old.row_step;
      unrolled<tn, 2>([&](int x, int half) {
        const int offset = 16 * x + 8 * half;
        if (column + offset < p_.n) {
          Number value = sum[x][t][2 * half + odd];
          if (adds) value = plus_scaled_entry(value, from, column + offset, beta);
          to[offset] = static_cast<Real>(value);
        }
      });
    });
  }

  const TsmmRing<Real>& p_;
  int piece_, column0_;
  const Number* c_;
  int lane_;
  int row_[tb];
};

}  // namespace blockvec::kernels::cuda

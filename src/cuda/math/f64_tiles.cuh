#pragma once

#include <cstdint>
#include <type_traits>

#include "src/cuda/operands/matrix.cuh"
#include "src/cuda/ptx/mma_f64.cuh"
#include "src/dispatch/cuda/constants.hpp"

/// The MMA tiles of P = A^T B that a warp of tsmttsm keeps in registers, and how its lanes read their factors.
namespace blockvec::kernels::cuda {

/// Reads a lane's entries of 16 rows of a stage: j = 0..3 chooses one of its four rows, `block` one of its columns, 8
/// apart.
///
/// Where all rows begin in the same bank, half of the lanes may be `turned`. Of two blocks they read the second one
/// first. Hence they meet other banks than the other lanes; they swap the two afterwards.
///
/// Columns that begin at multiples of 16 bytes are read `wide`: 16 bytes of a column at a time.
///
/// Real and imaginary parts are read separately, so that each arrives in the register from which tensor cores take it.
/// Half of the lanes are flipped: they read the imaginary part first, from the banks that the other lanes leave free.
template <bool by_columns, bool turned = false, bool reads_wide = false>
struct Lane {
  static constexpr bool wide = reads_wide;
  int first, second;  // numbers from the lane's first row to its second and to its third row
  int eight_columns;
  int turn;  // 0, or 8 in a turned lane, which also starts to read 8 columns further on
  int flip;  // -1 in a flipped lane, which also starts to read at the imaginary part; else 1

  template <class Real>
  __device__ Real number(const Real* start, int block, int j) const {
    const Real* const row = start + (j % 2) * first + (j / 2) * second;
    return row[block * (by_columns ? eight_columns : 8) - (turned ? turn : 0)];
  }

  /// Reads all four entries of a block. The lane must be `wide`.
  template <class Real>
  __device__ void read_wide(const Real* start, int block, double (&to)[4]) const {
    constexpr int numbers = 16 / sizeof(Real);
    using Numbers = Neighbouring<numbers, Real>;
#pragma unroll
    for (int j = 0; j < 4; j += numbers) {
      const Numbers some = *reinterpret_cast<const Numbers*>(start + block * eight_columns + j / 2 * second);
      unrolled<numbers>([&](int i) { to[j + i] = some.number[i]; });
    }
  }

  /// Reads a complex number; a flipped lane gets its imaginary part as `re` and its real part as `im`. A block has 8
  /// complex columns.
  template <class Real>
  __device__ void read_parts(const Real* start, int block, int j, Real& re, Real& im) const {
    const Real* const row = start + (j % 2) * first + (j / 2) * second;
    const Real* const at = row + block * (by_columns ? 2 * eight_columns : 16);
    re = at[0];
    im = at[flip];
  }

  template <class Real>
  __device__ void read_pair(const Real* start, int block, int j, double& one, double& other) const {
    if constexpr (turned) {
      const Real* const row = start + (j % 2) * first + (j / 2) * second;
      const Real early = row[block * 8];
      const Real late = row[block * 8 + 8 - 2 * turn];
      one = turn != 0 ? late : early;
      other = turn != 0 ? early : late;
    } else {
      one = number(start, block, j);
      other = number(start, block + 1, j);
    }
  }
};

/// What tiles allow; tiles redefine what they need.
struct TileTraits {
  static constexpr bool may_turn = false;  ///< lanes may be turned
  static constexpr bool flips = false;     ///< lanes may be flipped
  static constexpr int numbers = 1;        ///< real numbers that a lane reads side by side
  static constexpr int sharing = 0;        ///< warps of a group that share a part of the result
};

/// m x n MMA tiles of 16 x 8.
template <int m, int n>
struct FullTiles : TileTraits {
  static constexpr int rows = 16 * m;
  static constexpr int columns = 8 * n;
  static constexpr int warps = dispatch::computing_warps;
  double sum[m][n][4] = {};

  /// Adds 16 rows; a and b point to the lane's first entries. One operand's factors stay in registers, and the other
  /// one's are loaded one after the other. In square tiles B's factors stay, which take fewer registers. Products that
  /// follow one another then share a factor, which costs less power.
  template <class LaneOf, class Real>
  __device__ void add(const Real* a, const LaneOf& lane_a, const Real* b, const LaneOf& lane_b) {
    if constexpr (m == 4 && n == 4) {
      double right[n][4];
      unrolled<n>([&](int y) { read_right(b, lane_b, y, right[y]); });
      unrolled<m>([&](int x) {
        double left[8];
        read_left(a, lane_a, x, left);
        unrolled<n>([&](int i) {
          const int y = x % 2 == 0 ? i : n - 1 - i;
          multiply_16x8x16(sum[x][y], left, right[y]);
        });
      });
      return;
    }
    double left[m][8];
    if constexpr (LaneOf::wide && sizeof(Real) == 4) {  // else one load's numbers would have to be moved apart
      unrolled<m>([&](int x) { read_left(a, lane_a, x, left[x]); });
    } else {
      unrolled<4, m>([&](int j, int x) { lane_a.read_pair(a, 2 * x, j, left[x][2 * j], left[x][2 * j + 1]); });
    }
    unrolled<n>([&](int y) {
      double right[4];
      read_right(b, lane_b, y, right);
      unrolled<m>([&](int x) { multiply_16x8x16(sum[x][y], left[x], right); });
    });
  }

  /// Calls visit(entry, its right neighbour, row in the warp's tile, column in the warp's tile).
  template <class Visit>
  __device__ void for_each_pair(int lane, Visit&& visit) const {
    unrolled<m, n, 2>([&](int x, int y, int half) {
      const double* const pair = &sum[x][y][2 * half];
      visit(pair[0], pair[1], 16 * x + lane / 4 + 8 * half, 8 * y + 2 * (lane % 4));
    });
  }

 private:
  template <class LaneOf, class Real>
  __device__ static void read_left(const Real* a, const LaneOf& lane, int x, double (&to)[8]) {
    if constexpr (LaneOf::wide && sizeof(Real) == 4) {
      double blocks[2][4];
      lane.read_wide(a, 2 * x, blocks[0]);
      lane.read_wide(a, 2 * x + 1, blocks[1]);
      unrolled<8>([&](int v) { to[v] = blocks[v % 2][v / 2]; });
    } else {
      unrolled<4>([&](int j) { lane.read_pair(a, 2 * x, j, to[2 * j], to[2 * j + 1]); });
    }
  }

  template <class LaneOf, class Real>
  __device__ static void read_right(const Real* b, const LaneOf& lane, int y, double (&to)[4]) {
    if constexpr (LaneOf::wide) {
      lane.read_wide(b, y, to);
    } else {
      unrolled<4>([&](int j) { to[j] = lane.number(b, y, j); });
    }
  }
};

}  // namespace blockvec::kernels::cuda

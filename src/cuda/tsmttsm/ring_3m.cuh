#pragma once

#include "src/cuda/math/f64_tiles.cuh"

/// 3M: complex products by three real ones instead of four, after Gauss:
///   r = sum re re, i = sum im im, x = sum (re + s im)(re + im), s = -1 for A^H B, 1 for A^T B.
/// The product's real part is r - s i, and its imaginary part is x - r - s i. The imaginary part is then as accurate as
/// the product's magnitude, not as its own terms.
namespace blockvec::kernels::cuda {

/// What tiles of 3M have in common. A sum of an MMA tile holds r, i and x.
struct GaussSums : TileTraits {
  static constexpr int numbers = 2;
  static constexpr bool flips = true;
  double sign;

 protected:
  /// Computes the third factors. Where lanes are flipped (math/f64_tiles.cuh), s is -1: a flipped lane exchanges the
  /// real and imaginary parts of a row. r, i and x then stay the same if the third factors are im + re of A and im - re
  /// of B.
  template <int count>
  __device__ static void complete_factors(double (&of)[3][count], double sign_of_second) {
    unrolled<count>([&](int v) { of[2][v] = of[0][v] + sign_of_second * of[1][v]; });
  }

  /// Reads the left factors of two blocks of 8 columns, or of one beside zeros, from the lane's row `first` on.
  template <int blocks, int count, class LaneOf, class Real>
  __device__ static void read_left(double (&left)[3][count], const Real* start, const LaneOf& lane, int block,
                                   int first, double sign_of_second) {
    unrolled<count>([&](int v) {
      left[0][v] = left[1][v] = 0;
      if (v % 2 < blocks) lane.read_parts(start, block + v % 2, first + v / 2, left[0][v], left[1][v]);
    });
    complete_factors(left, sign_of_second);
  }
  template <int count, class LaneOf, class Real>
  __device__ static void read_right(double (&right)[3][count], const Real* start, const LaneOf& lane, int block,
                                    int first, double sign_of_second) {
    unrolled<count>([&](int j) { lane.read_parts(start, block, first + j, right[0][j], right[1][j]); });
    complete_factors(right, sign_of_second);
  }

  template <int left_count, int right_count>
  __device__ static void multiply(double (&to)[3][4], const double (&left)[3][left_count],
                                  const double (&right)[3][right_count]) {
    unrolled<3>([&](int which) {
      if constexpr (left_count == 8) {
        multiply_16x8x16(to[which], left[which], right[which]);
      } else {
        multiply_16x8x8(to[which], left[which], right[which]);
      }
    });
  }

  /// Calls visit(entry, its right neighbour, row, column) with entries of the real matrix A^T B. Of two entries that
  /// only count together, one is 0.
  template <class Visit>
  __device__ void visit_entry(const double (&of)[3][4], int v, int row, int column, Visit&& visit) const {
    visit(of[0][v], of[2][v] - of[0][v] - sign * of[1][v], 2 * row, 2 * column);
    visit(0.0, of[1][v], 2 * row + 1, 2 * column);
  }
};

/// The sums of m x n MMA tiles of 16 x 8 complex numbers, for complex double precision.
template <int m, int n>
struct GaussTiles : GaussSums {
  static constexpr int rows = 32 * m;
  static constexpr int columns = 16 * n;
  static constexpr int warps = dispatch::gauss_warps({m, n});
  int live;  ///< MMA tiles of 8 columns that lie within the result
  double sum[m][n][3][4] = {};

  /// Adds 16 rows; a and b point to the lane's first entries.
  template <class LaneOf, class Real>
  __device__ void add(const Real* a, const LaneOf& lane_a, const Real* b, const LaneOf& lane_b) {
    constexpr int depth = warps > 8 ? 8 : 16;  // half of the rows at a time where registers hold no more
#pragma unroll
    for (int first = 0; first < 4; first += depth / 4) {
      double left[m][3][depth / 2];
      unrolled<m>([&](int x) { read_left<2>(left[x], a, lane_a, 2 * x, first, lane_a.flip * sign); });
#pragma unroll
      for (int y = 0; y < n; ++y) {
        if (y >= live) break;  // without a branch the compiler copies the left factors for every MMA tile
        double right[3][depth / 4];
        read_right(right, b, lane_b, y, first, lane_b.flip);
        unrolled<m>([&](int x) { multiply(sum[x][y], left[x], right); });
      }
    }
  }

  template <class Visit>
  __device__ void for_each_pair(int lane, Visit&& visit) const {
    unrolled<m, n, 4>([&](int x, int y, int v) {
      visit_entry(sum[x][y], v, 16 * x + lane / 4 + 8 * (v / 2), 8 * y + 2 * (lane % 4) + v % 2, visit);
    });
  }
};

/// The sums of a square result with an odd number of blocks of 8 columns. MMA tiles have 16 columns of A x 8 of B or
/// the other way around: left and right factors hold the same numbers. Each warp has three MMA tiles. The block * is
/// half an MMA tile; warps multiply it in turn, 16 rows each. The pictures show which warp has which block: A's go
/// down, B's to the right.
///
///     0 0 0 2 2       0 0 0 3 3 3 6
///     0 0 0 2 2       0 0 0 3 3 3 6
///     1 1 1 2 2       1 1 1 4 4 4 6
///     1 1 1 3 3       1 1 1 4 4 4 6
///     3 3 * 3 3       2 2 2 5 5 5 6
///                     2 2 2 5 5 5 6
///                     7 7 7 7 7 7 *
template <int blocks>
struct GaussSquare : GaussSums {
  static_assert(blocks == 5 || blocks == 7);
  static constexpr int rows = 16 * blocks;
  static constexpr int columns = 16 * blocks;
  static constexpr int warps = dispatch::computing_warps;
  static constexpr int sharing = dispatch::gauss_square_warps(blocks);
  int warp;  ///< number among the warps that share the result
  int turn;  ///< steps until this warp multiplies the shared block
  double sum[3][3][4] = {};
  double shared[3][4] = {};

  __device__ GaussSquare(double sign_of_a, int own) : GaussSums{{}, sign_of_a}, warp(own), turn(own) {}

  /// Adds 16 rows; a and b point to the lane's first entries. The rows of a and b are equally far apart.
  template <class LaneOf, class Real>
  __device__ void add(const Real* a, const LaneOf& lane, const Real* b, const LaneOf&) {
    const bool turned = left_is_b();
    const Real* const left_start = turned ? b : a;
    const Real* const right_start = turned ? a : b;
    const double sign_a = lane.flip * sign;
    const double sign_b = lane.flip;
    const double left_sign = turned ? sign_b : sign_a;
    const double right_sign = turned ? sign_a : sign_b;
    double left[3][8], right[3][4];
    if (blocks == 7 && warp >= 6) {
      read_right(right, right_start, lane, 6, 0, right_sign);
      unrolled<3>([&](int y) {
        read_left<2>(left, left_start, lane, 2 * y, 0, left_sign);
        multiply(sum[y], left, right);
      });
    } else {
      read_left<2>(left, left_start, lane, first_left(0), 0, left_sign);
      unrolled<2>([&](int y) {
        read_right(right, right_start, lane, first_right(0) + y, 0, right_sign);
        multiply(sum[y], left, right);
      });
      if (blocks == 5 && warp == 3) {
        read_left<2>(left, b, lane, 0, 0, sign_b);
      } else {
        read_right(right, right_start, lane, first_right(0) + 2, 0, right_sign);
      }
      multiply(sum[2], left, right);
    }
    if (turn == 0) {
      read_left<1>(left, b, lane, blocks == 5 ? 2 : 6, 0, sign_b);
      read_right(right, a, lane, blocks - 1, 0, sign_a);
      multiply(shared, left, right);
    }
    turn = turn == 0 ? sharing - 1 : turn - 1;
  }

  template <class Visit>
  __device__ void for_each_pair(int lane, Visit&& visit) const {
    unrolled<3>([&](int y) {
      const bool turned = left_is_b();
      unrolled<4>([&](int v) {
        const int left = 8 * first_left(y) + lane / 4 + 8 * (v / 2);
        const int right = 8 * first_right(y) + 2 * (lane % 4) + v % 2;
        visit_entry(sum[y], v, turned ? right : left, turned ? left : right, visit);
      });
    });
  }

  /// Visits this warp's part of the shared block.
  template <class Visit>
  __device__ void for_each_shared_pair(int lane, Visit&& visit) const {
    unrolled<2>([&](int v) {
      visit_entry(shared, v, 8 * (blocks - 1) + 2 * (lane % 4) + v, (blocks == 5 ? 16 : 48) + lane / 4, visit);
    });
  }

 private:
  __device__ bool left_is_b() const { return blocks == 5 ? warp >= 2 : warp == 7; }
  /// The first blocks of MMA tile y.
  __device__ int first_left(int y) const {
    if (blocks == 5) return warp < 2 ? 2 * warp : warp == 3 && y == 2 ? 0 : 3;
    return warp < 6 ? 2 * (warp % 3) : 2 * y;
  }
  __device__ int first_right(int y) const {
    if (blocks == 5) return warp < 3 ? y : min(3 + y, 4);
    return warp < 6 ? 3 * (warp / 3) + y : 6;
  }
};

}  // namespace blockvec::kernels::cuda

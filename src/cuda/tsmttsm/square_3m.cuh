#pragma once

#include "src/cuda/tsmttsm/ring_3m.cuh"

/// 3M products (tsmttsm/ring_3m.cuh) of a square result whose width is not a multiple of 16 columns.
namespace blockvec::kernels::cuda {

/// The sums r, i and x for an odd number of blocks of 8 columns. MMA tiles have 16 columns of A x 8 of B or the other
/// way around: left and right factors hold the same numbers. Each warp has three MMA tiles. The block * is half an MMA
/// tile; warps multiply it in turn, 16 rows each. The pictures show which warp has which block: A's go down, B's to the
/// right.
///
///     0 0 0 2 2       0 0 0 3 3 3 6
///     0 0 0 2 2       0 0 0 3 3 3 6
///     1 1 1 2 2       1 1 1 4 4 4 6
///     1 1 1 3 3       1 1 1 4 4 4 6
///     3 3 * 3 3       2 2 2 5 5 5 6
///                     2 2 2 5 5 5 6
///                     7 7 7 7 7 7 *
template <int blocks>
struct GaussSquare {
  static_assert(blocks == 5 || blocks == 7);
  static constexpr bool may_turn = false;
  static constexpr int numbers = 2;
  static constexpr bool flips = true;
  static constexpr int rows = 16 * blocks;
  static constexpr int columns = 16 * blocks;
  static constexpr int warps = dispatch::computing_warps;
  static constexpr int sharing = dispatch::gauss_square_warps(blocks);
  double sign;
  int warp;                  ///< number among the warps that share the result
  int turn;                  ///< steps until this warp multiplies the shared block
  double sum[3][3][4] = {};  ///< of its MMA tiles: sums of re re, im im and (re + im)(re + im)
  double shared[3][4] = {};

  __device__ GaussSquare(double sign_of_a, int own) : sign(sign_of_a), warp(own), turn(own) {}

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
      read_right(right, right_start, lane, 6, right_sign);
#pragma unroll
      for (int y = 0; y < 3; ++y) {
        read_left<2>(left, left_start, lane, 2 * y, left_sign);
        multiply(sum[y], left, right);
      }
    } else {
      read_left<2>(left, left_start, lane, first_left(0), left_sign);
#pragma unroll
      for (int y = 0; y < 2; ++y) {
        read_right(right, right_start, lane, first_right(0) + y, right_sign);
        multiply(sum[y], left, right);
      }
      if (blocks == 5 && warp == 3) {
        read_left<2>(left, b, lane, 0, sign_b);
      } else {
        read_right(right, right_start, lane, first_right(0) + 2, right_sign);
      }
      multiply(sum[2], left, right);
    }
    if (turn == 0) {
      read_left<1>(left, b, lane, blocks == 5 ? 2 : 6, sign_b);
      read_right(right, a, lane, blocks - 1, sign_a);
      multiply(shared, left, right);
    }
    turn = turn == 0 ? sharing - 1 : turn - 1;
  }

  /// Visits entries as GaussTiles::for_each_pair does.
  template <class Visit>
  __device__ void for_each_pair(int lane, Visit&& visit) const {
#pragma unroll
    for (int y = 0; y < 3; ++y) {
      const bool turned = left_is_b();
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        const int left = 8 * first_left(y) + lane / 4 + 8 * (v / 2);
        const int right = 8 * first_right(y) + 2 * (lane % 4) + v % 2;
        visit_entry(sum[y], v, turned ? right : left, turned ? left : right, visit);
      }
    }
  }

  /// Visits this warp's part of the shared block.
  template <class Visit>
  __device__ void for_each_shared_pair(int lane, Visit&& visit) const {
#pragma unroll
    for (int v = 0; v < 2; ++v) {
      visit_entry(shared, v, 8 * (blocks - 1) + 2 * (lane % 4) + v, (blocks == 5 ? 16 : 48) + lane / 4, visit);
    }
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

  template <int count, class LaneOf, class Real>
  __device__ static void read_left(double (&left)[3][8], const Real* start, const LaneOf& lane, int block,
                                   double sign_of_second) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      left[0][i] = left[1][i] = 0;
      if (i % 2 < count) lane.read_parts(start, block + i % 2, i / 2, left[0][i], left[1][i]);
    }
    complete_factors(left, sign_of_second);
  }
  template <class LaneOf, class Real>
  __device__ static void read_right(double (&right)[3][4], const Real* start, const LaneOf& lane, int block,
                                    double sign_of_second) {
#pragma unroll
    for (int j = 0; j < 4; ++j) lane.read_parts(start, block, j, right[0][j], right[1][j]);
    complete_factors(right, sign_of_second);
  }
  __device__ static void multiply(double (&to)[3][4], const double (&left)[3][8], const double (&right)[3][4]) {
#pragma unroll
    for (int which = 0; which < 3; ++which) multiply_16x8x16(to[which], left[which], right[which]);
  }
  template <class Visit>
  __device__ void visit_entry(const double (&of)[3][4], int v, int row, int column, Visit&& visit) const {
    visit(of[0][v], of[2][v] - of[0][v] - sign * of[1][v], 2 * row, 2 * column);
    visit(0.0, of[1][v], 2 * row + 1, 2 * column);
  }
};

}  // namespace blockvec::kernels::cuda

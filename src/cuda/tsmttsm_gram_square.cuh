#pragma once

#include "src/cuda/mma.cuh"

/// A's Gram matrix of 128 columns, by four warps of equal shares without a block of 8 x 8 that another one has, too.
///
/// Warp w has 32 columns of its own, four blocks. Block (x, y) is there once, as (x, y) or as (y, x):
///   own x own      10 of the 16 blocks, those beside the diagonal once: 5 pieces of 16 x 8
///   own x next     those of warp w + 1 (or 0): 8 pieces
///   own x far      those of warp w + 2 are shared with that one: 4 pieces
namespace blockvec::kernels::cuda {

struct GramSquare {
  static constexpr bool in_chunks = false;
  static constexpr bool may_turn = false;
  static constexpr bool may_swizzle = true;
  static constexpr bool mirrors = true;
  static constexpr int numbers = 1;
  static constexpr int warps = 4;
  static constexpr int own_blocks = 4;
  static constexpr int blocks = warps * own_blocks;
  static constexpr int rows = 8 * blocks;
  static constexpr int columns = 8 * blocks;
  static constexpr int pieces = 17;

  int warp;
  double sum[pieces][4] = {};

  __device__ explicit GramSquare(int own_warp) : warp(own_warp) {}

  template <class LaneOf, class Real>
  __device__ void add(const Real* a, const LaneOf& lane, const Real*, const LaneOf&) {
    double own[own_blocks][4];
#pragma unroll
    for (int x = 0; x < own_blocks; ++x) read(a, lane, first(0) + x, own[x]);
    for_each_own([&](int i, int x, int other, int y) { multiply(sum[i], own[x], own[other], own[y]); });
    double right[4];
#pragma unroll
    for (int y = 0; y < own_blocks; ++y) {
      read(a, lane, first(1) + y, right);
      multiply(sum[5 + 2 * y], own[0], own[1], right);
      multiply(sum[6 + 2 * y], own[2], own[3], right);
    }
    if (takes_columns()) {
#pragma unroll
      for (int y = 0; y < 2; ++y) {
        read(a, lane, first(2) + y, right);
        multiply(sum[13 + 2 * y], own[0], own[1], right);
        multiply(sum[14 + 2 * y], own[2], own[3], right);
      }
    } else {
#pragma unroll
      for (int y = 0; y < 4; ++y) {
        read(a, lane, first(2) + y, right);
        multiply(sum[13 + y], own[2], own[3], right);
      }
    }
  }

  /// visit(entry, its neighbour on the right, row, column); below the diagonal, too, where the mirror image is not
  /// there.
  template <class Visit>
  __device__ void for_each_pair(int lane, Visit&& visit) const {
    const auto visit_piece = [&](int i, int x, int other, int y) {
      const int column = 8 * y + 2 * (lane % 4);
      visit(sum[i][0], sum[i][1], 8 * x + lane / 4, column);
      visit(sum[i][2], sum[i][3], 8 * other + lane / 4, column);
    };
    const int own = first(0);
    for_each_own([&](int i, int x, int other, int y) { visit_piece(i, own + x, own + other, own + y); });
#pragma unroll
    for (int i = 0; i < 8; ++i) visit_piece(5 + i, own + i % 2 * 2, own + i % 2 * 2 + 1, first(1) + i / 2);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int x = takes_columns() ? i % 2 * 2 : 2;
      visit_piece(13 + i, own + x, own + x + 1, first(2) + (takes_columns() ? i / 2 : i));
    }
  }

 private:
  /// The first block of the warp so many on.
  __device__ int first(int on) const { return (warp + on) % warps * own_blocks; }
  /// Of the blocks shared with a far warp, this one has two columns; else its own last two rows.
  __device__ bool takes_columns() const { return warp < warps / 2; }

  /// visit(piece, first and second block of its rows, block of its columns)
  template <class Visit>
  __device__ static void for_each_own(Visit&& visit) {
    visit(0, 0, 2, 0);
    visit(1, 0, 1, 1);
    visit(2, 1, 2, 2);
    visit(3, 0, 1, 3);
    visit(4, 2, 3, 3);
  }

  template <class LaneOf, class Real>
  __device__ static void read(const Real* a, const LaneOf& lane, int block, double (&to)[4]) {
#pragma unroll
    for (int j = 0; j < 4; ++j) to[j] = lane.number(a, block, j);
  }

  __device__ static void multiply(double (&sum)[4], const double (&x)[4], const double (&other)[4],
                                  const double (&y)[4]) {
    const double left[8] = {x[0], other[0], x[1], other[1], x[2], other[2], x[3], other[3]};
    multiply_16x8x16(sum, left, y);
  }
};

}  // namespace blockvec::kernels::cuda

#pragma once

#include "src/cuda/operands/load_flat_rows.cuh"
#include "src/cuda/operands/matrix.cuh"
#include "src/cuda/ptx/mma_f64.cuh"

/// Packs alpha C, the small matrix of tsmm, in the orders in which tensor cores read it.
namespace blockvec::kernels::cuda {

struct Place {
  int row, column;
};

/// Order [16 columns of B][depth / 4][lane][2]: a lane reads 16 bytes at a time. Depth counts columns of A (rows of C).
struct OrderOfPieces {
  int pieces;
  int blocks;  ///< blocks of 64 entries in a piece, which is 16 columns wide

  __device__ Place operator()(int piece, int block, int lane, int which) const {
    return {4 * block + lane % 4, 16 * piece + lane / 4 + 8 * which};
  }
  __device__ int index(int piece, int block) const { return piece * blocks + block; }
};

/// The column of A that lane q reads in step s of four, where A comes in TMA tiles (boxes). The lanes of a warp meet
/// different banks.
__host__ __device__ inline int depth_of(int classes, int q, int s) {
  const int v = s % 4;
  return s / 4 * 16 + classes * q + v % classes + 4 * classes * (v / classes);
}

/// The column of B that place i of an MMA tile of 8 columns stands for. Where B is written in pairs, two neighbouring
/// columns lie in one lane; elsewhere they lie in neighbouring lanes.
__device__ inline int column_of(bool neighbours, int i) { return neighbours ? i : i / 2 + 4 * (i % 2); }

/// Order [section of B's columns][pair of steps][8 columns of B][lane][2].
struct OrderOfSteps {
  int pieces;
  int blocks;
  int depth_classes;
  bool neighbours;
  int section_pieces;  ///< pieces of a section

  __device__ Place operator()(int piece, int block, int lane, int which) const {
    return {depth_of(depth_classes, lane % 4, 2 * block + which), 8 * piece + column_of(neighbours, lane / 4)};
  }
  __device__ int index(int piece, int block) const {
    return (piece / section_pieces * blocks + block) * section_pieces + piece % section_pieces;
  }
};

/// Whole warps pack alpha C, with zeros beyond its m rows and n columns. A thread starts all loads of a batch before it
/// uses any of them: no entry waits for the one before.
template <class Real, class Order>
__device__ inline void pack(const Small<Real>& small, int m, int n, Factor alpha, const Order& order, double* packed,
                            int thread, int threads) {
  constexpr int batch = 4;
  const int lane = thread % warp_size;
  const int step = threads / warp_size;
  const int shift = small.parts - 1;  // a complex entry stands for two rows and two columns
  int piece = 0;
  int block = thread / warp_size;
  const auto settle = [&] {
    for (; block >= order.blocks && piece < order.pieces; block -= order.blocks) ++piece;
  };
  settle();
  while (piece < order.pieces) {
    Real re[batch][2], im[batch][2];
    bool valid[batch][2];
    double* to[batch];
#pragma unroll
    for (int b = 0; b < batch; ++b) {
      const bool there = piece < order.pieces;
      to[b] = there ? packed + order.index(piece, block) * 64 + 2 * lane : nullptr;
#pragma unroll
      for (int which = 0; which < 2; ++which) {
        const Place place = order(piece, block, lane, which);
        const int row = place.row >> shift;
        const int column = place.column >> shift;
        valid[b][which] = there && place.row < m && place.column < n && !(small.half == Half::upper && row > column) &&
                          !(small.half == Half::lower && row < column);
        const Real* const entry = small.data + row * small.row_stride + column * small.column_stride;
        re[b][which] = valid[b][which] ? entry[0] : Real(0);
        im[b][which] = valid[b][which] && shift != 0 ? entry[1] : Real(0);
      }
      block += step;
      settle();
    }
#pragma unroll
    for (int b = 0; b < batch; ++b) {
      if (to[b] == nullptr) break;
      double value[2];
#pragma unroll
      for (int which = 0; which < 2; ++which) {
        value[which] = alpha.re * re[b][which];
        if (shift != 0) {
          const Factor scaled = scale(alpha, {static_cast<double>(re[b][which]), static_cast<double>(im[b][which])});
          const Place place = order(0, 0, lane, which);  // blocks begin at even rows and columns
          value[which] = place.row % 2 == place.column % 2 ? scaled.re : place.row % 2 == 0 ? scaled.im : -scaled.im;
        }
        if (!valid[b][which]) value[which] = 0;
      }
      *reinterpret_cast<double2*>(to[b]) = make_double2(value[0], value[1]);
    }
  }
}

/// Adds A C to sum for 16 columns of A. A lane holds those of A; `c` points to the warp's columns in OrderOfSteps.
template <int tb, int tn>
__device__ inline void multiply_step(double (&sum)[tb][tn][4], const double (&left)[tb][8], const double* c,
                                     int pieces) {
  unrolled<tn>([&](int x) {
    const double2 first = *reinterpret_cast<const double2*>(c + 64 * x);
    const double2 second = *reinterpret_cast<const double2*>(c + 64 * (pieces + x));
    const double right[4] = {first.x, first.y, second.x, second.y};
    unrolled<tb>([&](int t) { multiply_16x8x16(sum[t][x], left[t], right); });
  });
}

}  // namespace blockvec::kernels::cuda

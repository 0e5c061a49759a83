#pragma once

#include "src/cuda/operands/load_direct.cuh"
#include "src/cuda/ptx/mma_f64.cuh"

/// How thread blocks and warps share out P = A^T B in direct.cuh, whose kernels take any layout.
namespace blockvec::kernels::cuda {

struct DirectShare {
  int m, n;                    ///< real widths of P, times fold
  int warps_m, warps_n;        ///< warps side by side that share rows
  int groups;                  ///< of warps_m x warps_n warps that share rows
  int sections_m, sections_n;  ///< CTA tiles (sections) of P, which thread blocks share out
  double* partial;             ///< [part][m][n]
};

/// Where a warp stands in a DirectShare.
struct DirectPlace {
  int lane, group;
  std::int64_t part, parts;
  int rows, columns;                ///< of a CTA tile
  int section_row, section_column;  ///< first row and column of the CTA tile in P
  int row0, column0;                ///< the warp's first row and column in the CTA tile

  __device__ DirectPlace(const DirectShare& share, int tile_m, int tile_n) {
    lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int in_group = warp % (share.warps_m * share.warps_n);
    group = warp / (share.warps_m * share.warps_n);
    const int sections = share.sections_m * share.sections_n;
    const int section = static_cast<int>(blockIdx.x) % sections;
    part = blockIdx.x / sections;
    parts = gridDim.x / sections;
    rows = 8 * tile_m * share.warps_m;
    columns = 8 * tile_n * share.warps_n;
    section_row = section / share.sections_n * rows;
    section_column = section % share.sections_n * columns;
    row0 = in_group / share.warps_n * 8 * tile_m;
    column0 = in_group % share.warps_n * 8 * tile_n;
  }
};

/// A warp's part of P: tile_m x tile_n blocks of 8 x 8. A factor with an odd number of blocks cannot pair them, so it
/// loads single numbers.
template <class Real, Neighbours neighbours, int tile_m, int tile_n>
struct DirectTiles {
  static constexpr Neighbours of(int tile) {
    return neighbours == Neighbours::in_rows && tile % 2 != 0 ? Neighbours::none : neighbours;
  }
  using LaneA = DirectLane<Real, of(tile_m), tile_m>;
  using LaneB = DirectLane<Real, of(tile_n), tile_n>;
  static constexpr int pieces = (tile_m + 1) / 2;
  /// Sets of 16 rows that are being loaded. Few columns have few bytes in a set, hence more sets.
  static constexpr int ahead = neighbours != Neighbours::in_columns || tile_m + tile_n > 2
                                   ? 1
                                   : 24 / static_cast<int>(sizeof(Real)) - 1;

  /// The factors of 16 rows in tensor-core order.
  struct Factors {
    double left[pieces][8];
    double right[tile_n][4];
    __device__ Factors(const typename LaneA::Loads& a, const typename LaneB::Loads& b) {
#pragma unroll
      for (int x = 0; x < pieces; ++x) {
#pragma unroll
        for (int v = 0; v < 8; ++v) left[x][v] = LaneA::entry(a, 2 * x + v % 2, v / 2);
      }
#pragma unroll
      for (int y = 0; y < tile_n; ++y) {
#pragma unroll
        for (int j = 0; j < 4; ++j) right[y][j] = LaneB::entry(b, y, j);
      }
    }
  };

  double sum[pieces][tile_n][4] = {};

  __device__ void add(const Factors& factors) {
#pragma unroll
    for (int y = 0; y < tile_n; ++y) {
#pragma unroll
      for (int x = 0; x < pieces; ++x) multiply_16x8x16(sum[x][y], factors.left[x], factors.right[y]);
    }
  }

  /// Calls visit(sum, row of the tile, column of the tile).
  template <class Visit>
  __device__ void for_each_entry(int lane, Visit&& visit) const {
#pragma unroll
    for (int x = 0; x < pieces; ++x) {
#pragma unroll
      for (int y = 0; y < tile_n; ++y) {
#pragma unroll
        for (int v = 0; v < 4; ++v) {
          const int block = 2 * x + v / 2;
          if (block >= tile_m) continue;
          visit(sum[x][y][v], LaneA::column_of(block, lane / 4), LaneB::column_of(y, 2 * (lane % 4) + v % 2));
        }
      }
    }
  }
};

/// Writes the thread block's partial sum. The groups' sums are added in fixed order in `sums`, which is shared memory
/// of a CTA tile's size.
template <class Tiles>
__device__ inline void store_partial(const DirectShare& share, const DirectPlace& place, const Tiles& tiles,
                                     double* sums) {
  double* const partial = share.partial + (place.part * share.m + place.section_row) * share.n + place.section_column;
  const int rows = min(place.rows, share.m - place.section_row);
  const int columns = min(place.columns, share.n - place.section_column);
  if (share.groups == 1) {
    if (place.group != 0) return;
    tiles.for_each_entry(place.lane, [&](double entry, int row, int column) {
      row += place.row0;
      column += place.column0;
      if (row < rows && column < columns) partial[static_cast<std::int64_t>(row) * share.n + column] = entry;
    });
    return;
  }
  for (int turn = 0; turn < share.groups; ++turn) {
    if (place.group == turn) {
      tiles.for_each_entry(place.lane, [&](double entry, int row, int column) {
        double& out = sums[(place.row0 + row) * place.columns + place.column0 + column];
        out = turn == 0 ? entry : out + entry;
      });
    }
    __syncthreads();
  }
  for (int i = static_cast<int>(threadIdx.x); i < rows * columns; i += static_cast<int>(blockDim.x)) {
    const int row = i / columns;
    const int column = i % columns;
    partial[static_cast<std::int64_t>(row) * share.n + column] = sums[row * place.columns + column];
  }
}

}  // namespace blockvec::kernels::cuda

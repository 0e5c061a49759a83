#pragma once

#include <utility>

#include "src/cuda/tsmttsm/ring.cuh"

/// tsmttsm of a matrix with itself: of P = A^T A only the MMA tiles on and above the diagonal are computed. Where P is
/// wider than one CTA tile (`wide`), blocks take the CTA tiles on and above the diagonal
/// (dispatch/cuda/tsmttsm/ring.hpp).
namespace blockvec::kernels::cuda {

/// MMA tiles on and above the diagonal of A's Gram matrix, which has `blocks` blocks of 8 columns. Each of `warps`
/// warps takes bands of 16 rows, in pairs of a high and a low one. A right factor in registers also serves as a left
/// one.
template <int blocks, int warps, int warp>
struct GramTiles : TileTraits {
  static constexpr bool may_turn = dispatch::may_turn(blocks);
  static constexpr int rows = (blocks + 1) / 2 * 16;
  static constexpr int columns = 8 * blocks;
  static constexpr int bands = (blocks + 1) / 2;
  static constexpr int own_bands = (bands + 2 * warps - 1 - warp) / (2 * warps) + (bands + warp) / (2 * warps);
  __host__ __device__ static constexpr int band(int x) {
    return x / 2 * 2 * warps + (x % 2 == 0 ? warp : 2 * warps - 1 - warp);
  }
  double sum[own_bands][blocks - 2 * warp][4] = {};  // later bands use only the tiles from the diagonal on

  template <class LaneOf, class Real>
  __device__ void add(const Real* a, const LaneOf& lane_a, const Real*, const LaneOf&) {
    double left[own_bands][8];
#pragma unroll
    for (int y = 2 * warp; y < blocks; y += 2) {
      double right[2][4] = {};
      if constexpr (LaneOf::wide && blocks <= 8) {
        lane_a.read_wide(a, y, right[0]);
        if (y + 1 < blocks) lane_a.read_wide(a, y + 1, right[1]);
      } else {
        unrolled<4>([&](int j) {
          if (y + 1 < blocks) {
            lane_a.read_pair(a, y, j, right[0][j], right[1][j]);
          } else {
            right[0][j] = lane_a.number(a, y, j);
          }
        });
      }
      unrolled<own_bands>([&](int x) {
        if (y / 2 != band(x)) return;
        unrolled<4>([&](int j) {
          left[x][2 * j] = right[0][j];
          left[x][2 * j + 1] = right[1][j];
        });
      });
      unrolled<2>([&](int z) {
        if (y + z >= blocks) return;
        unrolled<own_bands>([&](int x) {
          if (y / 2 >= band(x)) multiply_16x8x16(sum[x][y + z - 2 * warp], left[x], right[z]);
        });
      });
    }
  }

  template <class Visit>
  __device__ void for_each_pair(int lane, Visit&& visit) const {
    unrolled<own_bands>([&](int x) {
#pragma unroll
      for (int y = 2 * warp; y < blocks; ++y) {
        if (y / 2 < band(x)) continue;
        const double(&entry)[4] = sum[x][y - 2 * warp];
#pragma unroll
        for (int v = 0; v < 4; v += 2) {
          visit(entry[v], entry[v + 1], 16 * band(x) + lane / 4 + 4 * v, 8 * y + 2 * (lane % 4));
        }
      }
    });
  }
};

/// Calls visit(tiles) with the tiles of warp number `warp` of `warps`. Each warp has code of its own.
template <int blocks, int warps, class Visit>
__device__ inline void with_gram_tiles(int warp, Visit&& visit) {
  [&]<int... own>(std::integer_sequence<int, own...>) {
    ((warp == own ? visit(GramTiles<blocks, warps, own>{}) : void()), ...);
  }
  (std::make_integer_sequence<int, warps>());
}

/// Sets a block's work where P is wider than a CTA tile: its operands begin at row0 and column0. Returns whether the
/// block takes the squares at (row0, row0) and (column0, column0). Else it takes the one at (row0, column0).
template <int side, class Real>
__device__ inline bool take_squares(const TsmttsmRing<Real>& p, Share& share) {
  const dispatch::SquarePairs squares(p.sections_m, p.parts);
  const int block = static_cast<int>(blockIdx.x);
  const int blocks_before = squares.parts * squares.on_diagonal;
  const bool on_diagonal = block < blocks_before;
  const int count = on_diagonal ? squares.on_diagonal : squares.above;
  const int place = on_diagonal ? block : block - blocks_before;
  share.part = static_cast<unsigned>(place / count);
  share.parts = static_cast<unsigned>(on_diagonal ? squares.parts : squares.parts_above);
  int left = place % count;
  int row = on_diagonal ? 2 * left : 0;
  int column = row + 1;
  if (!on_diagonal) {
    for (int in_row = p.sections_m - 1; left >= in_row; --in_row, ++row) left -= in_row;
    column = row + 1 + left;
  }
  share.row0 = row * side;
  share.column0 = column * side;
  return on_diagonal;
}

/// Writes the entries of a warp's tile on and above the diagonal from registers into the block's partial sum. It also
/// writes each entry beside the diagonal below it: there lies the other half of a complex entry on the diagonal.
template <class Tiles, class Real>
__device__ inline void write_tile(const TsmttsmRing<Real>& p, const Share& share, int row0, int column0,
                                  const Tiles& tiles) {
  double* const partial = p.partial + static_cast<std::int64_t>(share.part) * p.m * p.n;
  const auto write = [&](double entry, int i, int j) {
    if (i > j || j >= p.n) return;
    partial[i * p.n + j] = entry;
    if (j == i + 1) partial[j * p.n + i] = entry;
  };
  tiles.for_each_pair(static_cast<int>(threadIdx.x) % warp_size, [&](double one, double other, int row, int column) {
    write(one, row0 + row, column0 + column);
    write(other, row0 + row, column0 + column + 1);
  });
}

template <class Real, bool by_columns, int blocks, int warps, bool wide>
__global__ void __launch_bounds__(block_threads, 1) tsmttsm_gram_kernel(const __grid_constant__ TsmttsmRing<Real> p) {
  if constexpr (wide && !has_bulk_copies) return;
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ RingBarriers barriers;
  release_next_kernel();
  Share share(p, 0, 0);
  const bool on_diagonal = !wide || take_squares<8 * blocks>(p, share);
  run_ring<by_columns>(p, share, barriers, memory, [&](int group, int warp) {
    if (wide && !on_diagonal) {
      FullTiles<dispatch::pair_tile.m, dispatch::pair_tile.n> tiles;
      const int row0 = warp / dispatch::pair_warps_n * tiles.rows;
      const int column0 = warp % dispatch::pair_warps_n * tiles.columns;
      add_chunks<by_columns>(p, share, barriers, memory, 0, row0, column0, tiles);
      write_tile(p, share, share.row0 + row0, share.column0 + column0, tiles);
      return;
    }
    using Tiles = GramTiles<blocks, warps, 0>;
    const bool second = wide && warp >= warps;  // its warps take the second square
    with_gram_tiles<blocks, warps>(warp % warps, [&](auto&& tiles) {
      const unsigned char* const stages = memory + (second ? p.offset_b : 0);
      add_chunks<by_columns>(p, share, barriers, stages, wide ? 0 : group, 0, 0, tiles);
      if constexpr (wide) {
        const int start = second ? share.column0 : share.row0;
        write_tile(p, share, start, start, tiles);
      } else {
        add_groups(p, GroupSums(p, memory, Tiles::rows), group, 0, 0, tiles);
      }
    });
    if constexpr (!wide) write_groups<Tiles, true>(p, share, GroupSums(p, memory, Tiles::rows));
  });
}

}  // namespace blockvec::kernels::cuda

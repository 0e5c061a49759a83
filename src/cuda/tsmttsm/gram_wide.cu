#include "src/cuda/tsmttsm/gram.cuh"
#include "src/cuda/tsmttsm/gram_wide.hpp"
#include "src/dispatch/cuda/sections.hpp"

/// Gram matrices that are wider than one CTA tile. Blocks take the CTA tiles on and above the diagonal
/// (dispatch/cuda/sections.hpp).
namespace blockvec::kernels::cuda {
namespace {

using dispatch::pair_side;

/// A block's work: its two operands begin at row0 and column0.
struct PairShare {
  Share share;
  bool on_diagonal;  ///< the block takes the squares at (row0, row0) and (column0, column0)

  template <class Real>
  __device__ PairShare(const TsmttsmRing<Real>& p, const dispatch::SquarePairs& squares) : share(p, 0, 0) {
    const int block = static_cast<int>(blockIdx.x);
    const int blocks_before = squares.parts * squares.on_diagonal;
    on_diagonal = block < blocks_before;
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
    share.row0 = row * pair_side;
    share.column0 = column * pair_side;
  }
};

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

template <class Real, bool by_columns>
__global__ void __launch_bounds__(block_threads, 1)
    tsmttsm_pairs_kernel(const __grid_constant__ TsmttsmRing<Real> p, const dispatch::SquarePairs squares) {
  if constexpr (!has_bulk_copies) return;
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ RingBarriers barriers;
  release_next_kernel();
  const PairShare pair(p, squares);
  const Share& share = pair.share;
  run_ring<by_columns>(p, share, barriers, memory, [&](int, int warp) {
    if (!pair.on_diagonal) {
      FullTiles<dispatch::pair_tile.m, dispatch::pair_tile.n> tiles;
      const int row0 = warp / dispatch::pair_warps_n * tiles.rows;
      const int column0 = warp % dispatch::pair_warps_n * tiles.columns;
      add_chunks<by_columns>(p, share, barriers, memory, 0, row0, column0, tiles);
      write_tile(p, share, share.row0 + row0, share.column0 + column0, tiles);
      return;
    }
    constexpr dispatch::GramShape gram = dispatch::pair_gram;
    const bool second = warp >= gram.warps;
    with_gram_tiles<gram.blocks, gram.warps>(warp % gram.warps, [&](auto&& tiles) {
      add_chunks<by_columns>(p, share, barriers, memory + (second ? p.offset_b : 0), 0, 0, 0, tiles);
      const int start = second ? share.column0 : share.row0;
      write_tile(p, share, start, start, tiles);
    });
  });
}

}  // namespace

template <class Real>
TsmttsmPairsKernel<Real> tsmttsm_pairs_kernel_of(bool by_columns) {
  return by_columns ? tsmttsm_pairs_kernel<Real, true> : tsmttsm_pairs_kernel<Real, false>;
}

template TsmttsmPairsKernel<float> tsmttsm_pairs_kernel_of<float>(bool);
template TsmttsmPairsKernel<double> tsmttsm_pairs_kernel_of<double>(bool);

}  // namespace blockvec::kernels::cuda

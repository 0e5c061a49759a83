#include "src/cuda/tsmttsm_pairs.hpp"
#include "src/cuda/tsmttsm_ring.cuh"
#include "src/dispatch/cuda_sections.hpp"

/// Gram matrices that are wider than one block holds: the sections on and above the diagonal (cuda_sections.hpp).
namespace blockvec::kernels::cuda {
namespace {

using dispatch::pair_side;

/// A block's two operands, in sections.
struct SectionPair {
  int row, column;
  bool on_diagonal;  ///< it takes the squares (row, row) and (column, column)

  __device__ SectionPair(int side, int block) {
    const int pairs = (side + 1) / 2;
    on_diagonal = block < pairs;
    row = on_diagonal ? 2 * block : 0;
    column = row + 1;
    if (on_diagonal) return;
    int left = block - pairs;
    for (; left >= side - 1 - row; ++row) left -= side - 1 - row;
    column = row + 1 + left;
  }
};

/// What a warp's tile has on and above the diagonal of the block's partial sum, straight from its registers; and what
/// lies beside the diagonal below it, the other half of a complex entry on it.
template <class Tiles, class Real>
__device__ inline void write_tile(const TsmttsmRing<Real>& p, const Share& share, int row0, int column0,
                                  const Tiles& tiles) {
  double* const partial = p.partial + static_cast<std::int64_t>(share.part) * p.m * p.n;
  tiles.for_each_entry(static_cast<int>(threadIdx.x) % warp_size, [&](double entry, int row, int column) {
    const int i = row0 + row;
    const int j = column0 + column;
    if (i > j || j >= p.n) return;
    partial[i * p.n + j] = entry;
    if (j == i + 1) partial[j * p.n + i] = entry;
  });
}

template <class Real, bool by_columns>
__global__ void __launch_bounds__(block_threads, 1) tsmttsm_pairs_kernel(const __grid_constant__ TsmttsmRing<Real> p) {
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  release_next_kernel();
  const int count = (p.sections_m + 1) / 2 + p.sections_m * (p.sections_m - 1) / 2;
  const SectionPair pair(p.sections_m, static_cast<int>(blockIdx.x) % count);
  Share share(p, 0, 0);
  share.part = blockIdx.x / static_cast<unsigned>(count);
  share.parts = gridDim.x / static_cast<unsigned>(count);
  share.row0 = pair.row * pair_side;
  share.column0 = pair.column * pair_side;
  run_ring<by_columns>(p, share, barriers, memory, [&](int, int warp) {
    if (!pair.on_diagonal) {
      FullTiles<dispatch::pair_tile.m, dispatch::pair_tile.n> tiles;
      const int row0 = warp / dispatch::pair_warps_n * tiles.rows;
      const int column0 = warp % dispatch::pair_warps_n * tiles.columns;
      add_chunks<by_columns>(p, share, barriers, memory, 0, row0, column0, tiles);
      write_tile(p, share, share.row0 + row0, share.column0 + column0, tiles);
      return;
    }
    constexpr int warps = dispatch::pair_gram.warps;
    const bool second = warp >= warps;
    const auto as_warp = [&]<int own>() {
      if (warp % warps != own) return;
      GramTiles<dispatch::pair_gram.blocks, warps, own> tiles;
      add_chunks<by_columns>(p, share, barriers, memory + (second ? p.offset_b : 0), 0, 0, 0, tiles);
      const int start = second ? share.column0 : share.row0;
      write_tile(p, share, start, start, tiles);
    };
    [&]<int... own>(std::integer_sequence<int, own...>) { (as_warp.template operator()<own>(), ...); }
    (std::make_integer_sequence<int, warps>());
  });
}

}  // namespace

template <class Real>
TsmttsmRingKernel<Real> tsmttsm_pairs_kernel_of(bool by_columns) {
  return by_columns ? tsmttsm_pairs_kernel<Real, true> : tsmttsm_pairs_kernel<Real, false>;
}

template TsmttsmRingKernel<float> tsmttsm_pairs_kernel_of<float>(bool);
template TsmttsmRingKernel<double> tsmttsm_pairs_kernel_of<double>(bool);

}  // namespace blockvec::kernels::cuda

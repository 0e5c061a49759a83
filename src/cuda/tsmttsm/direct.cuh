#pragma once

#include "src/cuda/ptx/dependent_launch.cuh"
#include "src/cuda/tsmttsm/direct_tiles.cuh"

/// tsmttsm on tensor cores without shared memory: P = A^T B of real views of any layout and stride. Each thread block
/// writes one partial sum. Each warp loads its own factors, the next rows while it multiplies the current ones. Warps
/// that share rows find them in the cache. The kernel serves what a pipeline of bulk copies serves badly: narrow or
/// misaligned rows of wide matrices, and few columns.
namespace blockvec::kernels::cuda {

template <class Real>
struct TsmttsmDirect {
  Tall<const Real> a, b;
  std::int64_t k;
  int fold;
  DirectShare share;
  Coefficient<Real> alpha;
};

/// Adds every `streams`-th step of 16 rows (times fold), from step number `stream` on.
template <class Tiles, class Real>
__device__ inline void add_stream(const TsmttsmDirect<Real>& p, typename Tiles::LaneA a, typename Tiles::LaneB b,
                                  std::int64_t stream, std::int64_t streams, Tiles& tiles) {
  const int rows = 16 * p.fold;
  const std::int64_t whole = p.k / rows;
  a.advance(stream * rows);
  b.advance(stream * rows);
  typename Tiles::LaneA::Loads next_a[Tiles::ahead];
  typename Tiles::LaneB::Loads next_b[Tiles::ahead];
  const std::int64_t steps = ceil_div(max(whole - stream, std::int64_t{0}), streams);
  std::int64_t to_load = steps;
  const auto load = [&](int i) {
    a.template load<false>(next_a[i]);
    b.template load<false>(next_b[i]);
    if (--to_load <= 0) return;  // then the last rows are loaded again, and nobody multiplies them
    a.advance(streams * rows);
    b.advance(streams * rows);
  };
  if (steps > 0) {
#pragma unroll
    for (int i = 0; i < Tiles::ahead; ++i) load(i);
  }
#pragma unroll 1
  for (std::int64_t left = steps; left > 0; left -= Tiles::ahead) {
#pragma unroll
    for (int i = 0; i < Tiles::ahead; ++i) {
      const typename Tiles::Factors now(next_a[i], next_b[i]);
      load(i);
      if (i < left) tiles.add(now);
    }
  }
  if (whole % streams != stream) return;
  if (steps > 0) {
    a.advance(streams * rows);
    b.advance(streams * rows);
  }
  const int rest = static_cast<int>(p.k % rows);
  a.template load<true>(next_a[0], rest);
  b.template load<true>(next_b[0], rest);
  tiles.add({next_a[0], next_b[0]});
}

template <class Real, Neighbours neighbours, int tile_m, int tile_n, int warps>
__global__ void __launch_bounds__(32 * warps, 1) tsmttsm_direct_kernel(const __grid_constant__ TsmttsmDirect<Real> p) {
  extern __shared__ __align__(128) unsigned char memory[];
  release_next_kernel();
  using Tiles = DirectTiles<Real, neighbours, tile_m, tile_n>;
  const DirectPlace place(p.share, tile_m, tile_n);
  Tiles tiles;
  await_previous_kernel();
  if (p.alpha.read().is_zero()) return;
  if (place.group < p.share.groups) {
    const int m = p.share.m / p.fold;
    const int n = p.share.n / p.fold;
    add_stream(p, {p.a, m, p.fold, place.section_row + place.row0, place.lane},
               {p.b, n, p.fold, place.section_column + place.column0, place.lane},
               place.part * p.share.groups + place.group, place.parts * p.share.groups, tiles);
  }
  store_partial(p.share, place, tiles, reinterpret_cast<double*>(memory));
}

}  // namespace blockvec::kernels::cuda

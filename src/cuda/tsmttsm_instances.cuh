#pragma once

#include "src/cuda/ring_kernels.hpp"
#include "src/cuda/tiles.cuh"
#include "src/cuda/tsmttsm_ring.cuh"

/// Every shape of the configuration's lists becomes an instantiation.
namespace blockvec::kernels::cuda {

/// Of one list: `shapes` name the tiles, which `Tiles` makes of them.
template <class Real, bool by_columns, template <int, int> class Tiles, const auto& shapes>
TsmttsmRingKernel<Real> tsmttsm_instance_of(int tile_m, int tile_n) {
  static constexpr auto kernels = []<std::size_t... i>(std::index_sequence<i...>) {
    return std::array<TsmttsmRingKernel<Real>, sizeof...(i) + 1>{
        tsmttsm_ring_kernel<Real, by_columns, Tiles<shapes[i].m, shapes[i].n>>..., nullptr};
  }
  (std::make_index_sequence<std::size(shapes)>());
  return kernels[index_of_tile(shapes, tile_m, tile_n)];
}

template <class Real, bool by_columns, std::size_t... i>
constexpr auto all_grams(std::index_sequence<i...>) {
  return std::array<TsmttsmRingKernel<Real>, sizeof...(i) + 1>{
      tsmttsm_gram_kernel<Real, by_columns, dispatch::gram_shapes[i].blocks, dispatch::gram_shapes[i].warps>...,
      nullptr};
}

template <class Real, bool by_columns>
TsmttsmRingKernel<Real> tsmttsm_instance(int tile_m, int tile_n) {
  static constexpr auto grams =
      all_grams<Real, by_columns>(std::make_index_sequence<std::size(dispatch::gram_shapes)>());
  return tile_n == 0 ? grams[index_of_gram(dispatch::gram_shapes, tile_m)]
                     : tsmttsm_instance_of<Real, by_columns, FullTiles, dispatch::tsmttsm_tiles>(tile_m, tile_n);
}

template <class Real>
TsmttsmRingKernel<Real> tsmttsm_instance(int tile_m, int tile_n, bool by_columns) {
  return by_columns ? tsmttsm_instance<Real, true>(tile_m, tile_n) : tsmttsm_instance<Real, false>(tile_m, tile_n);
}

}  // namespace blockvec::kernels::cuda

#pragma once

#include "src/cuda/ring_kernels.hpp"
#include "src/cuda/tiles.cuh"
#include "src/cuda/tsmttsm_ring.cuh"

/// Every shape of the configuration's lists becomes an instantiation.
namespace blockvec::kernels::cuda {

template <class Real, bool by_columns, std::size_t... i>
constexpr auto all_tiles(std::index_sequence<i...>) {
  return std::array<TsmttsmRingKernel<Real>, sizeof...(i) + 1>{
      tsmttsm_ring_kernel<Real, by_columns, FullTiles<dispatch::tsmttsm_tiles[i].m, dispatch::tsmttsm_tiles[i].n>>...,
      nullptr};
}

template <bool by_columns, std::size_t... i>
constexpr auto all_split_tiles(std::index_sequence<i...>) {
  return std::array<TsmttsmRingKernel<float>, sizeof...(i) + 1>{
      tsmttsm_ring_kernel<float, by_columns, SplitTiles<dispatch::split_tiles[i].m, dispatch::split_tiles[i].n>>...,
      nullptr};
}

template <class Real, bool by_columns, std::size_t... i>
constexpr auto all_grams(std::index_sequence<i...>) {
  return std::array<TsmttsmRingKernel<Real>, sizeof...(i) + 1>{
      tsmttsm_gram_kernel<Real, by_columns, dispatch::gram_shapes[i].blocks, dispatch::gram_shapes[i].warps>...,
      nullptr};
}

template <class Real, bool by_columns>
TsmttsmRingKernel<Real> tsmttsm_instance(int tile_m, int tile_n) {
  static constexpr auto tiles =
      all_tiles<Real, by_columns>(std::make_index_sequence<std::size(dispatch::tsmttsm_tiles)>());
  static constexpr auto grams =
      all_grams<Real, by_columns>(std::make_index_sequence<std::size(dispatch::gram_shapes)>());
  return tile_n == 0 ? grams[index_of_gram(dispatch::gram_shapes, tile_m)]
                     : tiles[index_of_tile(dispatch::tsmttsm_tiles, tile_m, tile_n)];
}

template <bool by_columns>
TsmttsmRingKernel<float> tsmttsm_split_instance(int tile_m, int tile_n) {
  static constexpr auto tiles =
      all_split_tiles<by_columns>(std::make_index_sequence<std::size(dispatch::split_tiles)>());
  return tiles[index_of_tile(dispatch::split_tiles, tile_m, tile_n)];
}

template <class Real>
TsmttsmRingKernel<Real> tsmttsm_instance(int tile_m, int tile_n, bool by_columns) {
  return by_columns ? tsmttsm_instance<Real, true>(tile_m, tile_n) : tsmttsm_instance<Real, false>(tile_m, tile_n);
}

}  // namespace blockvec::kernels::cuda

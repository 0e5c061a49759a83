#pragma once

#include "src/cuda/ring_kernels.hpp"
#include "src/cuda/tiles.cuh"
#include "src/cuda/tsmm_columns.cuh"

namespace blockvec::kernels::cuda {

template <class Real, int parts, int tb, int tn, bool tf32>
constexpr TsmmColumnsKernel<Real> columns_kernel() {
  if constexpr (sizeof(Real) == 4 && parts == 1 && tb % 2 != 0) {
    return nullptr;  // a lane takes four rows
  } else {
    return tsmm_columns_kernel<Real, parts, tb, tn, tf32>;
  }
}

template <bool tf32>
constexpr auto& columns_tiles_of() {
  if constexpr (tf32) {
    return dispatch::tsmm_column_split_tiles;
  } else {
    return dispatch::tsmm_column_tiles;
  }
}

template <class Real, int parts, bool tf32, std::size_t... i>
constexpr auto all_columns_kernels(std::index_sequence<i...>) {
  constexpr auto& tiles = columns_tiles_of<tf32>();
  return std::array<TsmmColumnsKernel<Real>, sizeof...(i) + 1>{
      columns_kernel<Real, parts, tiles[i].m, tiles[i].n, tf32>()..., nullptr};
}

template <class Real, bool tf32>
TsmmColumnsKernels<Real> columns_kernels_of(int parts, int tile_m, int tile_n) {
  constexpr auto& tiles = columns_tiles_of<tf32>();
  constexpr auto indices = std::make_index_sequence<std::size(tiles)>();
  static constexpr auto of_reals = all_columns_kernels<Real, 1, tf32>(indices);
  static constexpr auto of_complex = all_columns_kernels<Real, 2, tf32>(indices);
  const std::size_t i = index_of_tile(tiles, tile_m, tile_n);
  if (parts == 1) return {of_reals[i], pack_columns_kernel<Real, 1, tf32>};
  return {of_complex[i], pack_columns_kernel<Real, 2, tf32>};
}

}  // namespace blockvec::kernels::cuda

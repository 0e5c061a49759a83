#pragma once

#include "src/cuda/ring_kernels.hpp"
#include "src/cuda/tiles.cuh"
#include "src/cuda/tsmttsm_columns.cuh"

/// Every tile of the configuration's list becomes an instantiation.
namespace blockvec::kernels::cuda {

template <class Real, Neighbours neighbours, std::size_t... i>
constexpr auto all_columns(std::index_sequence<i...>) {
  return std::array<TsmttsmColumnsKernel<Real>, sizeof...(i) + 1>{
      tsmttsm_columns_kernel<Real, neighbours, dispatch::columns_tiles[i].m, dispatch::columns_tiles[i].n>..., nullptr};
}

template <class Real, Neighbours neighbours>
TsmttsmColumnsKernel<Real> columns_instance(int tile_m, int tile_n) {
  static constexpr auto all =
      all_columns<Real, neighbours>(std::make_index_sequence<std::size(dispatch::columns_tiles)>());
  return all[index_of_tile(dispatch::columns_tiles, tile_m, tile_n)];
}

template <class Real>
TsmttsmColumnsKernel<Real> columns_instance(int tile_m, int tile_n, Neighbours neighbours) {
  switch (neighbours) {
    case Neighbours::in_columns:
      return columns_instance<Real, Neighbours::in_columns>(tile_m, tile_n);
    case Neighbours::in_rows:
      return columns_instance<Real, Neighbours::in_rows>(tile_m, tile_n);
    default:
      return columns_instance<Real, Neighbours::none>(tile_m, tile_n);
  }
}

}  // namespace blockvec::kernels::cuda

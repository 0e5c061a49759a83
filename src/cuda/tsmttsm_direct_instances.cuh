#pragma once

#include "src/cuda/ring_kernels.hpp"
#include "src/cuda/tiles.cuh"
#include "src/cuda/tsmttsm_direct.cuh"

/// Every shape of the configuration's list becomes an instantiation.
namespace blockvec::kernels::cuda {

template <class Real, Neighbours neighbours, std::size_t... i>
constexpr auto all_direct(std::index_sequence<i...>) {
  return std::array<TsmttsmDirectKernel<Real>, sizeof...(i) + 1>{
      tsmttsm_direct_kernel<Real, neighbours, dispatch::direct_shapes[i].m, dispatch::direct_shapes[i].n,
                            dispatch::direct_shapes[i].warps>...,
      nullptr};
}

template <class Real, Neighbours neighbours>
TsmttsmDirectKernel<Real> direct_instance(int tile_m, int tile_n) {
  static constexpr auto all =
      all_direct<Real, neighbours>(std::make_index_sequence<std::size(dispatch::direct_shapes)>());
  return all[index_of_tile(dispatch::direct_shapes, tile_m, tile_n)];
}

template <class Real>
TsmttsmDirectKernel<Real> direct_instance(int tile_m, int tile_n, Neighbours neighbours) {
  switch (neighbours) {
    case Neighbours::in_columns:
      return direct_instance<Real, Neighbours::in_columns>(tile_m, tile_n);
    case Neighbours::in_rows:
      return direct_instance<Real, Neighbours::in_rows>(tile_m, tile_n);
    default:
      return direct_instance<Real, Neighbours::none>(tile_m, tile_n);
  }
}

}  // namespace blockvec::kernels::cuda

#include "src/cuda/ring_kernels.hpp"
#include "src/cuda/tiles.cuh"
#include "src/cuda/tsmm_warps.cuh"

namespace blockvec::kernels::cuda {
namespace {

constexpr auto& tiles = dispatch::tsmm_warps_tiles;

template <class Real, std::size_t... i>
constexpr auto all_kernels(std::index_sequence<i...>) {
  return std::array<TsmmWarpsKernel<Real>, sizeof...(i) + 1>{tsmm_warps_kernel<Real, tiles[i].m, tiles[i].n>...,
                                                             nullptr};
}

}  // namespace

template <class Real>
TsmmWarpsKernel<Real> tsmm_warps_kernel_of(int tile_m, int tile_n) {
  static constexpr auto kernels = all_kernels<Real>(std::make_index_sequence<std::size(tiles)>());
  return kernels[index_of_tile(tiles, tile_m, tile_n)];
}

template TsmmWarpsKernel<float> tsmm_warps_kernel_of(int, int);
template TsmmWarpsKernel<double> tsmm_warps_kernel_of(int, int);

}  // namespace blockvec::kernels::cuda

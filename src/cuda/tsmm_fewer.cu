#include "src/cuda/ring_kernels.hpp"
#include "src/cuda/tiles.cuh"
#include "src/cuda/tsmm_gauss.cuh"
#include "src/cuda/tsmm_ring.cuh"

namespace blockvec::kernels::cuda {
namespace {

template <std::size_t... i>
constexpr auto all_splits(std::index_sequence<i...>) {
  return std::array<TsmmRingKernel<float>, sizeof...(i) + 1>{
      tsmm_ring_kernel<float, dispatch::tsmm_split_tiles[i].m, dispatch::tsmm_split_tiles[i].n, true>..., nullptr};
}

}  // namespace

TsmmRingKernel<float> tsmm_split_kernel_of(int tile_n, int blocks_n) {
  static constexpr auto kernels = all_splits(std::make_index_sequence<std::size(dispatch::tsmm_split_tiles)>());
  return kernels[index_of_tile(dispatch::tsmm_split_tiles, tile_n, blocks_n)];
}

TsmmBoxesKernel<double> tsmm_gauss_kernel_of() {
  return tsmm_gauss_kernel<GaussRows<dispatch::tsmm_gauss_tile.m, dispatch::tsmm_gauss_tile.n>>;
}

}  // namespace blockvec::kernels::cuda

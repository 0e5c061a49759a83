#include "src/cuda/ring_kernels.hpp"
#include "src/cuda/tiles.cuh"
#include "src/cuda/tsmm_ring.cuh"

namespace blockvec::kernels::cuda {
namespace {

template <std::size_t... i>
constexpr auto all_kernels(std::index_sequence<i...>) {
  return std::array<TsmmRingKernel<float>, sizeof...(i) + 1>{
      tsmm_ring_kernel<float, dispatch::tsmm_tiles[i].m, dispatch::tsmm_tiles[i].n>..., nullptr};
}

}  // namespace

template <>
TsmmRingKernel<float> tsmm_ring_kernel_of<float>(int tile_n, int blocks_n) {
  static constexpr auto kernels = all_kernels(std::make_index_sequence<std::size(dispatch::tsmm_tiles)>());
  return kernels[index_of_tile(dispatch::tsmm_tiles, tile_n, blocks_n)];
}

}  // namespace blockvec::kernels::cuda

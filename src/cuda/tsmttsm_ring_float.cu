#include "src/cuda/ring_kernels.hpp"
#include "src/cuda/tiles.cuh"
#include "src/cuda/tsmttsm_ring.cuh"

namespace blockvec::kernels::cuda {
namespace {

template <std::size_t... i>
constexpr auto all_kernels(std::index_sequence<i...>) {
  return std::array<TsmttsmRingKernel<float>, sizeof...(i) + 1>{
      tsmttsm_ring_kernel<float, dispatch::tsmttsm_tiles[i].m, dispatch::tsmttsm_tiles[i].n>..., nullptr};
}

}  // namespace

template <>
TsmttsmRingKernel<float> tsmttsm_ring_kernel_of<float>(int tile_m, int tile_n) {
  static constexpr auto kernels = all_kernels(std::make_index_sequence<std::size(dispatch::tsmttsm_tiles)>());
  return kernels[index_of_tile(dispatch::tsmttsm_tiles, tile_m, tile_n)];
}

}  // namespace blockvec::kernels::cuda

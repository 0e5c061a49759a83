#include "src/cuda/ring_kernels.hpp"
#include "src/cuda/tiles.cuh"
#include "src/cuda/tsmm_boxes.cuh"

namespace blockvec::kernels::cuda {
namespace {

template <std::size_t... i>
constexpr auto all_kernels(std::index_sequence<i...>) {
  return std::array<TsmmBoxesKernel<float>, sizeof...(i) + 1>{
      tsmm_boxes_kernel<float, dispatch::tsmm_box_tiles[i].m, dispatch::tsmm_box_tiles[i].n>..., nullptr};
}

}  // namespace

template <>
TsmmBoxesKernel<float> tsmm_boxes_kernel_of<float>(int tile_m, int tile_n) {
  static constexpr auto kernels = all_kernels(std::make_index_sequence<std::size(dispatch::tsmm_box_tiles)>());
  return kernels[index_of_tile(dispatch::tsmm_box_tiles, tile_m, tile_n)];
}

}  // namespace blockvec::kernels::cuda

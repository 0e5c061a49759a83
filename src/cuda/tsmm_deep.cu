#include "src/cuda/ring_kernels.hpp"
#include "src/cuda/tiles.cuh"
#include "src/cuda/tsmm_deep.cuh"

namespace blockvec::kernels::cuda {
namespace {

template <std::size_t... i>
constexpr auto all_kernels(std::index_sequence<i...>) {
  return std::array<TsmmRingKernel<double>, sizeof...(i) + 1>{tsmm_deep_kernel<dispatch::tsmm_deep_tiles[i].m>...,
                                                              nullptr};
}

}  // namespace

TsmmRingKernel<double> tsmm_deep_kernel_of(int tile_n) {
  static constexpr auto kernels = all_kernels(std::make_index_sequence<std::size(dispatch::tsmm_deep_tiles)>());
  return kernels[index_of_tile(dispatch::tsmm_deep_tiles, tile_n, 0)];
}

}  // namespace blockvec::kernels::cuda

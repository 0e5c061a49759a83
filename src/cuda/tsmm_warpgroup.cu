#include <array>
#include <utility>

#include "src/cuda/ring_kernels.hpp"
#include "src/cuda/tsmm_warpgroup.cuh"

namespace blockvec::kernels::cuda {
namespace {

using dispatch::tsmm_warpgroup_tiles;

template <std::size_t... i>
constexpr auto all_kernels(std::index_sequence<i...>) {
  return std::array<TsmmRingKernel<float>, sizeof...(i)>{
      tsmm_warpgroup_kernel<tsmm_warpgroup_tiles[i].parts, 16 * tsmm_warpgroup_tiles[i].n>...};
}

}  // namespace

TsmmRingKernel<float> tsmm_warpgroup_kernel_of(int parts, int tile_n) {
  static constexpr auto kernels = all_kernels(std::make_index_sequence<std::size(tsmm_warpgroup_tiles)>());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (tsmm_warpgroup_tiles[i].parts == parts && tsmm_warpgroup_tiles[i].n == tile_n) return kernels[i];
  }
  return nullptr;
}

}  // namespace blockvec::kernels::cuda

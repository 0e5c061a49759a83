#include "src/cuda/ring_kernels.hpp"
#include "src/cuda/tiles.cuh"
#include "src/cuda/tsmttsm_columns.cuh"

namespace blockvec::kernels::cuda {
namespace {

template <std::size_t... i>
constexpr auto all_columns(std::index_sequence<i...>) {
  return std::array<TsmttsmColumnsKernel, sizeof...(i) + 1>{
      tsmttsm_columns_kernel<dispatch::columns_tiles[i].m, dispatch::columns_tiles[i].n>..., nullptr};
}

}  // namespace

TsmttsmColumnsKernel tsmttsm_columns_kernel_of(int tile_m, int tile_n) {
  static constexpr auto all = all_columns(std::make_index_sequence<std::size(dispatch::columns_tiles)>());
  return all[index_of_tile(dispatch::columns_tiles, tile_m, tile_n)];
}

}  // namespace blockvec::kernels::cuda

#include "src/cuda/ring_kernels.hpp"
#include "src/cuda/tiles.cuh"
#include "src/cuda/tsmttsm_warpgroup.cuh"

namespace blockvec::kernels::cuda {
namespace {

using dispatch::complex_warpgroup_tiles;
using dispatch::warpgroup_tiles;

template <bool aligned, std::size_t... i>
constexpr auto all_real(std::index_sequence<i...>) {
  return std::array<TsmttsmRingKernel<float>, sizeof...(i) + 1>{
      tsmttsm_warpgroup_kernel<false, 4 * warpgroup_tiles[i].n, aligned>..., nullptr};
}
template <std::size_t... i>
constexpr auto all_complex(std::index_sequence<i...>) {
  return std::array<TsmttsmRingKernel<float>, sizeof...(i) + 1>{
      tsmttsm_warpgroup_kernel<true, 8 * complex_warpgroup_tiles[i].n, true>..., nullptr};
}

}  // namespace

TsmttsmRingKernel<float> tsmttsm_warpgroup_kernel_of(bool complex, int tile_n, bool aligned) {
  using Real = std::make_index_sequence<std::size(warpgroup_tiles)>;
  using Complex = std::make_index_sequence<std::size(complex_warpgroup_tiles)>;
  static constexpr auto complex_kernels = all_complex(Complex());
  static constexpr auto kernels = all_real<true>(Real());
  static constexpr auto unaligned_kernels = all_real<false>(Real());
  if (complex) return complex_kernels[index_of_tile(complex_warpgroup_tiles, 1, tile_n)];
  const std::size_t i = index_of_tile(warpgroup_tiles, 1, tile_n);
  return aligned ? kernels[i] : unaligned_kernels[i];
}

}  // namespace blockvec::kernels::cuda

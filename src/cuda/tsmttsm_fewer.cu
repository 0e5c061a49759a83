#include "src/cuda/tsmttsm_instances.cuh"
#include "src/cuda/tsmttsm_split.cuh"

namespace blockvec::kernels::cuda {

template <>
TsmttsmRingKernel<double> tsmttsm_gauss_kernel_of<double>(int tile_m, int tile_n) {
  return tsmttsm_instance_of<double, false, GaussTiles, dispatch::gauss_tiles>(tile_m, tile_n);
}

template <>
TsmttsmRingKernel<float> tsmttsm_gauss_kernel_of<float>(int tile_m, int tile_n) {
  return tsmttsm_instance_of<float, false, SplitGaussTiles, dispatch::split_gauss_tiles>(tile_m, tile_n);
}

}  // namespace blockvec::kernels::cuda

#include "src/cuda/tsmttsm_direct_instances.cuh"

namespace blockvec::kernels::cuda {

template <>
TsmttsmDirectKernel<float> tsmttsm_direct_kernel_of<float>(int tile_m, int tile_n, dispatch::Neighbours neighbours) {
  return direct_instance<float>(tile_m, tile_n, neighbours);
}

}  // namespace blockvec::kernels::cuda

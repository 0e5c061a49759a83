#include "src/cuda/tsmttsm_direct_instances.cuh"

namespace blockvec::kernels::cuda {

template <>
TsmttsmDirectKernel<double> tsmttsm_direct_kernel_of<double>(int tile_m, int tile_n, dispatch::Neighbours neighbours) {
  return direct_instance<double>(tile_m, tile_n, neighbours);
}

}  // namespace blockvec::kernels::cuda

#include "src/cuda/tsmttsm_columns_instances.cuh"

namespace blockvec::kernels::cuda {

template <>
TsmttsmColumnsKernel<float> tsmttsm_columns_kernel_of<float>(int tile_m, int tile_n, dispatch::Neighbours neighbours) {
  return columns_instance<float>(tile_m, tile_n, neighbours);
}

}  // namespace blockvec::kernels::cuda

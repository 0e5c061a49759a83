#include "src/cuda/tsmttsm_instances.cuh"

namespace blockvec::kernels::cuda {

template <>
TsmttsmRingKernel<double> tsmttsm_ring_kernel_of<double>(int tile_m, int tile_n, bool by_columns) {
  return tsmttsm_instance<double>(tile_m, tile_n, by_columns);
}

}  // namespace blockvec::kernels::cuda
